#include <config.h>

#include "allreduce/sum.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#if defined __x86_64__ || defined __i386__
#define ON_X86 1
#include <immintrin.h>
#else
#define ON_X86 0
#endif

#define F16_BIAS ((127 - 15) << 23) /* from f16's exponents to f32's, in place */

#define VARIANT      plain
#define VARIANT_NAME "plain"
#define TARGET
#define LANES 4
#include "allreduce/sum_variant.h"

#if ON_X86
#define VARIANT      avx2
#define VARIANT_NAME "avx2"
#define TARGET       __attribute__((target("avx2,f16c")))
#define LANES        8
#define WIDEN_F16(to, from) \
    _mm256_storeu_ps((float *)(to), _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from))))
#define NARROW_F16(to, from)          \
    _mm_storeu_si128((__m128i *)(to), \
                     _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT))
#include "allreduce/sum_variant.h"

#define VARIANT      avx512
#define VARIANT_NAME "avx512"
#define TARGET       __attribute__((target("avx512f,avx512bw,avx512vl,f16c")))
#define LANES        16
#define WIDEN_F16(to, from) \
    _mm512_storeu_ps((to), _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from))))
#define NARROW_F16(to, from)             \
    _mm256_storeu_si256((__m256i *)(to), \
                        _mm512_cvtps_ph(_mm512_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT))
#include "allreduce/sum_variant.h"
#endif

const tc_sum_kernels *tc_sum_kernels_at(int i)
{
    int place = 0;

#if ON_X86
    bool f16c = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
    if (f16c && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && i == place++)
        return &kernels_avx512;
    if (f16c && i == place++)
        return &kernels_avx2;
#endif
    return i == place ? &kernels_plain : NULL;
}

const tc_sum_kernels *tc_sum_kernels_best(void)
{
    return tc_sum_kernels_at(0);
}

void tc_sum_f32(float *dst, const float *src, int64_t n)
{
    tc_sum_kernels_best()->sum_f32(dst, src, n);
}
