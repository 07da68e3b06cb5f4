/* Ways to come to the end, good and bad; run by t-exit.sh. */
#include <config.h>

#include "base/clock.h"
#include "comm/comm.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "good";
    tc_comm *comm = NULL;

    if (strcmp(mode, "alone") == 0)
        return tc_exit(NULL, tc_fail(TC_IO, "no MPI here"));
    tc_status status = tc_comm_init(&argc, &argv, &comm);
    if (status != TC_OK)
        return tc_exit(comm, status);
    bool odd_one = tc_comm_rank(comm) == 1;

    if (strcmp(mode, "agreed") == 0) {
        status = tc_comm_agree(comm, odd_one ? tc_fail(TC_IO, "shard 1 is gone") : TC_OK);
    } else if (strcmp(mode, "forgot") == 0) { /* a bug: rank 1 leaves without the vote */
        status = odd_one ? tc_fail(TC_IO, "left alone") : tc_comm_agree(comm, TC_OK);
    } else if (strcmp(mode, "stuck") == 0) { /* rank 1 never comes */
        while (odd_one)
            pause();
    } else if (strcmp(mode, "fatal") == 0) {
        status = tc_comm_agree(comm, odd_one ? tc_fail(TC_DEVICE, "the device is gone") : TC_OK);
    } else if (strcmp(mode, "killed") == 0) {
        if (odd_one)
            raise(SIGKILL);
        status = tc_comm_barrier(comm);
    } else if (strcmp(mode, "saves") == 0) { /* longer than the default deadline, but declared */
        tc_comm_phase(comm, "save", 20.0);
        if (odd_one)
            tc_sleep_us(7000000);
        tc_comm_phase(comm, "end", 0.0); /* not yet a sign that rank 1 has finished */
    } else if (strcmp(mode, "stopped") == 0) {
        status = tc_fail(TC_STOPPED, "signal 15 in step 3");
    } else if (strcmp(mode, "no-world") == 0) { /* as when tc_comm_init() fails on one rank */
        if (odd_one)
            return tc_exit(NULL, tc_fail(TC_NOMEM, "communicator"));
        status = tc_comm_barrier(comm);
    } else if (strcmp(mode, "good") != 0) {
        status = tc_fail(TC_INVAL, "unknown mode %s", mode);
    }
    return tc_exit(comm, status);
}
