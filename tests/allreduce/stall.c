/* Sum again and again until rank 1 does something; run by t-stall.sh.
 * stall ALGORITHM|barrier block|poll kill|stop|doze */
#include <config.h>

#include "allreduce/allreduce.h"
#include "base/clock.h"

#include <signal.h>
#include <string.h>

enum { COUNT = 300000, STEPS = 40, LAST = 20 };
static float x[COUNT];

static void act(const char *what)
{
    if (strcmp(what, "kill") == 0)
        raise(SIGKILL);
    else if (strcmp(what, "stop") == 0)
        raise(SIGSTOP);
    else
        tc_sleep_us(2000000); /* slow, but within the deadline */
}

static tc_status sum(tc_allreduce *ctx, bool poll)
{
    int done = TC_NONE;
    tc_status status = poll ? tc_allreduce_start(ctx, 0, x) : tc_allreduce_run(ctx, 0, x);

    while (poll && status == TC_OK && done == TC_NONE) {
        status = tc_allreduce_progress(ctx, TC_POLL, NULL, &done, NULL);
        tc_sleep_us(50);
    }
    return status;
}

int main(int argc, char **argv)
{
    const int64_t count = COUNT;
    tc_allreduce *ctx = NULL;
    tc_comm *comm = NULL;
    tc_status status = tc_comm_init(&argc, &argv, &comm);

    if (status != TC_OK || argc < 4)
        return tc_exit(comm, status != TC_OK ? status : tc_fail(TC_INVAL, "three words, please"));
    bool barrier = strcmp(argv[1], "barrier") == 0;
    tc_allreduce_options options = {
        .algorithm = barrier ? "ring" : argv[1], .colors = 3, .arity = 1, .chunk = 4096
    };
    tc_comm_set_deadline(comm, 3.0);
    status = tc_allreduce_create(comm, &options, 1, &count, &ctx);
    for (int step = 0; step < STEPS && status == TC_OK; step++) {
        if (step == LAST && tc_comm_rank(comm) == 1)
            act(argv[3]);
        if (barrier)
            status = tc_comm_barrier(comm);
        else
            status = sum(ctx, strcmp(argv[2], "poll") == 0);
    }
    if (status == TC_OK) /* where it failed, MPI still holds the requests */
        tc_allreduce_destroy(ctx);
    return tc_exit(comm, status);
}
