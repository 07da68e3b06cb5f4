#include <config.h>

#include "image/resize_kernel.h"

#include <string.h>
#if defined __x86_64__ || defined __i386__
#define ON_X86 1
#include <immintrin.h>
#else
#define ON_X86 0
#endif

#define FRACTION 22 /* bits: 7 of the vertical pass, 15 of a weight */
#define HALF     (1 << (FRACTION - 1))

static void columns_plain(const int16_t *row, const tc_resize_axis *x, int16_t *planes,
                          uint8_t *out)
{
    (void)planes;
    for (int64_t i = 0; i < x->out; i++, out += 3) {
        const int16_t *from = row + 3 * x->first[i], *weight = x->fixed + 2 * i * x->pairs;
        int32_t r = HALF, g = HALF, b = HALF;
        for (int64_t k = 0; k < x->taps; k++, from += 3) {
            r += weight[k] * from[0];
            g += weight[k] * from[1];
            b += weight[k] * from[2];
        }
        out[0] = (uint8_t)(r >> FRACTION);
        out[1] = (uint8_t)(g >> FRACTION);
        out[2] = (uint8_t)(b >> FRACTION);
    }
}

#define VARIANT      plain
#define VARIANT_NAME "plain"
#define TARGET
#define LANES             8
#define COLUMNS           columns_plain
#define COLUMNS_BY_BLOCKS false
#include "image/resize_variant.h"

#if ON_X86
#define AVX2   __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

/* Two taps at once: words (r r' g g' b b' - -) times (w w' w w' …).  The fourth lane is the next
 * pixel's red, or slack, and is dropped.  Inlined, so that a constant `pairs` unrolls the loop. */
AVX2 static inline __attribute__((always_inline)) void
columns_of(const int16_t *row, const tc_resize_axis *x, int64_t pairs, uint8_t *out)
{
    for (int64_t i = 0; i < x->out; i++, out += 3) {
        const int16_t *from = row + 3 * x->first[i], *weight = x->fixed + 2 * i * pairs;
        __m128i sum = _mm_set1_epi32(HALF);
        for (int64_t k = 0; k < pairs; k++, from += 6) {
            __m128i a = _mm_loadl_epi64((const __m128i *)from);
            __m128i b = _mm_loadl_epi64((const __m128i *)(from + 3));
            int32_t two;
            memcpy(&two, weight + 2 * k, sizeof two);
            sum = _mm_add_epi32(sum, _mm_madd_epi16(_mm_unpacklo_epi16(a, b), _mm_set1_epi32(two)));
        }
        sum = _mm_srai_epi32(sum, FRACTION);
        sum = _mm_packus_epi16(_mm_packs_epi32(sum, sum), sum);
        int32_t pixel = _mm_cvtsi128_si32(sum);
        memcpy(out, &pixel, 3);
    }
}

AVX2 static void columns_avx2(const int16_t *row, const tc_resize_axis *x, int16_t *planes,
                              uint8_t *out)
{
    (void)planes;
    if (x->pairs == 1)
        columns_of(row, x, 1, out);
    else if (x->pairs == 2)
        columns_of(row, x, 2, out);
    else
        columns_of(row, x, x->pairs, out);
}

#define VARIANT      avx2
#define VARIANT_NAME "avx2"
#define TARGET       AVX2
#define LANES        16
#define SCALE(v, w) \
    (words) _mm256_mulhrs_epi16((__m256i)((v) << 7), _mm256_set1_epi16((int16_t)(w)))
#define COLUMNS           columns_avx2
#define COLUMNS_BY_BLOCKS false
#include "image/resize_variant.h"

/* Words 3*j + c of three vectors, c the colour: where in the first two, then, given those, where
 * in the third. */
static const int16_t front[3][32] = {
    { 0,  3,  6,  9,  12, 15, 18, 21, 24, 27, 30, 33, 36, 39, 42, 45,
      48, 51, 54, 57, 60, 63, 0,  0,  0,  0,  0,  0,  0,  0,  0,  0 },
    { 1,  4,  7,  10, 13, 16, 19, 22, 25, 28, 31, 34, 37, 40, 43, 46,
      49, 52, 55, 58, 61, 0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0 },
    { 2,  5,  8,  11, 14, 17, 20, 23, 26, 29, 32, 35, 38, 41, 44, 47,
      50, 53, 56, 59, 62, 0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0 },
};
static const int16_t back[3][32] = {
    { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
      16, 17, 18, 19, 20, 21, 34, 37, 40, 43, 46, 49, 52, 55, 58, 61 },
    { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
      16, 17, 18, 19, 20, 32, 35, 38, 41, 44, 47, 50, 53, 56, 59, 62 },
    { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
      16, 17, 18, 19, 20, 33, 36, 39, 42, 45, 48, 51, 54, 57, 60, 63 },
};

