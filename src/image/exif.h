#ifndef TC_IMAGE_EXIF_H
#define TC_IMAGE_EXIF_H
/**
 * @file exif.h
 * The orientation that a camera wrote down, and turning a picture by it.
 * Used by: whole.h, data-prep.
 */
#include "image/image.h"

/**
 * The orientation of a JPEG (Exif in an APP1 segment) or PNG (eXIf chunk): 1 to 8, where 1 is "as
 * stored".  Whatever is damaged or missing counts as 1: half of all Exif in the wild is broken, and
 * the picture is none the worse for it.
 */
int tc_exif_orientation(const uint8_t *data, size_t bytes);

/** Whether turning by this orientation swaps width and height. */
static inline bool tc_exif_swaps(int orientation)
{
    return orientation >= 5 && orientation <= 8;
}

/**
 * Write @p in as it is meant to be seen to @p out, whose sides are those of @p in, swapped where
 * tc_exif_swaps(); they do not overlap.
 */
void tc_exif_turn(const tc_raster *in, int orientation, const tc_raster *out);

#endif
