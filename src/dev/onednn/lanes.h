/*
 * The kernels on planes, for one block size and one type: included by kernels_variant.h with LANES
 * (8 or 16), LANE_NAME(name) and LANE_BF16 (0 or 1) defined.  One pixel of a plane is LANES
 * elements, f32 or bf16; all arithmetic is in f32.
 *
 * Where the registers hold fewer floats than a pixel has, a loop over `u` takes the lanes WIDE at a
 * time, within CHUNK pixels: vectors wider than a register would pass through the stack.
 *
 * Sums run in float over CHUNK pixels, while those lie in the first-level cache, and in double
 * from there on: fast, and stable for any mean and size.
 */
#define WIDE (LANES < REGISTER ? LANES : REGISTER)
typedef float LANE_NAME(vec) __attribute__((vector_size(WIDE * 4), aligned(4), may_alias));
typedef int32_t LANE_NAME(mask) __attribute__((vector_size(WIDE * 4), aligned(4), may_alias));
typedef uint8_t LANE_NAME(bytes) __attribute__((vector_size(WIDE), aligned(1), may_alias));
#define VEC         LANE_NAME(vec)
#define MASK        LANE_NAME(mask)
#define BYTES       LANE_NAME(bytes)
#define LOADF(p)     (*(const VEC *)(p))
#define STOREF(p, v) (*(VEC *)(p) = (v))
/* Macros, not functions: gcc takes vectors apart in a function before it inlines it. */
#if LANE_BF16
typedef uint16_t LANE_NAME(half) __attribute__((vector_size(WIDE * 2), aligned(2), may_alias));
typedef uint32_t LANE_NAME(bits) __attribute__((vector_size(WIDE * 4), aligned(4), may_alias));
#define ELEM uint16_t
#define HALF LANE_NAME(half)
#define BITS LANE_NAME(bits)
#define LOAD(p) ((VEC)(__builtin_convertvector(*(const HALF *)(p), BITS) << 16))
/* To the nearest, ties to even; a NaN stays one. */
#define STORE(p, v)                                                                                \
    do {                                                                                           \
        VEC f_ = (v);                                                                              \
        BITS u_ = (BITS)f_, nan_ = (BITS)(f_ != f_);                                               \
        u_ = ((u_ + 0x7fff + ((u_ >> 16) & 1)) & ~nan_) | ((u_ | 0x400000) & nan_);                \
        *(HALF *)(p) = __builtin_convertvector(u_ >> 16, HALF);                                    \
    } while (0)
#else
#define ELEM        float
#define LOAD(p)     LOADF(p)
#define STORE(p, v) STOREF(p, v)
#endif
/* v where not (y <= 0), else 0; a NaN passes, so that it is seen in the loss. */
#define KEEP(v, y) ((VEC)((MASK)(v) & ~((y) <= (VEC){ 0 })))

/* Over the chunks of a plane, and in each over its parts: from element `at` to `end`, of the lanes
 * from u on. */
#define FOR_CHUNKS(pixels)                                                               \
    for (int64_t done = 0, n = 0; n = CHUNK_AT(pixels, done), done < (pixels); done += n) \
        for (int64_t u = 0, at = done * LANES, end = at + n * LANES; u < LANES;           \
             u += WIDE, at += WIDE, end += WIDE)
#define CHUNK_AT(pixels, done) ((pixels) - (done) < CHUNK ? (pixels) - (done) : CHUNK)

/* Chan et al.: join a chunk's moments of WIDE lanes to those of `done` pixels. */
INLINE void LANE_NAME(join)(const float *cm, const float *cq, int64_t done, int64_t n, double *mean,
                            double *m2)
{
    double share = (double)n / (double)(done + n);

    for (int j = 0; j < WIDE; j++) {
        double delta = cm[j] - mean[j];
        mean[j] += delta * share;
        m2[j] += cq[j] + delta * delta * share * (double)done;
    }
}

