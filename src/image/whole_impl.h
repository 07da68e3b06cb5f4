#ifndef TC_IMAGE_WHOLE_IMPL_H
#define TC_IMAGE_WHOLE_IMPL_H
/**
 * @file whole_impl.h
 * What the parts of whole.h share.  Private to image/.
 */
#include "image/jpeg_error.h"
#include "image/whole.h"

struct tc_whole {
    tc_whole_options options;
    tc_fault fault; /* of the last call */
    const uint8_t *data;
    size_t bytes;
    tc_whole_info info;
    bool opened;      /* and not decoded yet */
    tc_buffer pixels; /* (h,w,3) */
    tc_buffer padded; /* a copy of `data` with the end marker that it lacks */
    /* JPEG */
    struct jpeg_decompress_struct jpeg;
    struct jpeg_progress_mgr progress;
    tc_jpeg_errors errors;
    bool created;       /* jpeg needs its destroy */
    tc_buffer row;      /* of CMYK */
    tc_raster *raster;  /* of the decoding at hand */
    int64_t rows;       /* of it that are there, whatever happens next */
    bool complete;      /* every component and, of progressive ones, every bit came */
};

/** tc_fail(TC_FORMAT), remembering the kind of fault. */
tc_status tc_whole_fail(tc_whole *whole, tc_fault fault, const char *fmt, ...) TC_PRINTF(3, 4);

/** Hold sides and need of memory against the limits.  @param extra  bytes beside the raster. */
tc_status tc_whole_allow(tc_whole *whole, int64_t w, int64_t h, int64_t extra);

/** Make the raster's memory, gray all over where a part may stay empty. */
tc_status tc_whole_make_raster(tc_whole *whole, tc_raster *raster);

tc_status tc_whole_jpeg_start(tc_whole *whole); /* set-up of libjpeg */
void tc_whole_jpeg_end(tc_whole *whole);
tc_status tc_whole_jpeg_open(tc_whole *whole);
tc_status tc_whole_jpeg_decode(tc_whole *whole, tc_raster *raster);

/** A new structure of libjpeg's for each reading: an old one keeps the tables of the last
 *  picture, and one that lacks its own would be decoded by them.  May jump. */
void tc_whole_jpeg_renew(tc_whole *whole);

/** Run one step of libjpeg; its errors come back as a status. */
tc_status tc_whole_jpeg_guarded(tc_whole *whole, void (*step)(tc_whole *whole));

/** Bytes that libjpeg takes for the coefficients of the whole opened picture. */
int64_t tc_whole_jpeg_coefficients(const tc_whole *whole);

tc_status tc_whole_png_open(tc_whole *whole);
tc_status tc_whole_png_decode(tc_whole *whole, tc_raster *raster);

#endif
