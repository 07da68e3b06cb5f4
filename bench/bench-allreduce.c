/*
 * How does the multi-color allreduce compare with MPI_Allreduce on these ranks?
 *
 * bench-allreduce [BYTES…]   under mpirun; default 65536 1048576 8388608.
 *
 * Every candidate is verified against the exact sum first; a wrong one is not timed.  The
 * candidates take turns, iteration by iteration, so that what else runs on the machine hits all of
 * them.
 */
#include <config.h>

#include "allreduce/allreduce.h"
#include "base/clock.h"
#include "base/mem.h"
#include "comm/comm.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef TC_COMMIT
#define TC_COMMIT "unknown"
#endif

enum { WARM_UP = 5, ITERATIONS = 41 };

static const tc_allreduce_options candidates[] = {
    { .algorithm = "mpi" },
    { .algorithm = "multicolor", .arity = -1 }, /* the defaults */
    { .algorithm = "multicolor", .colors = 4, .arity = 2 },
    { .algorithm = "multicolor", .colors = 4, .arity = 4, .chunk = 65536, .window = 4 },
    { .algorithm = "multicolor", .colors = 4, .arity = 4, .chunk = 262144, .window = 4 },
    { .algorithm = "multicolor", .colors = INT_MAX, .chunk = 1048576, .window = 4 },
    { .algorithm = "ring" },
    { .algorithm = "rabenseifner" },
    { .algorithm = "doubling" },
};
enum { N_CANDIDATES = sizeof candidates / sizeof candidates[0] };

typedef struct {
    tc_allreduce *ctx;
    bool twin;     /* on so few ranks the same as an earlier candidate: left out */
    int64_t wrong; /* elements that are not the exact sum */
    double seconds[WARM_UP + ITERATIONS]; /* of this rank, later of the slowest */
} result;

static float whole(int rank, int64_t i)
{
    return (float)((i * 31 + rank * 17) % 2001 - 1000);
}

static tc_status verify(tc_comm *comm, result *r, float *x, int64_t count)
{
    double wrong = 0.0;

    for (int64_t i = 0; i < count; i++)
        x[i] = whole(tc_comm_rank(comm), i);
    tc_status status = tc_allreduce_run(r->ctx, 0, x);
    for (int64_t i = 0; status == TC_OK && i < count; i++) {
        float want = 0.0f;
        for (int rank = 0; rank < tc_comm_size(comm); rank++)
            want += whole(rank, i);
        wrong += want != x[i];
    }
    if (status == TC_OK)
        status = tc_comm_sum(comm, &wrong, 1);
    r->wrong = (int64_t)wrong;
    memset(x, 0, (size_t)count * sizeof *x); /* zeros stay zeros, however often they are summed */
    return status;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median over the iterations, warm-up left out, of the slowest rank. */
static tc_status median_of_slowest(tc_comm *comm, result *r, double *median_p)
{
    tc_status status = tc_comm_max(comm, r->seconds, WARM_UP + ITERATIONS);

    qsort(r->seconds + WARM_UP, ITERATIONS, sizeof *r->seconds, by_size);
    *median_p = r->seconds[WARM_UP + ITERATIONS / 2];
    return status;
}

static tc_status time_all(tc_comm *comm, result *results, float *x)
{
    tc_status status = TC_OK;

    for (int i = 0; i < WARM_UP + ITERATIONS; i++)
        for (int c = 0; c < N_CANDIDATES && status == TC_OK; c++) {
            if (results[c].wrong > 0 || results[c].twin)
                continue;
            status = tc_comm_barrier(comm);
            double began = tc_now();
            if (status == TC_OK)
                status = tc_allreduce_run(results[c].ctx, 0, x);
            results[c].seconds[i] = tc_now() - began;
        }
    return status;
}

static void print_row(tc_comm *comm, const result *r, int64_t count, double median, double mpi)
{
    double n = tc_comm_size(comm), bytes = (double)count * sizeof(float);
    double algbw = bytes / median * 1e-9;

    if (tc_comm_rank(comm) != 0)
        return;
    printf("%10lld %10lld", (long long)(count * (int64_t)sizeof(float)), (long long)count);
    if (r->wrong > 0)
        printf(" %10s %10s %10s %8lld %8s", "-", "-", "-", (long long)r->wrong, "-");
    else
        printf(" %10.1f %10.3f %10.3f %8d %8.2f", median * 1e6, algbw, algbw * 2 * (n - 1) / n, 0,
               mpi / median);
    printf("  %s\n", tc_allreduce_choices(r->ctx));
    fflush(stdout);
}

static bool same_choices(const tc_allreduce *a, const tc_allreduce *b)
{
    return strcmp(tc_allreduce_choices(a), tc_allreduce_choices(b)) == 0;
}

static tc_status bench(tc_comm *comm, int64_t count)
{
    result results[N_CANDIDATES] = { { 0 } };
    float *x = NULL;
    double median = 0.0, mpi = 0.0;
    tc_status status = tc_comm_agree(comm, tc_alloc(count, sizeof *x, "vector", &x));

    for (int c = 0; c < N_CANDIDATES && status == TC_OK; c++) {
        status = tc_allreduce_create(comm, &candidates[c], 1, &count, &results[c].ctx);
        for (int e = 0; e < c && status == TC_OK; e++)
            results[c].twin = results[c].twin || same_choices(results[e].ctx, results[c].ctx);
        if (status == TC_OK && !results[c].twin)
            status = verify(comm, &results[c], x, count);
    }
    if (status == TC_OK)
        status = time_all(comm, results, x);
    for (int c = 0; c < N_CANDIDATES && status == TC_OK; c++) {
        if (results[c].twin)
            continue;
        status = median_of_slowest(comm, &results[c], &median);
        if (c == 0)
            mpi = median;
        if (status == TC_OK)
            print_row(comm, &results[c], count, median, mpi);
    }
    for (int c = 0; c < N_CANDIDATES; c++)
        tc_allreduce_destroy(results[c].ctx);
    tc_free(x);
    return status;
}

int main(int argc, char **argv)
{
    static const int64_t usual[] = { 65536, 1048576, 8388608 };
    tc_comm *comm = NULL;
    tc_status status = tc_comm_init(&argc, &argv, &comm);

    if (status != TC_OK)
        return tc_exit(comm, status);
    if (tc_comm_rank(comm) == 0)
        printf(
            "# bench-allreduce, tricolor %s, commit %s\n"
            "# %d ranks on %d hosts; %d warm-ups, %d iterations, in turns; a barrier before each; "
            "median of the slowest rank\n"
            "#%9s %10s %10s %10s %10s %8s %8s  %s\n",
            PACKAGE_VERSION, TC_COMMIT, tc_comm_size(comm), tc_comm_host_count(comm), WARM_UP,
            ITERATIONS, "bytes", "count", "time_us", "algbw_GBs", "busbw_GBs", "wrong", "mpi/time",
            "algorithm");
    int n = argc > 1 ? argc - 1 : 3;
    for (int i = 0; i < n && status == TC_OK; i++) {
        int64_t bytes = argc > 1 ? strtoll(argv[1 + i], NULL, 10) : usual[i];
        if (bytes < (int64_t)sizeof(float))
            status = tc_fail(TC_INVAL, "%s: give sizes of at least 4 bytes", argv[1 + i]);
        else
            status = bench(comm, bytes / (int64_t)sizeof(float));
    }
    return tc_exit(comm, status);
}
