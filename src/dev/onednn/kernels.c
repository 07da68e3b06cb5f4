#include <config.h>

#include "dev/onednn/kernels.h"

#include <stdio.h>
#include <string.h>

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

#define VARIANT      plain
#define VARIANT_NAME "plain"
#define TARGET
#define REGISTER     4
#include "dev/onednn/kernels_variant.h"

#if defined __x86_64__ || defined __i386__
#define ON_X86       1
#define VARIANT      avx2
#define VARIANT_NAME "avx2"
#define TARGET       __attribute__((target("avx2")))
#define REGISTER     8
#include "dev/onednn/kernels_variant.h"

#define VARIANT      avx512
#define VARIANT_NAME "avx512"
#define TARGET       __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define REGISTER     16
#include "dev/onednn/kernels_variant.h"
#else
#define ON_X86 0
#endif

const dn_kernels *dn_kernels_at(int i)
{
    int place = 0;

#if ON_X86
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && i == place++)
        return &avx512_kernels;
    if (__builtin_cpu_supports("avx2") && i == place++)
        return &avx2_kernels;
#endif
    return i == place ? &plain_kernels : NULL;
}

tc_status dn_kernels_find(const char *name, const dn_kernels **kernels_p)
{
    char list[64] = "";

    for (int i = 0; dn_kernels_at(i) != NULL; i++) {
        const dn_kernels *kernels = dn_kernels_at(i);
        if (name == NULL || name[0] == '\0' || strcmp(name, kernels->name) == 0) {
            *kernels_p = kernels;
            return TC_OK;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, " %s", kernels->name);
    }
    return tc_fail(TC_INVAL, "onednn: TRICOLOR_SIMD=%s: this processor has:%s", name, list);
}

const dn_lanes *dn_lanes_of(const dn_kernels *kernels, int block, tc_precision type)
{
    if (type == TC_BF16)
        return kernels->bf16_16;
    return block == 8 ? kernels->f32_8 : kernels->f32_16;
}

void dn_normalise(const uint8_t *rgb, const float lut[3][256], const float *offset, void *out,
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
