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

/* ---- Element by element, in f32 and bf16 ---- */

static inline __attribute__((always_inline)) float up(uint16_t half)
{
    union {
        uint32_t bits;
        float value;
    } v = { (uint32_t)half << 16 };
    return v.value;
}

/* To the nearest, ties to even; a NaN stays one. */
static inline __attribute__((always_inline)) uint16_t down(float value)
{
    union {
        float value;
        uint32_t bits;
    } v = { value };
    uint32_t near = v.bits + 0x7fff + ((v.bits >> 16) & 1);
    return (uint16_t)((value != value ? v.bits | 0x400000 : near) >> 16);
}

uint16_t dn_bf16(float value)
{
    return down(value);
}

#define SAME(v) (v)
/* The four functions of one type; a NaN passes the ReLU. */
#define POINTS(suffix, type, IN, OUT)                                                              \
    CLONES static void add_##suffix(const void *a_, const void *b_, void *y_, int64_t count)       \
    {                                                                                              \
        const type *a = a_, *b = b_;                                                               \
        type *y = y_;                                                                              \
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = OUT(IN(a[i]) + IN(b[i]));   \
    }                                                                                              \
    CLONES static void add_relu_##suffix(const void *a_, const void *b_, void *y_, int64_t count)  \
    {                                                                                              \
        const type *a = a_, *b = b_;                                                               \
        type *y = y_;                                                                              \
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++)                                    \
        {                                                                                          \
            float v = IN(a[i]) + IN(b[i]);                                                         \
            y[i] = OUT(v <= 0 ? 0 : v);                                                            \
        }                                                                                          \
    }                                                                                              \
    CLONES static void relu_##suffix(const void *x_, void *y_, int64_t count)                      \
    {                                                                                              \
        const type *x = x_;                                                                        \
        type *y = y_;                                                                              \
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = IN(x[i]) <= 0 ? 0 : x[i];   \
    }                                                                                              \
    CLONES static void mask_##suffix(const void *dy_, const void *y_, void *dz_, int64_t count)    \
    {                                                                                              \
        const type *dy = dy_, *y = y_;                                                             \
        type *dz = dz_;                                                                            \
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) dz[i] = IN(y[i]) <= 0 ? 0 : dy[i]; \
    }
POINTS(f32, float, SAME, SAME)
POINTS(bf16, uint16_t, up, down)

/* ---- Plane by plane ---- */

#define LANES           8
#define LANE_NAME(name) lanes8_f32_##name
#define LANE_BF16       0
#include "dev/onednn/lanes.h"
#undef LANES
#undef LANE_NAME
#undef LANE_BF16
#define LANES           16
#define LANE_NAME(name) lanes16_f32_##name
#define LANE_BF16       0
#include "dev/onednn/lanes.h"
#undef LANES
#undef LANE_NAME
#undef LANE_BF16
#define LANES           16
#define LANE_NAME(name) lanes16_bf16_##name
#define LANE_BF16       1
#include "dev/onednn/lanes.h"
#undef LANES
#undef LANE_NAME
#undef LANE_BF16

const dn_lanes *dn_lanes_of(int block, tc_precision type)
{
    if (type == TC_BF16)
        return &lanes16_bf16_table;
    return block == 8 ? &lanes8_f32_table : &lanes16_f32_table;
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

void dn_k_normalise(const uint8_t *rgb, const float lut[3][256], const float *offset, void *out,
                    const dn_layout *layout)
{
    for (int c = 0; c < 3; c++) {
        const uint8_t *from = rgb + c;
        float add = offset ? offset[c] : 0;
        int64_t plane = c / layout->block * layout->step_c + c % layout->block;
        for (int64_t h = 0; h < layout->h; h++) {
            int64_t row = plane + h * layout->step_h;
            for (int64_t w = 0; w < layout->w; w++, from += 3) {
                float v = lut[c][*from] + add;
                if (layout->type == TC_BF16)
                    ((uint16_t *)out)[row + w * layout->step_w] = down(v);
                else
                    ((float *)out)[row + w * layout->step_w] = v;
            }
        }
    }
}
