#ifndef TC_LOADER_PICTURE_H
#define TC_LOADER_PICTURE_H
/**
 * @file picture.h
 * One picture: from JPEG bytes to (size,size,3), cut and flipped as drawn.  Private to loader/.
 */
#include "base/rng.h"
#include "image/image.h"
#include "loader/loader.h"

/** What a thread keeps between pictures. */
typedef struct {
    tc_decoder *decoder;
    tc_resizer *resizer;
    tc_buffer scratch; /* of the store */
    tc_raster square;  /* (size,size,3): a picture before it is shifted (TC_AUGMENT_PAD) */
} tc_loader_worker;

/** Take what a thread needs; @p options' store may be NULL where nothing is borrowed from it. */
tc_status tc_loader_worker_create(const tc_loader_options *options, tc_loader_worker *worker);
void tc_loader_worker_destroy(tc_loader_worker *worker); /* accepts a half-built worker */

/**
 * Draw the rectangle of RandomResizedCrop for a picture of w x h: as torchvision's get_params()
 * with scale (0.08, 1) and ratio (3/4, 4/3).
 */
tc_rect tc_loader_random_crop(tc_rng *rng, int64_t w, int64_t h);

/**
 * Decode and augment; @p resize is the shorter side of the evaluation geometry.
 *
 * @param[out] out  (size,size,3) u8; undefined on failure.
 * @retval TC_FORMAT  the picture cannot be decoded.
 */
tc_status tc_loader_picture(tc_loader_worker *worker, const tc_loader_options *options,
                            int64_t resize, uint64_t epoch, const tc_record *record, uint8_t *out);

/** Fill (size,size,3) with the colour that stands for a picture that cannot be decoded. */
void tc_loader_mean_picture(const tc_loader_options *options, uint8_t *out);

#endif