TARGET static void LANE_NAME(moments)(const void *x_, int64_t pixels, double *mean, double *m2)
{
    const ELEM *x = x_;

    for (int j = 0; j < LANES; j++)
        mean[j] = m2[j] = 0;
    FOR_CHUNKS(pixels)
    {
        VEC s0 = { 0 }, s1 = { 0 }, q0 = { 0 }, q1 = { 0 };
        int64_t i;
        for (i = at; i + LANES < end; i += 2 * LANES) {
            s0 += LOAD(x + i);
            s1 += LOAD(x + i + LANES);
        }
        if (i < end)
            s0 += LOAD(x + i);
        VEC m = (s0 + s1) / (float)n;
        for (i = at; i + LANES < end; i += 2 * LANES) {
            VEC d0 = LOAD(x + i) - m, d1 = LOAD(x + i + LANES) - m;
            q0 += d0 * d0;
            q1 += d1 * d1;
        }
        if (i < end) {
            VEC d0 = LOAD(x + i) - m;
            q0 += d0 * d0;
        }
        float cm[WIDE], cq[WIDE];
        STOREF(cm, m);
        STOREF(cq, q0 + q1);
        LANE_NAME(join)(cm, cq, done, n, mean + u, m2 + u);
    }
}

TARGET static void LANE_NAME(bn_affine)(const void *x_, const void *residual_, void *y_,
                                        int64_t pixels, const dn_bn_block *bn, bool relu)
{
    const ELEM *x = x_, *residual = residual_;
    ELEM *y = y_;

    FOR_CHUNKS(pixels)
    {
        const VEC mean = LOADF(bn->mean + u), scale = LOADF(bn->scale + u);
        const VEC shift = LOADF(bn->shift + u);
        if (residual != NULL && relu) {
            for (int64_t i = at; i < end; i += LANES) {
                VEC v = (LOAD(x + i) - mean) * scale + shift + LOAD(residual + i);
                STORE(y + i, KEEP(v, v));
            }
        } else if (residual != NULL) {
            for (int64_t i = at; i < end; i += LANES)
                STORE(y + i, (LOAD(x + i) - mean) * scale + shift + LOAD(residual + i));
        } else if (relu) {
            for (int64_t i = at; i < end; i += LANES) {
                VEC v = (LOAD(x + i) - mean) * scale + shift;
                STORE(y + i, KEEP(v, v));
            }
        } else {
            for (int64_t i = at; i < end; i += LANES)
                STORE(y + i, (LOAD(x + i) - mean) * scale + shift);
        }
    }
}

TARGET static void LANE_NAME(bn_sums)(const void *dy_, const void *x_, const void *y_, void *dz_,
                                      int64_t pixels, const dn_bn_block *bn, dn_mask how,
                                      double *sum_g, double *sum_gx)
{
    const ELEM *dy = dy_, *x = x_, *y = y_;
    ELEM *dz = dz_;

    for (int j = 0; j < LANES; j++)
        sum_g[j] = sum_gx[j] = 0;
    FOR_CHUNKS(pixels)
    {
        const VEC mean = LOADF(bn->mean + u), scale = LOADF(bn->scale + u);
        const VEC shift = LOADF(bn->shift + u);
        VEC s = { 0 }, sx = { 0 };
        if (how == DN_MASK_OUTPUT) {
            for (int64_t i = at; i < end; i += LANES) {
                VEC g = LOAD(dy + i);
                g = KEEP(g, LOAD(y + i));
                STORE(dz + i, g);
                s += g;
                sx += g * (LOAD(x + i) - mean);
            }
        } else if (how == DN_MASK_INPUT) {
            for (int64_t i = at; i < end; i += LANES) {
                VEC d = LOAD(x + i) - mean, g = LOAD(dy + i);
                g = KEEP(g, d * scale + shift);
                s += g;
                sx += g * d;
            }
        } else {
            for (int64_t i = at; i < end; i += LANES) {
                VEC g = LOAD(dy + i);
                s += g;
                sx += g * (LOAD(x + i) - mean);
            }
        }
        float cs[WIDE], cx[WIDE];
        STOREF(cs, s);
        STOREF(cx, sx);
        for (int j = 0; j < WIDE; j++) {
            sum_g[u + j] += cs[j];
            sum_gx[u + j] += cx[j];
        }
    }
}

