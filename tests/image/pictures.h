#ifndef TC_TESTS_IMAGE_PICTURES_H
#define TC_TESTS_IMAGE_PICTURES_H
/* Rasters with something to see at every scale, for the tests of image/, store/ and loader/. */
#include "base/rng.h"
#include "image/image.h"

#include <math.h>
#include <stdlib.h>

static inline tc_raster picture_new(int64_t w, int64_t h)
{
    return (tc_raster){ .data = calloc((size_t)(w * h), 3), .w = w, .h = h, .stride = 3 * w };
}

/* Waves of a seeded direction and colour, some noise. */
static inline tc_raster picture_draw(int64_t w, int64_t h, uint64_t seed)
{
    tc_raster r = picture_new(w, h);
    tc_rng rng = tc_rng_make(seed, TC_STREAM_TEST, 0, 0);
    double fx[3], fy[3], phase[3];

    for (int c = 0; c < 3; c++) {
        fx[c] = 0.4 * (tc_rng_uniform(&rng) - 0.5);
        fy[c] = 0.4 * (tc_rng_uniform(&rng) - 0.5);
        phase[c] = 6.0 * tc_rng_uniform(&rng);
    }
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++)
            for (int c = 0; c < 3; c++) {
                double v = sin(fx[c] * (double)x + fy[c] * (double)y + phase[c]);
                v = 128.0 + 100.0 * v + 20.0 * (tc_rng_uniform(&rng) - 0.5);
                r.data[y * r.stride + 3 * x + c] = (uint8_t)v;
            }
    return r;
}
#endif
