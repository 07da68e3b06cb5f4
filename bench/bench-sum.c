/*
 * Do the sum kernels run at the speed of memory?
 *
 * bench-sum [BYTES…]   default 65536 1048576 67108864 (in the second level, the third, in memory).
 *
 * Every variant of this processor is compared with plain C; a wrong one gets no time.  Variants and
 * memcpy take turns.  A rate is bytes moved: memcpy and the conversions read one vector and write
 * one, a sum reads two and writes one.  `ratio` is the rate over memcpy's in the same run.
 */
#include <config.h>

#include "allreduce/sum.h"
#include "base/clock.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 2, TURNS = 15, MOST_VARIANTS = 8 };
typedef enum { COPY, SUM_F32, SUM_BF16, SUM_F16, TO_BF16, TO_F16, KINDS } kind;

static const struct {
    const char *name;
    int bytes; /* moved, an element */
} kinds[KINDS] = {
    { "memcpy", 8 },   { "sum_f32", 12 }, { "sum_bf16", 10 },
    { "sum_f16", 10 }, { "to_bf16", 6 },  { "to_f16", 6 },
};

typedef struct {
    float *dst, *src;
    uint16_t *narrow;
    int64_t n;
} vectors;

static void work(const tc_sum_kernels *k, kind what, const vectors *v)
{
    switch (what) {
    case COPY:
        memcpy(v->dst, v->src, (size_t)v->n * sizeof *v->dst);
        break;
    case SUM_F32:
        k->sum_f32(v->dst, v->src, v->n);
        break;
    case SUM_BF16:
        k->sum_bf16(v->dst, v->narrow, v->n);
        break;
    case SUM_F16:
        k->sum_f16(v->dst, v->narrow, v->n);
        break;
    case TO_BF16:
        k->to_bf16(v->narrow, v->src, v->n);
        break;
    default:
        k->to_f16(v->narrow, v->src, v->n);
    }
}

static void fill(vectors *v)
{
    for (int64_t i = 0; i < v->n; i++) {
        v->dst[i] = (float)(i % 1999) / 1024.0f;
        v->src[i] = (float)(i % 2003) / 4096.0f;
        v->narrow[i] = (uint16_t)(i % 0x7c00);
    }
}

static uint64_t hash(const void *data, size_t bytes, uint64_t from)
{
    for (size_t i = 0; i < bytes; i++)
        from = (from ^ ((const uint8_t *)data)[i]) * UINT64_C(1099511628211);
    return from;
}

/* What a variant makes of the vectors, as one number. */
static uint64_t outcome(const tc_sum_kernels *k, kind what, vectors *v)
{
    fill(v);
    work(k, what, v);
    return hash(v->narrow, (size_t)v->n * 2, hash(v->dst, (size_t)v->n * 4, 14695981039346656037u));
}

static double seconds_of(const tc_sum_kernels *k, kind what, const vectors *v)
{
    int64_t calls = 1 + (INT64_C(1) << 22) / v->n;
    double began = tc_now();

    for (int64_t i = 0; i < calls; i++)
        work(k, what, v);
    return (tc_now() - began) / (double)calls;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x)
{
    qsort(x + WARM_UP, TURNS, sizeof *x, by_size);
    return x[WARM_UP + TURNS / 2];
}

static void bench(vectors *v)
{
    static double seconds[MOST_VARIANTS][KINDS][WARM_UP + TURNS];
    const tc_sum_kernels *variant[MOST_VARIANTS] = { NULL }, *plain = NULL;
    double copied = 0.0;
    int variants = 0;

    while (variants < MOST_VARIANTS && (variant[variants] = tc_sum_kernels_at(variants)) != NULL)
        plain = variant[variants++];
    fill(v);
    for (int turn = 0; turn < WARM_UP + TURNS; turn++)
        for (int i = 0; i < variants; i++)
            for (kind what = 0; what < KINDS; what++)
                seconds[i][what][turn] = seconds_of(variant[i], what, v);
    for (int i = 0; i < variants; i++)
        for (kind what = 0; what < KINDS; what++) {
            double rate = kinds[what].bytes * (double)v->n / median(seconds[i][what]) * 1e-9;
            bool wrong = outcome(variant[i], what, v) != outcome(plain, what, v);
            if (what == COPY)
                copied = rate;
            printf("%10lld %8s %9s", (long long)v->n * 4, variant[i]->name, kinds[what].name);
            if (wrong)
                printf(" %8s %8s %8d\n", "-", "-", 1);
            else
                printf(" %8.2f %8.2f %8d\n", rate, rate / copied, 0);
        }
}

int main(int argc, char **argv)
{
    static const int64_t usual[] = { 65536, 1048576, 67108864 };
    int sizes = argc > 1 ? argc - 1 : 3;

    printf("# bench-sum, tricolor %s: median of %d turns\n#%9s %8s %9s %8s %8s %8s\n",
           PACKAGE_VERSION, TURNS, "bytes", "variant", "kernel", "GB/s", "ratio", "wrong");
    for (int s = 0; s < sizes; s++) {
        int64_t bytes = argc > 1 ? strtoll(argv[1 + s], NULL, 10) : usual[s];
        vectors v = { .n = bytes / (int64_t)sizeof(float) };
        if (v.n < 1) {
            fprintf(stderr, "bench-sum: %s: give sizes of at least 4 bytes\n", argv[1 + s]);
            return 2;
        }
        if (tc_alloc(v.n, sizeof *v.dst, "vector", &v.dst) != TC_OK ||
            tc_alloc(v.n, sizeof *v.src, "vector", &v.src) != TC_OK ||
            tc_alloc(v.n, sizeof *v.narrow, "vector", &v.narrow) != TC_OK) {
            fprintf(stderr, "bench-sum: %s\n", tc_error_detail());
            return 1;
        }
        bench(&v);
        tc_free(v.dst);
        tc_free(v.src);
        tc_free(v.narrow);
    }
    return 0;
}
