/*
 * For LD_PRELOAD: a rank that waits leaves the processor to the others.
 *
 * MPI libraries poll, and give way by sched_yield() when asked to; on a host with fewer cores than
 * ranks that takes what the kernel's network code needs, and hides how busy the processor is.  Here
 * sched_yield() sleeps TC_DOZE_US microseconds (default 50; the kernel's timer slack is set to 1).
 * Used by: bench/netns, equally for all that it measures.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

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
    return nanosleep(&doze, NULL);
}
