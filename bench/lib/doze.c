/*
 * For LD_PRELOAD: a rank that waits leaves the processor to the others, and a job under MPICH ends.
 *
 * MPI libraries poll, and give way by sched_yield() when asked to; on a host with fewer cores than
 * ranks that takes what the kernel's network code needs, and hides how busy the processor is.  Here
 * sched_yield() sleeps TC_DOZE_US microseconds (default 50, 0: it yields; the kernel's timer slack
 * is set to 1).
 * Used by: bench/netns, equally for all that it measures.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec doze = { 0, 50000 };

__attribute__((constructor)) static void read_environment(void)
{
    const char *us = getenv("TC_DOZE_US");

    if (us != NULL && atol(us) >= 0 && atol(us) < 1000000)
        doze.tv_nsec = atol(us) * 1000;
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
}

int sched_yield(void)
{
    return doze.tv_nsec > 0 ? nanosleep(&doze, NULL) : (int)syscall(SYS_sched_yield);
}

/*
 * MPI_Finalize of MPICH 4.0 closes its connections one after the other and then waits for the other
 * ranks' process manager, without looking at the network any more.  To close one, UCX 1.13 asks the
 * other end whether all has arrived (a PUT request of 25 bytes, also where UCX_TCP_PUT_ENABLE=n):
 * who is in that barrier already never answers, and the job hangs, in half of all runs on 2 hosts.
 * A job of ours has come through a barrier by then, so that all has arrived: nothing need be asked.
 */
void *ucp_disconnect_nb(void *endpoint);
void *ucp_disconnect_nb(void *endpoint)
{
    (void)endpoint;
    return NULL; /* it is closed */
}
