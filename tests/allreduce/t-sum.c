/* The sum kernels: every variant of this processor against plain C, plain C against arithmetic in
 * double. */
#include <config.h>

#include "allreduce/sum.h"
#include "base/rng.h"

#include "../tap.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A narrow type by its numbers; its values are (-1)^s * 2^(e - bias) * (1 + m / 2^mantissa). */
typedef struct {
    const char *name;
    int mantissa, bias; /* bits, exponent's */
} narrow_type;

static const narrow_type bf16 = { "bf16", 7, 127 }, f16 = { "f16", 10, 15 };

static uint32_t bits(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

static float from_bits(uint32_t u)
{
    float x;

    memcpy(&x, &u, sizeof x);
    return x;
}

/* The value of a narrow number, by its definition. */
static double value(const narrow_type *t, uint16_t h)
{
    int exponents = 1 << (15 - t->mantissa), e = h >> t->mantissa & (exponents - 1);
    double m = h & ((1 << t->mantissa) - 1), sign = h & 0x8000 ? -1.0 : 1.0;

    if (e == exponents - 1)
        return m > 0 ? (double)NAN : sign * (double)INFINITY;
    if (e == 0)
        return sign * ldexp(m, 1 - t->bias - t->mantissa);
    return sign * ldexp(m + (1 << t->mantissa), e - t->bias - t->mantissa);
}

/* The narrow number nearest to x, ties to even: by bisection over the positive numbers, whose bit
 * patterns are in the order of their values. */
static uint16_t nearest(const narrow_type *t, float x)
{
    uint16_t sign = bits(x) >> 16 & 0x8000;
    uint16_t infinity = (uint16_t)(((1 << (15 - t->mantissa)) - 1) << t->mantissa);
    uint16_t low = 0, high = infinity;
    double size = fabs((double)x), below, above;

    if (size == (double)INFINITY)
        return sign | infinity;
    while (high - low > 1) {
        uint16_t middle = (uint16_t)((low + high) / 2);
        if (value(t, middle) <= size)
            low = middle;
        else
            high = middle;
    }
    below = value(t, low);
    /* Infinity stands for the number that would come next. */
    above = high < infinity ? value(t, high) : 2 * below - value(t, (uint16_t)(low - 1));
    if (size - below == above - size)
        return sign | (low & 1 ? high : low);
    return sign | (size - below < above - size ? low : high);
}

static void narrow(const tc_sum_kernels *k, const narrow_type *t, uint16_t *to, const float *from,
                   int64_t n)
{
    (t == &f16 ? k->to_f16 : k->to_bf16)(to, from, n);
}

static void widen(const tc_sum_kernels *k, const narrow_type *t, float *to, const uint16_t *from,
                  int64_t n)
{
    (t == &f16 ? k->from_f16 : k->from_bf16)(to, from, n);
}

/* All 65,536 narrow numbers become wide, exactly; sums take the same values. */
static void test_widen(const tc_sum_kernels *k, const narrow_type *t)
{
    enum { ALL = 1 << 16 };
    uint16_t *h = malloc(ALL * sizeof *h);
    float *x = malloc(ALL * sizeof *x), *sum = malloc(ALL * sizeof *sum);
    int wrong = 0, wrong_sums = 0;

    for (int i = 0; i < ALL; i++) {
        h[i] = (uint16_t)i;
        sum[i] = -0.0f; /* leaves every value as it is */
    }
    widen(k, t, x, h, ALL);
    (t == &f16 ? k->sum_f16 : k->sum_bf16)(sum, h, ALL);
    for (int i = 0; i < ALL; i++) {
        double want = value(t, h[i]);
        if (isnan(want)) { /* quiet, with sign and payload in place */
            uint32_t wide = (uint32_t)(h[i] & 0x8000) << 16 | 0x7f800000 |
                            (uint32_t)(h[i] & ((1 << t->mantissa) - 1)) << (23 - t->mantissa);
            wrong += !isnan(x[i]) || (bits(x[i]) | 0x400000) != (wide | 0x400000);
            wrong_sums += !isnan(sum[i]);
        } else {
            wrong += bits(x[i]) != bits((float)want);
            wrong_sums += bits(sum[i]) != bits((float)want);
        }
    }
    tap_ok(wrong == 0, "%s: all %s numbers widen exactly", k->name, t->name);
    tap_ok(wrong_sums == 0, "%s: and are added as such", k->name);
    free(h);
    free(x);
    free(sum);
}

static int wrong_at(const tc_sum_kernels *k, const narrow_type *t, float x)
{
    uint16_t got;

    narrow(k, t, &got, &x, 1);
    return got != nearest(t, x);
}

/* Every narrow number, every middle between two, and their neighbours on both sides. */
static void test_round(const tc_sum_kernels *k, const narrow_type *t)
{
    int wrong = 0;
    uint16_t infinity = (uint16_t)(((1 << (15 - t->mantissa)) - 1) << t->mantissa);

    for (uint16_t h = 0; h < infinity; h++) {
        double low = value(t, h);
        double high =
            h + 1 < infinity ? value(t, (uint16_t)(h + 1)) : 2 * low - value(t, (uint16_t)(h - 1));
        float points[2] = { (float)low, (float)((low + high) / 2) };
        for (int p = 0; p < 2; p++)
            for (int side = -1; side <= 1; side++) {
                float x = side == 0 ? points[p] : nextafterf(points[p], side * INFINITY);
                wrong += wrong_at(k, t, x) + wrong_at(k, t, -x);
            }
    }
    wrong += wrong_at(k, t, INFINITY) + wrong_at(k, t, -INFINITY);
    wrong += wrong_at(k, t, from_bits(0x7f7fffff)) + wrong_at(k, t, from_bits(1));
    tap_ok(wrong == 0, "%s: %s rounds to nearest even everywhere", k->name, t->name);

    wrong = 0;
    for (uint32_t m = 1; m < 0x800000; m = m * 3 + 1)
        for (uint32_t sign = 0; sign < 2; sign++) {
            float x = from_bits(sign << 31 | 0x7f800000 | m);
            uint16_t got;
            narrow(k, t, &got, &x, 1);
            wrong += !isnan(value(t, got)) || got >> 15 != sign || !(got >> (t->mantissa - 1) & 1);
        }
    tap_ok(wrong == 0, "%s: %s keeps a NaN, quiet", k->name, t->name);
}

enum { MOST = 200, ROOM = MOST + 16 };

/* Numbers of all sizes, with denormals, infinities and zeros of both signs; no NaN, so that sums
 * have one right answer.  (Infinities of both signs would make one.) */
static float odd_number(tc_rng *rng)
{
    uint32_t u = tc_rng_u32(rng);

    switch (tc_rng_below(rng, 8)) {
    case 0:
        return from_bits(u & 0x807fffff); /* denormal */
    case 1:
        return from_bits(u & 0x80000000);
    case 2:
        return INFINITY;
    case 3:
        return (float)(int)(u % 4001) - 2000.0f;
    default:
        u = (u & 0x807fffff) | (uint32_t)(127 - 40 + tc_rng_below(rng, 80)) << 23;
        return from_bits(u);
    }
}

/* One function of both variants on the same data must leave the same bytes, also around it. */
static int same_as_plain(const tc_sum_kernels *k, const tc_sum_kernels *plain, int64_t n, int shift,
                         tc_rng *rng)
{
    float wide[ROOM], a[ROOM], b[ROOM];
    uint16_t half[ROOM], ha[ROOM], hb[ROOM], both[2][ROOM];
    int wrong = 0;

    for (int i = 0; i < ROOM; i++) {
        wide[i] = odd_number(rng);
        a[i] = b[i] = odd_number(rng);
        ha[i] = hb[i] = (uint16_t)tc_rng_u32(rng);
        float x = odd_number(rng);
        plain->to_f16(&both[0][i], &x, 1);
        plain->to_bf16(&both[1][i], &x, 1);
    }
    k->sum_f32(a + shift, wide + 1, n);
    plain->sum_f32(b + shift, wide + 1, n);
    k->sum_f16(a + 1, both[0] + shift, n);
    plain->sum_f16(b + 1, both[0] + shift, n);
    k->sum_bf16(a + shift, both[1] + shift, n);
    plain->sum_bf16(b + shift, both[1] + shift, n);
    wrong += memcmp(a, b, sizeof a) != 0;
    memcpy(half, ha, sizeof half);
    k->from_f16(a + shift, half + 1, n);
    plain->from_f16(b + shift, half + 1, n);
    wrong += memcmp(a, b, sizeof a) != 0;
    k->from_bf16(a + 2, half + shift, n);
    plain->from_bf16(b + 2, half + shift, n);
    wrong += memcmp(a, b, sizeof a) != 0;
    for (int i = 0; i < ROOM; i++) /* any bits at all, NaNs too */
        wide[i] = from_bits(tc_rng_u32(rng));
    k->to_f16(ha + shift, wide + 1, n);
    plain->to_f16(hb + shift, wide + 1, n);
    wrong += memcmp(ha, hb, sizeof ha) != 0;
    k->to_bf16(ha + 1, wide + shift, n);
    plain->to_bf16(hb + 1, wide + shift, n);
    wrong += memcmp(ha, hb, sizeof ha) != 0;
    return wrong;
}

static void test_variant(const tc_sum_kernels *k, const tc_sum_kernels *plain)
{
    tc_rng rng = tc_rng_make(4, TC_STREAM_TEST, 0, 0);
    int wrong = 0;

    for (int64_t n = 0; n <= MOST; n++)
        for (int shift = 0; shift < 5; shift++)
            wrong += same_as_plain(k, plain, n, shift, &rng);
    tap_ok(wrong == 0, "%s: the bits of plain C at every length and alignment, nothing beyond",
           k->name);
}

/* Plain C's sum is the processor's own addition. */
static void test_plain_sum(const tc_sum_kernels *plain)
{
    tc_rng rng = tc_rng_make(5, TC_STREAM_TEST, 0, 0);
    float x[MOST], y[MOST], z[MOST];
    int wrong = 0;

    for (int i = 0; i < MOST; i++) {
        x[i] = z[i] = odd_number(&rng);
        y[i] = odd_number(&rng);
    }
    x[7] = z[7] = INFINITY;
    y[7] = -INFINITY;
    x[8] = z[8] = NAN;
    plain->sum_f32(z, y, MOST);
    for (int i = 0; i < MOST; i++) {
        volatile float want = x[i] + y[i];
        wrong += i == 7 || i == 8 ? !isnan(z[i]) : bits(want) != bits(z[i]);
    }
    tap_ok(wrong == 0, "plain: the sums are right, NaN where there is no number");
    tc_sum_f32(x, y, MOST);
    wrong = 0;
    for (int i = 0; i < MOST; i++)
        wrong += i == 7 || i == 8 ? !isnan(x[i]) : bits(x[i]) != bits(z[i]);
    tap_ok(wrong == 0, "tc_sum_f32 gives the same");
}

int main(void)
{
    const tc_sum_kernels *plain = NULL;
    int variants = 0;

    for (; tc_sum_kernels_at(variants) != NULL; variants++)
        plain = tc_sum_kernels_at(variants);
    tap_ok(plain && strcmp(plain->name, "plain") == 0, "%d variants here, plain C the last",
           variants);
    tap_ok(tc_sum_kernels_best() == tc_sum_kernels_at(0) && tc_sum_kernels_at(-1) == NULL,
           "the best is %s", tc_sum_kernels_best()->name);
    test_plain_sum(plain);
    for (int i = 0; i < variants; i++) {
        const tc_sum_kernels *k = tc_sum_kernels_at(i);
        test_widen(k, &bf16);
        test_widen(k, &f16);
        test_round(k, &bf16);
        test_round(k, &f16);
        if (k != plain)
            test_variant(k, plain);
    }
    return tap_done();
}
