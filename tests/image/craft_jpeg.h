#ifndef TC_TESTS_IMAGE_CRAFT_JPEG_H
#define TC_TESTS_IMAGE_CRAFT_JPEG_H
/* The makers behind craft.h. */
#include "craft.h"

#include <stdio.h>

#include <jpeglib.h>

typedef struct {
    int w, h; /* 0: 96 x 64 */
    J_COLOR_SPACE space; /* of the file; JCS_UNKNOWN: YCbCr */
    int across, down;    /* sampling factors of the first component; 0: libjpeg's */
    bool progressive, arithmetic, inverted, scans;
    bool odd; /* chroma 2x1 and 1x2 beside luma 2x2 */
    int restart; /* MCUs; 0: none */
    int components; /* of no known space; 0: by `space` */
} craft_jpeg;

/* Append a JPEG; false where libjpeg cannot make it. */
bool craft_encode(const craft_jpeg *kind, tc_buffer *out);

/* As png_set_IHDR() has them. */
bool craft_png(int w, int h, int bits, int type, bool interlaced, bool text, tc_buffer *out);

/* Sample the quarter of (x,y) in a picture of w x h. */
const unsigned char *craft_at(craft_look look, int x, int y, int w, int h);

/* The ink that looks like CRAFT_INK; 255 is full. */
extern const unsigned char craft_inks[4][4];

#endif
