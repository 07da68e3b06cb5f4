#include <config.h>

#include "timing/timing.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static tc_timing summary(double *seconds, int n)
{
    qsort(seconds, (size_t)n, sizeof *seconds, by_size);
    return (tc_timing){ .median =
                            n % 2 ? seconds[n / 2] : (seconds[n / 2 - 1] + seconds[n / 2]) / 2.0,
                        .least = seconds[0],
                        .most = seconds[n - 1] };
}

tc_status tc_timing_turns(tc_comm *comm, int n, int warm_up, int rounds, tc_timing_run *run,
                          void *arg, tc_timing *timing)
{
    double *seconds = NULL; /* (n, rounds) */
    tc_status status =
        tc_comm_agree(comm, tc_alloc((int64_t)n * rounds, sizeof *seconds, "times", &seconds));

    if (status != TC_OK)
        return status;
    for (int round = -warm_up; round < rounds; round++)
        for (int turn = 0; turn < n && status == TC_OK; turn++) {
            int i = (turn + warm_up + round) % n;
            status = tc_comm_barrier(comm);
            double began = tc_now();
            if (status == TC_OK)
                status = run(arg, i);
            if (round >= 0)
                seconds[(int64_t)i * rounds + round] = tc_now() - began;
        }
    if (status == TC_OK)
        status = tc_comm_max(comm, seconds, (int64_t)n * rounds);
    for (int i = 0; i < n && status == TC_OK; i++)
        timing[i] = summary(seconds + (int64_t)i * rounds, rounds);
    tc_free(seconds);
    return status;
}
