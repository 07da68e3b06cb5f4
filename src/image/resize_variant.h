/*
 * The kernel of resize_kernel.h for one instruction set; resize_kernel.c includes this once a
 * variant, after defining
 *   VARIANT   suffix of the names, and VARIANT_NAME the same as text
 *   TARGET    the attribute that lets the compiler use the instructions
 *   LANES     words in a vector
 *   SCALE(v, w)  the product of a vector 0..255 and a weight, if the processor has a better way
 *   COLUMNS(row, x, planes, out)  the horizontal pass, and COLUMNS_BY_BLOCKS as it says
 * Vectors are GCC's: the compiler writes the instructions, or plain ones where there are none.
 */
#define NAME2(name, variant) name##_##variant
#define NAME1(name, variant) NAME2(name, variant)
#define NAME(name)           NAME1(name, VARIANT)
#define INLINE               static inline __attribute__((always_inline)) TARGET
#define words                NAME(words)
#define bytes                NAME(bytes)

typedef uint16_t words __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
typedef uint8_t bytes __attribute__((vector_size(LANES), aligned(1), may_alias));

/* (v * w + 128) >> 8 without more than 16 bits. */
#ifndef SCALE
#define SCALE(v, w) ((v) * (uint16_t)((w) >> 8) + (((v) * (uint16_t)((w)&255) + 128) >> 8))
#endif

/* `n` vectors of the vertical pass. */
INLINE void NAME(blend)(const uint8_t *in, int64_t stride, const int16_t *weight, int64_t taps,
                        int n, int16_t *row)
{
    words sum[4] = { { 0 } };

    for (int64_t k = 0; k < taps; k++, in += stride) {
        uint16_t w = (uint16_t)weight[k];
        for (int u = 0; u < n; u++) {
            words v = __builtin_convertvector(*(const bytes *)(in + u * LANES), words);
            sum[u] += SCALE(v, w);
        }
    }
    for (int u = 0; u < n; u++)
        *(words *)(row + u * LANES) = sum[u];
}

/* row (n) with 7 fractional bits = sum over k < taps of weight[k] * in[k] (n) u8. */
INLINE void NAME(rows)(const uint8_t *in, int64_t stride, const int16_t *weight, int64_t taps,
                       int64_t n, int16_t *row)
{
    int64_t i = 0;

    while (taps > 1 && weight[taps - 1] == 0) /* the last tap of most pixels */
        taps--;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
        NAME(blend)(in + i, stride, weight, taps, 4, row + i);
    for (; i + LANES <= n; i += LANES)
        NAME(blend)(in + i, stride, weight, taps, 1, row + i);
    if (i < n && n >= LANES) { /* the last vector overlaps the one before */
        NAME(blend)(in + n - LANES, stride, weight, taps, 1, row + n - LANES);
        return;
    }
    for (; i < n; i++) {
        int32_t sum = 0;
        for (int64_t k = 0; k < taps; k++)
            sum += (in[k * stride + i] * weight[k] + 128) >> 8;
        row[i] = (int16_t)sum;
    }
}

TARGET static void NAME(resize)(const tc_raster *in, const tc_resize_axis *x,
                                const tc_resize_axis *y, int16_t *scratch, const tc_raster *out)
{
    int16_t *planes = scratch + 3 * in->w + TC_RESIZE_SLACK;

    for (int64_t i = 0; i < out->h; i++) {
        NAME(rows)
        (in->data + y->first[i] * in->stride, in->stride, y->fixed + 2 * i * y->pairs, y->taps,
         3 * in->w, scratch);
        COLUMNS(scratch, x, planes, out->data + i * out->stride);
    }
}

static const tc_resize_kernel
    NAME(kernel) = { .name = VARIANT_NAME, .by_blocks = COLUMNS_BY_BLOCKS, .resize = NAME(resize) };

#undef NAME2
#undef NAME1
#undef NAME
#undef INLINE
#undef words
#undef bytes
#undef VARIANT
#undef VARIANT_NAME
#undef TARGET
#undef LANES
#undef SCALE
#undef COLUMNS
#undef COLUMNS_BY_BLOCKS
