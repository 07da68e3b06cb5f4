#ifndef TC_DEV_ONEDNN_KERNELS_H
#define TC_DEV_ONEDNN_KERNELS_H
/**
 * @file kernels.h
 * Private to src/dev/onednn: loops over activations that oneDNN lacks or does in more passes.
 *
 * Each exists once an instruction set, from one source; a device takes the best that its processor
 * has, or what TRICOLOR_SIMD names.  All variants give the same bits: a channel keeps its lane
 * whatever a vector's width, sums run in one order, and nothing is contracted to a fused
 * multiply-add.  (Which payload a NaN has is left open.)
 */
#include "dev/backend.h"

#include <stdbool.h>

/** How a tensor (n,c,h,w) lies in memory. */
typedef struct {
    tc_precision type; /* TC_F32 or TC_BF16 */
    int64_t n, c, h, w;
    int block;                              /* channels side by side: 16 or 8; 1: plain */
    int64_t step_n, step_c, step_h, step_w; /* elements to the next; step_c: to the next block */
} dn_layout;


/** Which elements of dy the ReLU let through. */
typedef enum { DN_MASK_NONE, DN_MASK_INPUT, DN_MASK_OUTPUT } dn_mask;

/** What the BN kernels know of one block of channels: arrays of `block` floats. */
typedef struct {
    const float *mean, *scale, *shift; /* y = (x - mean) * scale + shift */
    const float *p, *q, *r;            /* dx = p * g + q * (x - mean) + r */
} dn_bn_block;

typedef struct {
    int64_t h, w, out_h, out_w, kh, kw, stride_h, stride_w, pad_h, pad_w;
} dn_pool_shape;

/** Kernels on one plane: (pixels, block) elements of one type, the channels of one block side by
 *  side; and element by element, where in place is allowed. */
typedef struct {
    int block;
    void (*add)(const void *a, const void *b, void *y, int64_t count);
    void (*add_relu)(const void *a, const void *b, void *y, int64_t count);
    void (*relu)(const void *x, void *y, int64_t count);
    void (*mask)(const void *dy, const void *y, void *dz, int64_t count);
    /** mean[block] and m2[block], the sum of squared deviations from it. */
    void (*moments)(const void *x, int64_t pixels, double *mean, double *m2);
    /** y = (x - mean) * scale + shift [+ residual], then the ReLU. */
    void (*bn_affine)(const void *x, const void *residual, void *y, int64_t pixels,
                      const dn_bn_block *bn, bool relu);
    /** sum[block] of g and of g * (x - mean), g being dy under the mask; DN_MASK_OUTPUT takes y and
     *  writes g to dz. */
    void (*bn_sums)(const void *dy, const void *x, const void *y, void *dz, int64_t pixels,
                    const dn_bn_block *bn, dn_mask mask, double *sum_g, double *sum_gx);
    /** dx = p * g + q * (x - mean) + r.  dx may be dy. */
    void (*bn_apply)(const void *dy, const void *x, void *dx, int64_t pixels,
                     const dn_bn_block *bn, dn_mask mask);
    void (*average)(const void *x, int64_t pixels, float *y); /* in f32, whatever the type */
    void (*spread)(const float *dy, int64_t pixels, void *dx); /* average's backward */
    void (*avg_pool)(const void *x, void *y, const dn_pool_shape *shape);
    void (*avg_pool_back)(const void *dy, void *dx, const dn_pool_shape *shape);
    /** `which` (out pixels, block): for the backward; NULL: not wanted. */
    void (*max_pool)(const void *x, void *y, uint8_t *which, const dn_pool_shape *shape);
    void (*max_pool_back)(const void *dy, const uint8_t *which, void *dx,
                          const dn_pool_shape *shape);
} dn_lanes;

/** One variant: the same source for one instruction set. */
typedef struct {
    const char *name; /* "avx512", "avx2", "plain" */
    /** Update `count` weights; @p decay is sgd->weight_decay, or 0. */
    void (*sgd)(const float *sum, float *w, float *v, int64_t count, const tc_sgd *sgd,
                float decay);
    const dn_lanes *f32_16, *f32_8, *bf16_16; /* type and block */
} dn_kernels;

/** The i-th variant that this processor can run, best first, "plain" last; NULL past it. */
const dn_kernels *dn_kernels_at(int i);
/** A variant by name; NULL or "": the best.  @retval TC_INVAL  not here; the message lists those
 *  that are. */
tc_status dn_kernels_find(const char *name, const dn_kernels **kernels_p);

/** @param type  TC_F32, or TC_BF16 with a block of 16. */
const dn_lanes *dn_lanes_of(const dn_kernels *kernels, int block, tc_precision type);

uint16_t dn_bf16(float value);
static inline int64_t dn_size(tc_precision type)
{
    return type == TC_BF16 ? 2 : 4;
}

/** Normalise one picture (H,W,3) into a layout. */
void dn_normalise(const uint8_t *rgb, const float lut[3][256], const float *offset, void *out,
                  const dn_layout *layout);

#endif
