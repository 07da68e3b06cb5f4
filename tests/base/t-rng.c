/* The generator's known answers, and that permutations are bijections with exact inverses. */
#include <config.h>

#include "base/rng.h"

#include "../tap.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Random123's kat_vectors for philox4x32-10. */
static void known_answers(void)
{
    static const struct {
        uint32_t ctr[4], key[2], out[4];
    } kat[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff }, { 0xffffffff, 0xffffffff },
          { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 }, { 0xa4093822, 0x299f31d0 },
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    uint32_t out[4];

    for (size_t i = 0; i < sizeof kat / sizeof kat[0]; i++) {
        tc_philox(kat[i].key, kat[i].ctr, out);
        tap_ok(memcmp(out, kat[i].out, sizeof out) == 0, "philox4x32-10 known answer %zu", i);
    }
}

static void permutations(void)
{
    static const int64_t counts[] = { 0, 1, 2, 3, 4, 5, 63, 64, 65, 1000, 65537 };

    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        int64_t n = counts[c], bad = 0;
        char *seen = calloc((size_t)n + 1, 1);
        tc_permutation p = tc_permutation_make(42, TC_STREAM_ORDER, 7, n);
        for (int64_t i = 0; i < n; i++) {
            int64_t item = tc_permutation_at(&p, i);
            bad += item < 0 || item >= n || seen[item]++ || tc_permutation_find(&p, item) != i;
        }
        free(seen);
        tap_ok(bad == 0, "a bijection with its inverse on %lld items", (long long)n);
    }
    int64_t n = 1000, same = 0;
    tc_permutation a = tc_permutation_make(42, TC_STREAM_ORDER, 7, n);
    tc_permutation b = tc_permutation_make(42, TC_STREAM_ORDER, 8, n);
    for (int64_t i = 0; i < n; i++)
        same += tc_permutation_at(&a, i) == tc_permutation_at(&b, i);
    tap_ok(same < 10, "two epochs agree at %lld of 1000 positions (1 expected)", (long long)same);
    /* The mean displacement of a random permutation is n/3: neighbours must not stay neighbours. */
    double moved = 0.0, expected = (double)n / 3.0;
    for (int64_t i = 0; i < n; i++)
        moved += fabs((double)(tc_permutation_at(&a, i) - i)) / (double)n;
    tap_ok(fabs(moved - expected) < 30.0, "mean displacement %.0f, expected %.0f", moved, expected);
}

static void distributions(void)
{
    tc_rng rng = tc_rng_make(1, TC_STREAM_TEST, 2, 3);
    double sum = 0.0, square = 0.0, low = 1.0, high = 0.0;
    int64_t n = 100000, hist[7] = { 0 }, worst = 0;

    for (int64_t i = 0; i < n; i++) {
        double x = tc_rng_normal(&rng), u = tc_rng_uniform(&rng);
        sum += x;
        square += x * x;
        low = u < low ? u : low;
        high = u > high ? u : high;
        hist[tc_rng_below(&rng, 7)]++;
    }
    for (int i = 0; i < 7; i++)
        worst = llabs(hist[i] - n / 7) > worst ? llabs(hist[i] - n / 7) : worst;
    tap_ok(fabs(sum / (double)n) < 0.015, "normal: mean %.4f", sum / (double)n);
    tap_ok(fabs(square / (double)n - 1.0) < 0.02, "normal: variance %.4f", square / (double)n);
    tap_ok(low >= 0.0 && low < 1e-3 && high < 1.0 && high > 0.999, "uniform fills [0,1)");
    tap_ok(worst < 500, "below(7) is even: worst deviation %lld of %lld", (long long)worst,
           (long long)(n / 7));
    tc_rng x = tc_rng_make(1, TC_STREAM_TEST, 2, 3), y = tc_rng_make(1, TC_STREAM_TEST, 3, 2);
    tap_ok(tc_rng_u32(&x) != tc_rng_u32(&y), "id and sub are told apart");
}

int main(void)
{
    known_answers();
    permutations();
    distributions();
    return tap_done();
}