TARGET static void LANE_NAME(bn_apply)(const void *dy_, const void *x_, void *dx_, int64_t pixels,
                                       const dn_bn_block *bn, dn_mask how)
{
    const ELEM *dy = dy_, *x = x_;
    ELEM *dx = dx_;

    FOR_CHUNKS(pixels)
    {
        const VEC mean = LOADF(bn->mean + u), scale = LOADF(bn->scale + u);
        const VEC shift = LOADF(bn->shift + u);
        const VEC p = LOADF(bn->p + u), q = LOADF(bn->q + u), r = LOADF(bn->r + u);
        if (how == DN_MASK_INPUT) {
            for (int64_t i = at; i < end; i += LANES) {
                VEC d = LOAD(x + i) - mean, g = LOAD(dy + i);
                g = KEEP(g, d * scale + shift);
                STORE(dx + i, p * g + (q * d + r));
            }
        } else {
            for (int64_t i = at; i < end; i += LANES)
                STORE(dx + i, p * LOAD(dy + i) + (q * (LOAD(x + i) - mean) + r));
        }
    }
}

TARGET static void LANE_NAME(average)(const void *x_, int64_t pixels, float *y)
{
    const ELEM *x = x_;
    double sum[LANES] = { 0 };

    FOR_CHUNKS(pixels)
    {
        VEC s = { 0 };
        for (int64_t i = at; i < end; i += LANES)
            s += LOAD(x + i);
        float cs[WIDE];
        STOREF(cs, s);
        for (int j = 0; j < WIDE; j++)
            sum[u + j] += cs[j];
    }
    for (int j = 0; j < LANES; j++)
        y[j] = (float)(sum[j] / (double)pixels);
}

TARGET static void LANE_NAME(spread)(const float *dy, int64_t pixels, void *dx_)
{
    ELEM *dx = dx_;

    FOR_CHUNKS(pixels)
    {
        const VEC v = LOADF(dy + u) / (float)pixels;
        for (int64_t i = at; i < end; i += LANES)
            STORE(dx + i, v);
    }
}

TARGET static void LANE_NAME(avg_pool)(const void *x_, void *y_, const dn_pool_shape *s)
{
    const ELEM *x = x_;
    ELEM *y = y_;

    for (int64_t oh = 0; oh < s->out_h; oh++)
        for (int64_t ow = 0; ow < s->out_w; ow++) {
            pool_window w = window_at(s, oh, ow);
            for (int64_t u = 0; u < LANES; u += WIDE) {
                VEC sum = { 0 };
                for (int64_t h = w.h0; h < w.h1; h++)
                    for (int64_t i = w.w0; i < w.w1; i++)
                        sum += LOAD(x + (h * s->w + i) * LANES + u);
                STORE(y + (oh * s->out_w + ow) * LANES + u, sum / (float)w.area);
            }
        }
}

TARGET static void LANE_NAME(avg_pool_back)(const void *dy_, void *dx_, const dn_pool_shape *s)
{
    const ELEM *dy = dy_;
    ELEM *dx = dx_;

    memset(dx, 0, (size_t)(s->h * s->w) * LANES * sizeof *dx);
    for (int64_t oh = 0; oh < s->out_h; oh++)
        for (int64_t ow = 0; ow < s->out_w; ow++) {
            pool_window w = window_at(s, oh, ow);
            for (int64_t u = 0; u < LANES; u += WIDE) {
                const VEC g = LOAD(dy + (oh * s->out_w + ow) * LANES + u) / (float)w.area;
                for (int64_t h = w.h0; h < w.h1; h++)
                    for (int64_t i = w.w0; i < w.w1; i++) {
                        ELEM *to = dx + (h * s->w + i) * LANES + u;
                        STORE(to, LOAD(to) + g);
                    }
            }
        }
}

/* The first of equal values wins, a NaN wins over all; `which` gets its number in the window.
 * (Loops over the lanes: gcc 12 takes vectors apart where two comparisons are joined.) */
