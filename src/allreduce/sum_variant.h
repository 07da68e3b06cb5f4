/*
 * The kernels of sum.h for one instruction set; sum.c includes this once a variant, after defining
 *   VARIANT   suffix of the names, and VARIANT_NAME the same as text
 *   TARGET    the attribute that lets the compiler use the instructions
 *   LANES     floats in a vector
 *   WIDEN_F16(to, from), NARROW_F16(to, from)  the processor's own conversion, if it has one
 * Vectors are GCC's: the compiler writes the instructions, or plain ones where there are none.
 */
#define NAME2(name, variant) name##_##variant
#define NAME1(name, variant) NAME2(name, variant)
#define NAME(name)           NAME1(name, VARIANT)
#define INLINE               static inline __attribute__((always_inline)) TARGET
#define floats               NAME(floats)
#define words                NAME(words)
#define halves               NAME(halves)

typedef float floats __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint16_t halves __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

/* Vectors pass by pointer: their way through a call would depend on the instruction set. */

INLINE void NAME(widen_bf16)(floats *to, const uint16_t *from)
{
    *to = (floats)(__builtin_convertvector(*(const halves *)from, words) << 16);
}

INLINE void NAME(narrow_bf16)(uint16_t *to, const float *from)
{
    words x = *(const words *)from;
    words is_nan = (words)((x & 0x7fffffff) > 0x7f800000);
    words half = (0x7fff + (x >> 16 & 1)) & ~is_nan; /* of the last place; a tie goes to even */

    *(halves *)to = __builtin_convertvector((x + half) >> 16 | (is_nan & 0x40), halves);
}

INLINE void NAME(widen_f16)(floats *to, const uint16_t *from)
{
#ifdef WIDEN_F16
    WIDEN_F16(to, from);
#else
    words h = __builtin_convertvector(*(const halves *)from, words);
    words x = (h & 0x7fff) << 13, exponent = x & (0x1f << 23);
    words special = (words)(exponent == 0x1f << 23), tiny = (words)(exponent == 0);
    words is_nan = special & (words)((x & 0x7fffff) != 0);

    x += F16_BIAS + (special & F16_BIAS) + (is_nan & ~x & 0x400000);
    /* A denormal: as if it had the smallest normal exponent, whose leading one is taken off. */
    floats shifted = (floats)(x + (1 << 23)) - (floats)((words){ 0 } + F16_BIAS + (1 << 23));
    x = (x & ~tiny) | ((words)shifted & tiny);
    *to = (floats)(x | (h & 0x8000) << 16);
#endif
}

INLINE void NAME(narrow_f16)(uint16_t *to, const float *from)
{
#ifdef NARROW_F16
    NARROW_F16(to, from);
#else
    words x = *(const words *)from, size = x & 0x7fffffff;
    words is_nan = (words)(size > 0x7f800000), large = (words)(size >= (127 + 16) << 23);
    words tiny = (words)(size < (127 - 14) << 23);
    words normal = (size + 0xfff + (size >> 13 & 1) - F16_BIAS) >> 13;
    /* A denormal: 0.5 has its last place where f16's denormals have theirs, so adding rounds. */
    words denormal = (words)((floats)size + 0.5f) - (126 << 23);
    words special = 0x7c00 | (is_nan & (0x200 | (size >> 13 & 0x3ff)));

    words h = (normal & ~tiny & ~large) | (denormal & tiny) | (special & large);
    *(halves *)to = __builtin_convertvector(h | (x >> 16 & 0x8000), halves);
#endif
}

TARGET static void NAME(sum_f32)(float *dst, const float *src, int64_t n)
{
    int64_t i = 0;

    for (; i + 4 * LANES <= n; i += 4 * LANES)
        for (int u = 0; u < 4; u++)
            *(floats *)(dst + i + u * LANES) += *(const floats *)(src + i + u * LANES);
    for (; i < n; i++)
        dst[i] += src[i];
}

/* The last elements pass through a vector of their own, so that every element is treated alike. */

INLINE void NAME(sum_wide)(float *dst, const uint16_t *src, int64_t n,
                           void widen(floats *, const uint16_t *))
{
    uint16_t last[LANES] = { 0 };
    floats wide;
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        widen(&wide, src + i);
        *(floats *)(dst + i) += wide;
    }
    memcpy(last, src + i, (size_t)(n - i) * sizeof *last);
    widen(&wide, last);
    for (int u = 0; i + u < n; u++)
        dst[i + u] += wide[u];
}

INLINE void NAME(from)(float *dst, const uint16_t *src, int64_t n,
                       void widen(floats *, const uint16_t *))
{
    uint16_t last[LANES] = { 0 };
    floats wide;
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        widen((floats *)(dst + i), src + i);
    memcpy(last, src + i, (size_t)(n - i) * sizeof *last);
    widen(&wide, last);
    memcpy(dst + i, &wide, (size_t)(n - i) * sizeof *dst);
}

INLINE void NAME(to)(uint16_t *dst, const float *src, int64_t n,
                     void narrow(uint16_t *, const float *))
{
    float last[LANES] = { 0 };
    uint16_t narrowed[LANES];
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        narrow(dst + i, src + i);
    memcpy(last, src + i, (size_t)(n - i) * sizeof *last);
    narrow(narrowed, last);
    memcpy(dst + i, narrowed, (size_t)(n - i) * sizeof *narrowed);
}

TARGET static void NAME(sum_bf16)(float *dst, const uint16_t *src, int64_t n)
{
    NAME(sum_wide)(dst, src, n, NAME(widen_bf16));
}

TARGET static void NAME(sum_f16)(float *dst, const uint16_t *src, int64_t n)
{
    NAME(sum_wide)(dst, src, n, NAME(widen_f16));
}

TARGET static void NAME(to_bf16)(uint16_t *dst, const float *src, int64_t n)
{
    NAME(to)(dst, src, n, NAME(narrow_bf16));
}

TARGET static void NAME(to_f16)(uint16_t *dst, const float *src, int64_t n)
{
    NAME(to)(dst, src, n, NAME(narrow_f16));
}

TARGET static void NAME(from_bf16)(float *dst, const uint16_t *src, int64_t n)
{
    NAME(from)(dst, src, n, NAME(widen_bf16));
}

TARGET static void NAME(from_f16)(float *dst, const uint16_t *src, int64_t n)
{
    NAME(from)(dst, src, n, NAME(widen_f16));
}

static const tc_sum_kernels NAME(kernels) = {
    .name = VARIANT_NAME,
    .sum_f32 = NAME(sum_f32),
    .sum_bf16 = NAME(sum_bf16),
    .sum_f16 = NAME(sum_f16),
    .to_bf16 = NAME(to_bf16),
    .to_f16 = NAME(to_f16),
    .from_bf16 = NAME(from_bf16),
    .from_f16 = NAME(from_f16),
};

#undef NAME2
#undef NAME1
#undef NAME
#undef INLINE
#undef floats
#undef words
#undef halves
#undef VARIANT
#undef VARIANT_NAME
#undef TARGET
#undef LANES
#undef WIDEN_F16
#undef NARROW_F16
