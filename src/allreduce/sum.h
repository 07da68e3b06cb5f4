#ifndef TC_ALLREDUCE_SUM_H
#define TC_ALLREDUCE_SUM_H
/**
 * @file sum.h
 * Add vectors of floats, and turn floats into the narrower types of a wire and back.
 *
 * Each function exists in several variants, one an instruction set; tc_sum_kernels_best() takes the
 * widest that this processor has.  All variants give the same bits: what is done to an element
 * depends on that element alone.  (Where two NaNs are added, which of their payloads remains is
 * left open; that it is a NaN is not.)
 *
 * Rounding is to nearest, ties to even, also into and among denormal numbers; beyond the range of
 * f16 it gives infinity.  A NaN stays one and becomes quiet; its payload is cut.  bf16 is rounded
 * by integer arithmetic: the instruction of AVX512-BF16 takes denormals for zero.
 *
 * Pointers need the alignment of their element alone.  dst and src do not overlap, unless they are
 * the same pointer.  Thread-safe: yes, all.
 * Used by: allreduce (its algorithms), bench, tests.
 */
#include <stdint.h>

/** One variant; n >= 0 elements; bf16 and f16 values travel as uint16_t. */
typedef struct {
    const char *name;                                              /* "avx512", "avx2", "plain" */
    void (*sum_f32)(float *dst, const float *src, int64_t n);      /* dst += src */
    void (*sum_bf16)(float *dst, const uint16_t *src, int64_t n);  /* dst += src, in f32 */
    void (*sum_f16)(float *dst, const uint16_t *src, int64_t n);   /* dst += src, in f32 */
    void (*to_bf16)(uint16_t *dst, const float *src, int64_t n);   /* rounds */
    void (*to_f16)(uint16_t *dst, const float *src, int64_t n);    /* rounds */
    void (*from_bf16)(float *dst, const uint16_t *src, int64_t n); /* exact */
    void (*from_f16)(float *dst, const uint16_t *src, int64_t n);  /* exact */
} tc_sum_kernels;

/** The i-th variant that this processor can run, best first, "plain" last; NULL past it. */
const tc_sum_kernels *tc_sum_kernels_at(int i);

/** The best variant: a constant table, a few tests of a word; cheap beside a chunk. */
const tc_sum_kernels *tc_sum_kernels_best(void);

/** dst[i] += src[i] for i in [0, n), by the best variant. */
void tc_sum_f32(float *dst, const float *src, int64_t n);

#endif