TARGET static void LANE_NAME(max_pool)(const void *x_, void *y_, uint8_t *which,
                                       const dn_pool_shape *s)
{
    const ELEM *x = x_;
    ELEM *y = y_;

    for (int64_t oh = 0; oh < s->out_h; oh++)
        for (int64_t ow = 0; ow < s->out_w; ow++) {
            pool_window w = window_at(s, oh, ow);
            int64_t at = (oh * s->out_w + ow) * LANES;
            float best[LANES], v[LANES];
            int32_t number[LANES] = { 0 }, k = 0;
            for (int u = 0; u < LANES; u += WIDE)
                STOREF(best + u, LOAD(x + (w.h0 * s->w + w.w0) * LANES + u));
            for (int64_t h = w.h0; h < w.h1; h++)
                for (int64_t i = w.w0; i < w.w1; i++, k++) {
                    for (int u = 0; u < LANES; u += WIDE)
                        STOREF(v + u, LOAD(x + (h * s->w + i) * LANES + u));
#pragma omp simd
                    for (int j = 0; j < LANES; j++) {
                        bool take = (v[j] > best[j]) | (v[j] != v[j]);
                        best[j] = take ? v[j] : best[j];
                        number[j] = take ? k : number[j];
                    }
                }
            for (int u = 0; u < LANES; u += WIDE)
                STORE(y + at + u, LOADF(best + u));
            for (int j = 0; which != NULL && j < LANES; j++)
                which[at + j] = (uint8_t)number[j];
        }
}

TARGET static void LANE_NAME(max_pool_back)(const void *dy_, const uint8_t *which, void *dx_,
                                            const dn_pool_shape *s)
{
    const ELEM *dy = dy_;
    ELEM *dx = dx_;

    memset(dx, 0, (size_t)(s->h * s->w) * LANES * sizeof *dx);
    for (int64_t oh = 0; oh < s->out_h; oh++)
        for (int64_t ow = 0; ow < s->out_w; ow++) {
            pool_window w = window_at(s, oh, ow);
            for (int64_t u = 0; u < LANES; u += WIDE) {
                int64_t from = (oh * s->out_w + ow) * LANES + u;
                const VEC g = LOAD(dy + from);
                const MASK number = __builtin_convertvector(*(const BYTES *)(which + from), MASK);
                MASK k = { 0 };
                for (int64_t h = w.h0; h < w.h1; h++)
                    for (int64_t i = w.w0; i < w.w1; i++, k += 1) {
                        ELEM *to = dx + (h * s->w + i) * LANES + u;
                        STORE(to, LOAD(to) + (VEC)((MASK)g & (number == k)));
                    }
            }
        }
}

static const dn_lanes LANE_NAME(table) = {
    .block = LANES,
#if LANE_BF16
    .add = NAME(add_bf16),
    .add_relu = NAME(add_relu_bf16),
    .relu = NAME(relu_bf16),
    .mask = NAME(mask_bf16),
#else
    .add = NAME(add_f32),
    .add_relu = NAME(add_relu_f32),
    .relu = NAME(relu_f32),
    .mask = NAME(mask_f32),
#endif
    .moments = LANE_NAME(moments),
    .bn_affine = LANE_NAME(bn_affine),
    .bn_sums = LANE_NAME(bn_sums),
    .bn_apply = LANE_NAME(bn_apply),
    .average = LANE_NAME(average),
    .spread = LANE_NAME(spread),
    .avg_pool = LANE_NAME(avg_pool),
    .avg_pool_back = LANE_NAME(avg_pool_back),
    .max_pool = LANE_NAME(max_pool),
    .max_pool_back = LANE_NAME(max_pool_back),
};

#undef VEC
#undef MASK
#undef BYTES
#undef LOADF
#undef STOREF
#undef LOAD
#undef STORE
#undef ELEM
#undef HALF
#undef BITS
#undef KEEP
#undef WIDE
#undef FOR_CHUNKS
#undef CHUNK_AT
#undef LANES
#undef LANE_NAME
#undef LANE_BF16