/* Planes (3,width) of a row (n,3), in whole vectors. */
AVX512 static inline void split(const int16_t *row, int64_t n, int16_t *planes, int64_t width)
{
    for (int64_t x = 0; x < n; x += 32) {
        __m512i v[3];
        for (int c = 0; c < 3; c++)
            v[c] = _mm512_loadu_si512(row + 3 * x + 32 * c);
        for (int c = 0; c < 3; c++) {
            __m512i part = _mm512_permutex2var_epi16(v[0], _mm512_loadu_si512(front[c]), v[1]);
            part = _mm512_permutex2var_epi16(part, _mm512_loadu_si512(back[c]), v[2]);
            _mm512_storeu_si512(planes + c * width + x, part);
        }
    }
}

/* Write n <= 16 pixels of three colours. */
AVX512 static inline void join(const __m512i *colour, int64_t n, uint8_t *out)
{
    const __m512i three = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    const __m512i close = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
    __m512i pixel = _mm512_srli_epi32(colour[0], FRACTION);

    pixel = _mm512_or_si512(pixel, _mm512_slli_epi32(_mm512_srli_epi32(colour[1], FRACTION), 8));
    pixel = _mm512_or_si512(pixel, _mm512_slli_epi32(_mm512_srli_epi32(colour[2], FRACTION), 16));
    pixel = _mm512_permutexvar_epi32(close, _mm512_shuffle_epi8(pixel, three));
    _mm512_mask_storeu_epi8(out, (UINT64_C(1) << 3 * n) - 1, pixel);
}

/* What 16 output pixels look at lies in two vectors of a plane, so that two taps are a permute. */
AVX512 static void columns_avx512(const int16_t *row, const tc_resize_axis *x, int16_t *planes,
                                  uint8_t *out)
{
    int64_t width = x->in + TC_RESIZE_SLACK;

    if (x->blocks == 0) {
        columns_avx2(row, x, planes, out);
        return;
    }
    split(row, x->in, planes, width);
    for (int64_t b = 0; b < x->blocks; b++) {
        const int16_t *plane = planes + x->base[b];
        const int16_t *weight = x->block + b * x->pairs * 2 * TC_RESIZE_BLOCK;
        __m512i at = _mm512_loadu_si512(x->index + b * 2 * TC_RESIZE_BLOCK);
        __m512i sum[3], low[3], high[3];
        for (int c = 0; c < 3; c++) {
            sum[c] = _mm512_set1_epi32(HALF);
            low[c] = _mm512_loadu_si512(plane + c * width);
            high[c] = _mm512_loadu_si512(plane + c * width + 32);
        }
        for (int64_t k = 0; k < x->pairs; k++) {
            __m512i w = _mm512_loadu_si512(weight + k * 2 * TC_RESIZE_BLOCK);
            for (int c = 0; c < 3; c++)
                sum[c] = _mm512_add_epi32(
                    sum[c], _mm512_madd_epi16(_mm512_permutex2var_epi16(low[c], at, high[c]), w));
            at = _mm512_add_epi16(at, _mm512_set1_epi16(2));
        }
        int64_t left = x->out - b * TC_RESIZE_BLOCK;
        join(sum, left < TC_RESIZE_BLOCK ? left : TC_RESIZE_BLOCK, out + 3 * b * TC_RESIZE_BLOCK);
    }
}

#define VARIANT      avx512
#define VARIANT_NAME "avx512"
#define TARGET       AVX512
#define LANES        32
#define SCALE(v, w) \
    (words) _mm512_mulhrs_epi16((__m512i)((v) << 7), _mm512_set1_epi16((int16_t)(w)))
#define COLUMNS           columns_avx512
#define COLUMNS_BY_BLOCKS true
#include "image/resize_variant.h"
#endif

const tc_resize_kernel *tc_resize_kernel_at(int i)
{
    int place = 0;

#if ON_X86
    bool avx2 = __builtin_cpu_supports("avx2");
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && i == place++)
        return &kernel_avx512;
    if (avx2 && i == place++)
        return &kernel_avx2;
#endif
    return i == place ? &kernel_plain : NULL;
}
