#ifndef TC_IMAGE_CMYK_H
#define TC_IMAGE_CMYK_H
/**
 * @file cmyk.h
 * Ink to light.  libjpeg turns YCCK into CMYK, but not CMYK into RGB.  Private to image/.
 */
#include <stdbool.h>
#include <stdint.h>

/**
 * Convert (n,4) CMYK @p in to (n,3) RGB @p out, which may be the same memory.
 * @param inverted  0 is full ink: Adobe's habit, told by the file's Adobe marker.
 */
static inline void tc_cmyk_to_rgb(const uint8_t *in, int64_t n, bool inverted, uint8_t *out)
{
    unsigned flip = inverted ? 0 : 255;

    for (int64_t i = 0; i < n; i++) {
        unsigned light[3], k = in[4 * i + 3] ^ flip;
        for (int c = 0; c < 3; c++)
            light[c] = (in[4 * i + c] ^ flip) * k;
        for (int c = 0; c < 3; c++)
            out[3 * i + c] = (uint8_t)((light[c] + 127) / 255);
    }
}

#endif
