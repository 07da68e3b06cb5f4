/*
 * Loops over activations that oneDNN lacks or does in more passes: batch normalisation with its
 * fusions, sums, masks, averages, SGD.  Each is compiled for several instruction sets and chosen
 * when the program is loaded.
 */
#include <config.h>

#include "dev/onednn/onednn.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define CLONES
#endif

#define CHUNK 128 /* pixels: 8 KiB in blocks of 16 */

/* The part of the input under one output pixel of a pool: never empty, see tc_graph_pool(). */
typedef struct {
    int64_t h0, h1, w0, w1;
    int64_t area; /* divisor: padding counts, what a ceil mode adds beyond it does not */
} pool_window;

static inline __attribute__((always_inline)) pool_window window_at(const dn_pool_shape *s,
                                                                   int64_t oh, int64_t ow)
{
    int64_t h0 = oh * s->stride_h - s->pad_h, w0 = ow * s->stride_w - s->pad_w;
    int64_t h1 = h0 + s->kh, w1 = w0 + s->kw;
    int64_t edge_h = s->h + s->pad_h, edge_w = s->w + s->pad_w;

    if (h1 > edge_h)
        h1 = edge_h;
    if (w1 > edge_w)
        w1 = edge_w;
    pool_window w = { .area = (h1 - h0) * (w1 - w0) };
    w.h0 = h0 < 0 ? 0 : h0;
    w.w0 = w0 < 0 ? 0 : w0;
    w.h1 = h1 > s->h ? s->h : h1;
    w.w1 = w1 > s->w ? s->w : w1;
    return w;
}

#define LANES           8
#define LANE_NAME(name) lanes8_##name
#include "dev/onednn/lanes.h"
#undef LANES
#undef LANE_NAME
#define LANES           16
#define LANE_NAME(name) lanes16_##name
#include "dev/onednn/lanes.h"
#undef LANES
#undef LANE_NAME

const dn_lanes *dn_lanes_of(int block)
{
    return block == 8 ? &lanes8_table : &lanes16_table;
}

CLONES void dn_k_add(const float *a, const float *b, float *y, int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; i++)
        y[i] = a[i] + b[i];
}

CLONES void dn_k_add_relu(const float *a, const float *b, float *y, int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; i++) {
        float v = a[i] + b[i];
        y[i] = v <= 0 ? 0 : v; /* a NaN stays */
    }
}

CLONES void dn_k_relu(const float *x, float *y, int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; i++)
        y[i] = x[i] <= 0 ? 0 : x[i];
}

CLONES void dn_k_mask(const float *dy, const float *y, float *dz, int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; i++)
        dz[i] = y[i] <= 0 ? 0 : dy[i];
}

CLONES void dn_k_sgd(const float *sum, float *w, float *v, int64_t count, const tc_sgd *sgd,
                     float decay)
{
    const float lr = sgd->lr, momentum = sgd->momentum;

    if (sgd->nesterov) {
#pragma omp simd
        for (int64_t i = 0; i < count; i++) {
            float d = sum[i] + decay * w[i];
            v[i] = momentum * v[i] + d;
            w[i] -= lr * (d + momentum * v[i]);
        }
    } else {
#pragma omp simd
        for (int64_t i = 0; i < count; i++) {
            v[i] = momentum * v[i] + (sum[i] + decay * w[i]);
            w[i] -= lr * v[i];
        }
    }
}

void dn_k_normalise(const uint8_t *rgb, const float lut[3][256], const float *offset, float *out,
                    const dn_layout *layout)
{
    for (int c = 0; c < 3; c++) {
        const uint8_t *from = rgb + c;
        float add = offset ? offset[c] : 0;
        float *plane = out + c / layout->block * layout->step_c + c % layout->block;
        for (int64_t h = 0; h < layout->h; h++) {
            float *row = plane + h * layout->step_h;
            for (int64_t w = 0; w < layout->w; w++, from += 3)
                row[w * layout->step_w] = lut[c][*from] + add;
        }
    }
}
