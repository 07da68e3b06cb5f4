/*
 * The kernels of kernels.h for one instruction set; kernels.c includes this once a variant, after
 * defining
 *   VARIANT   prefix of the names, and VARIANT_NAME the same as text
 *   TARGET    the attribute that lets the compiler use the instructions
 *   REGISTER  floats in its widest register
 */
#define PASTE2(a, b) a##_##b
#define PASTE(a, b)  PASTE2(a, b)
#define NAME(name)   PASTE(VARIANT, name)
#define INLINE       TARGET static inline __attribute__((always_inline))

/* The four functions of one type; a NaN passes the ReLU. */
#define POINTS(suffix, type, IN, OUT)                                                              \
    TARGET static void NAME(add_##suffix)(const void *a_, const void *b_, void *y_, int64_t count) \
    {                                                                                              \
        const type *a = a_, *b = b_;                                                               \
        type *y = y_;                                                                              \
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = OUT(IN(a[i]) + IN(b[i]));   \
    }                                                                                              \
    TARGET static void NAME(add_relu_##suffix)(const void *a_, const void *b_, void *y_,           \
                                               int64_t count)                                      \
    {                                                                                              \
        const type *a = a_, *b = b_;                                                               \
        type *y = y_;                                                                              \
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++)                                    \
        {                                                                                          \
            float v = IN(a[i]) + IN(b[i]);                                                         \
            y[i] = OUT(v <= 0 ? 0 : v);                                                            \
        }                                                                                          \
    }                                                                                              \
    TARGET static void NAME(relu_##suffix)(const void *x_, void *y_, int64_t count)                \
    {                                                                                              \
        const type *x = x_;                                                                        \
        type *y = y_;                                                                              \
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) y[i] = IN(x[i]) <= 0 ? 0 : x[i];   \
    }                                                                                              \
    TARGET static void NAME(mask_##suffix)(const void *dy_, const void *y_, void *dz_,             \
                                           int64_t count)                                          \
    {                                                                                              \
        const type *dy = dy_, *y = y_;                                                             \
        type *dz = dz_;                                                                            \
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++) dz[i] = IN(y[i]) <= 0 ? 0 : dy[i]; \
    }
POINTS(f32, float, SAME, SAME)
POINTS(bf16, uint16_t, up, down)

TARGET static void NAME(sgd)(const float *sum, float *w, float *v, int64_t count,
                             const tc_sgd *sgd, float decay)
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

#define LANES           8
#define LANE_NAME(name) PASTE(NAME(lanes8_f32), name)
#define LANE_BF16       0
#include "dev/onednn/lanes.h"
#define LANES           16
#define LANE_NAME(name) PASTE(NAME(lanes16_f32), name)
#define LANE_BF16       0
#include "dev/onednn/lanes.h"
#define LANES           16
#define LANE_NAME(name) PASTE(NAME(lanes16_bf16), name)
#define LANE_BF16       1
#include "dev/onednn/lanes.h"

static const dn_kernels NAME(kernels) = {
    .name = VARIANT_NAME,
    .sgd = NAME(sgd),
    .f32_16 = &PASTE(NAME(lanes16_f32), table),
    .f32_8 = &PASTE(NAME(lanes8_f32), table),
    .bf16_16 = &PASTE(NAME(lanes16_bf16), table),
};

#undef PASTE2
#undef PASTE
#undef NAME
#undef POINTS
#undef VARIANT
#undef VARIANT_NAME
#undef TARGET
#undef REGISTER
#undef INLINE
