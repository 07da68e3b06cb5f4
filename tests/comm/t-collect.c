/* Small exchanges: barrier, broadcast, maximum, gather, and the sum in rank order. */
#include <config.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "comm/comm.h"
#include "../tap-mpi.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>

/* What rank r brings to element i: of very different sizes, so that the order of a sum shows. */
static double term(int r, int64_t i)
{
    tc_rng rng = tc_rng_make(11, TC_STREAM_TEST, (uint64_t)r, (uint64_t)i);
    double x = tc_rng_normal(&rng);

    return ldexp(x, (int)tc_rng_below(&rng, 60) - 30);
}

static bool sum_is_ordered(tc_comm *comm, int64_t count)
{
    int rank = tc_comm_rank(comm), size = tc_comm_size(comm), differ = 0;
    double *x = NULL;

    if (tc_alloc(count, sizeof *x, "test", &x) != TC_OK)
        return false;
    for (int64_t i = 0; i < count; i++)
        x[i] = term(rank, i);
    tc_status status = tc_comm_sum(comm, x, count);
    for (int64_t i = 0; i < count; i++) {
        double want = term(0, i);
        for (int r = 1; r < size; r++)
            want += term(r, i);
        differ += memcmp(&want, &x[i], sizeof want) != 0;
    }
    tc_free(x);
    return status == TC_OK && differ == 0;
}

static void test_bcast(tc_comm *comm)
{
    static const size_t sizes[] = { 0, 1, 1000, 300001 };
    int root = tc_comm_size(comm) - 1;
    bool good = true;
    unsigned char *data = NULL;

    if (!tap_ok_all(tc_alloc(300001, 1, "test", &data) == TC_OK, "memory"))
        return;
    for (int s = 0; s < 4; s++) {
        for (size_t i = 0; i < sizes[s]; i++)
            data[i] = tc_comm_rank(comm) == root ? (unsigned char)(i * 7 + 3) : 0;
        good = good && tc_comm_bcast(comm, data, sizes[s], root) == TC_OK;
        for (size_t i = 0; i < sizes[s]; i++)
            good = good && data[i] == (unsigned char)(i * 7 + 3);
    }
    tap_ok_all(good, "broadcast of 0, 1, 1000 and 300001 bytes from the last rank");
    tc_free(data);
}

static void test_max_and_gather(tc_comm *comm)
{
    int rank = tc_comm_rank(comm), size = tc_comm_size(comm);
    double x[3] = { rank, -rank, 1e300 * rank };
    int32_t mine[2] = { rank, rank * rank };
    int32_t *all = NULL;
    bool good = true;

    tap_ok_all(tc_comm_max(comm, x, 3) == TC_OK && x[0] == size - 1 && x[1] == 0.0 &&
                   x[2] == 1e300 * (size - 1),
               "maximum");
    if (!tap_ok_all(tc_alloc(2 * size, sizeof *all, "test", &all) == TC_OK, "memory"))
        return;
    good = tc_comm_allgather(comm, mine, sizeof mine, all) == TC_OK;
    for (int r = 0; r < size; r++)
        good = good && all[2 * r] == r && all[2 * r + 1] == r * r;
    tap_ok_all(good, "gather in rank order");
    tap_ok_all(tc_comm_allgather(comm, mine, 0, all) == TC_OK, "gather of nothing");
    tc_free(all);
}

static double cpu_seconds(void)
{
    struct rusage use;

    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

/* Ranks that wait for a slow one leave the cores to it. */
static void test_idle(tc_comm *comm)
{
    bool slow = tc_comm_rank(comm) == 0;
    double began = tc_now(), used = cpu_seconds();

    if (slow)
        tc_sleep_us(500000);
    tc_status status = tc_comm_barrier(comm);
    used = cpu_seconds() - used;
    tap_ok_all(status == TC_OK && tc_now() - began >= 0.4, "a barrier waits for the slowest");
    tap_ok_all(used < 0.25, "and takes no core for it");
}

int main(int argc, char **argv)
{
    static const int64_t counts[] = { 0, 1, 7, 4096, 32768, 100003 };
    tc_comm *comm = NULL;
    tc_status status = tc_comm_init(&argc, &argv, &comm);

    if (status != TC_OK)
        return tc_exit(comm, status);
    tap_ok_all(tc_comm_barrier(comm) == TC_OK, "barrier");
    for (int i = 0; i < 6; i++)
        tap_ok_all(sum_is_ordered(comm, counts[i]), "sum of %lld doubles, bit by bit in rank order",
                   (long long)counts[i]);
    test_bcast(comm);
    test_max_and_gather(comm);
    test_idle(comm);
    return tap_done_all();
}
