#ifndef TC_IMAGE_IMAGE_H
#define TC_IMAGE_IMAGE_H
/**
 * @file image.h
 * Pictures: decode a part of a JPEG, resize, encode.  The only user of JPEG (and PNG) headers.
 *
 * Flow:  tc_decoder_create() (one a thread) -> tc_decoder_open() -> tc_decoder_crop() …
 *        -> tc_decoder_destroy();  tc_resize() between two rasters;  tc_encoder likewise.
 * Used by: loader (training pictures), data-prep (packing, the demo set).
 */
#include "base/mem.h"
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t x, y, w, h; /* pixels, origin top left */
} tc_rect;

/** A raster (h,w,3) u8 RGB, rows of `stride` bytes. */
typedef struct {
    uint8_t *data;
    int64_t w, h, stride;
} tc_raster;

typedef struct {
    int64_t w, h;
    int components;   /* of the file: 1, 3 or 4 */
    bool progressive, arithmetic;
} tc_image_info;

typedef struct tc_decoder tc_decoder;

#define TC_DECODER_PIXELS ((int64_t)1 << 28)

/** @param max_pixels  Larger pictures are refused (a bomb); 0: TC_DECODER_PIXELS. */
tc_status tc_decoder_create(int64_t max_pixels, tc_decoder **decoder_p);
void tc_decoder_destroy(tc_decoder *decoder); /* NULL accepted */

/**
 * Parse a JPEG's headers.  @p data is borrowed until the next open or destroy.
 * @retval TC_FORMAT  not a JPEG ("starts with GIF8", …), damaged headers, too many pixels.
 */
tc_status tc_decoder_open(tc_decoder *decoder, const void *data, size_t bytes,
                          tc_image_info *info_p);

/**
 * Decode only @p rect of the opened picture (crop_scanline, skip_scanlines; ISLOW, fancy
 * upsampling) as RGB; gray and CMYK/YCCK (Adobe-inverted or not) are converted.  Once per open.
 *
 * @param[out] raster_p  A view into the decoder's own memory, valid until its next open; exactly
 *                       rect in size.
 * @retval TC_INVAL   rect outside the picture.
 * @retval TC_FORMAT  damaged data; a truncated file counts as damaged.
 */
tc_status tc_decoder_crop(tc_decoder *decoder, tc_rect rect, tc_raster *raster_p);

typedef struct tc_resizer tc_resizer;
tc_status tc_resizer_create(tc_resizer **resizer_p); /* one a thread; keeps its scratch */
void tc_resizer_destroy(tc_resizer *resizer);

/** Name of the i-th resize kernel that this processor can run, best first; NULL past the last. */
const char *tc_resize_kernel_name(int i);

/** Use the kernel of that name instead of the best; all give the same bytes.
 *  @retval TC_INVAL  not one of tc_resize_kernel_name(). */
tc_status tc_resizer_use(tc_resizer *resizer, const char *name);

/**
 * Resize @p in to @p out (both whole rasters) by a separable antialiased filter: a triangle
 * (bilinear) of the width of the reduction, as Pillow's BILINEAR: vertical first, then horizontal.
 * Weights have 15 fractional bits, the row between the passes 7 (floats from 65 taps on).  @p flip
 * mirrors left and right.
 */
tc_status tc_resize(tc_resizer *resizer, const tc_raster *in, const tc_raster *out, bool flip);

/** A part of a picture in pixels, with fractions. */
typedef struct {
    double x, y, w, h;
} tc_box;

/**
 * As tc_resize(), of the part @p box of @p in: what a resize of all of it and a crop of the result
 * would give.  Pixels outside the box, but in @p in, count where the filter reaches them.
 * @retval TC_INVAL  an empty box, or one that leaves @p in.
 */
tc_status tc_resize_box(tc_resizer *resizer, const tc_raster *in, tc_box box, const tc_raster *out,
                        bool flip);

/** How far the filter reaches from a box's border when `from` pixels become `to`. */
double tc_resize_reach(double from, int64_t to);

typedef enum {
    TC_CHROMA_420,
    TC_CHROMA_444,
    TC_CHROMA_NONE /* one component, of a raster whose three colours are equal */
} tc_chroma;

#define TC_JPEG_SIDE_MAX 65500 /* libjpeg's */

/** Encode (h,w,3) as a baseline JPEG without restart markers; appended to @p out.
 *  quality 1..100.  @retval TC_NOMEM, TC_INVAL */
tc_status tc_jpeg_encode(const tc_raster *in, int quality, tc_chroma chroma, tc_buffer *out);

#endif
