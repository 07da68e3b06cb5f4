/* The end of a process: declared phases, and the meeting of all ranks before it. */
#include <config.h>

#include "comm/comm.h"

#include "base/clock.h"
#include "base/log.h"
#include "comm/comm_impl.h"

#include <stdio.h>
#include <stdlib.h>

#define DEADLINE    5.0 /* seconds the slowest rank may trail an orderly exit */
#define GRACE       1.0 /* seconds more until other ranks speak in rank 0's place */
#define TAG_HERE    1   /* "I came to the end", between rank 0 and each other rank */
#define FIRST_PAUSE 50
#define LAST_PAUSE  5000 /* microseconds between two looks at the barrier */

/*
 * A rank that waits in tc_exit() cannot ask one that is writing a checkpoint how far it is.  But
 * all ranks declare the same phases at the same points, so its own declarations tell it what the
 * slowest rank may still be doing: everything declared since the last collective that all came
 * through.
 */
void tc_comm_phase(tc_comm *comm, const char *name, double seconds)
{
    tc_comm *world = comm->world;
    double now = tc_now();

    world->phase = name;
    world->phase_seconds = seconds > 0.0 ? seconds : 0.0;
    if (world->allowed_until < now)
        world->allowed_until = now;
    world->allowed_until += world->phase_seconds;
}

void tc_comm_progressed(tc_comm *comm)
{
    if (comm == comm->world)
        comm->allowed_until = tc_now() + comm->phase_seconds;
}

/* Say why this process ends; the rank that knows the cause speaks, and rank 0 if it only heard. */
static void report(const tc_comm *comm, tc_status status)
{
    const char *text = tc_error_detail();

    if (status == TC_STOPPED)
        tc_log(TC_LOG_INFO, "exit", "%s%s%s", tc_strstatus(status), *text ? ": " : "", text);
    else if (status == TC_PEER && comm != NULL && comm->rank != 0)
        tc_log(TC_LOG_DEBUG, "exit", "%s: %s", tc_strstatus(status), text);
    else if (status != TC_OK)
        tc_log(TC_LOG_ERROR, "exit", "%s%s%s", tc_strstatus(status), *text ? ": " : "", text);
}

/* Tell rank 0, or as rank 0 everybody, that this rank is here.  Empty messages leave at once. */
static void say_here(tc_comm *comm)
{
    int first = comm->rank == 0 ? 1 : 0, last = comm->rank == 0 ? comm->size - 1 : 0;
    MPI_Request request;

    for (int r = first; r <= last; r++)
        if (MPI_Isend(NULL, 0, MPI_BYTE, r, TAG_HERE, comm->exit, &request) == MPI_SUCCESS)
            MPI_Request_free(&request);
}

static bool is_here(tc_comm *comm, int rank)
{
    int here = 0;

    MPI_Iprobe(rank, TAG_HERE, comm->exit, &here, MPI_STATUS_IGNORE);
    return here;
}

static void take_here(tc_comm *comm)
{
    int first = comm->rank == 0 ? 1 : 0, last = comm->rank == 0 ? comm->size - 1 : 0;

    for (int r = first; r <= last; r++)
        MPI_Recv(NULL, 0, MPI_BYTE, r, TAG_HERE, comm->exit, MPI_STATUS_IGNORE);
}

/* Name the ranks that did not come, as far as this rank can know. */
static void report_missing(tc_comm *comm, double waited)
{
    char list[256] = "";
    size_t used = 0;
    int missing = 0;

    for (int r = 1; comm->rank == 0 && r < comm->size; r++)
        if (!is_here(comm, r)) {
            missing++;
            if (used < sizeof list - 16)
                used += (size_t)snprintf(list + used, sizeof list - used, " %d", r);
        }
    if (comm->rank != 0)
        snprintf(list, sizeof list, "%s", is_here(comm, 0) ? " other than 0" : " 0");
    tc_log(TC_LOG_ERROR, "exit",
           "rank%s%s did not come to the end within %.1f s (last phase: %s); "
           "the job is ended",
           missing > 1 ? "s" : "", list, waited, comm->phase);
}

/* Wait for all ranks, at most until the deadline.  Sleeps in between: another rank may need the
 * core. */
static bool all_came(tc_comm *comm)
{
    double start = tc_now();
    double until = (comm->allowed_until > start ? comm->allowed_until : start) + DEADLINE;
    int64_t pause = FIRST_PAUSE;
    MPI_Request request;
    bool extended = false;
    int done = 0;

    if (comm->size == 1)
        return true;
    say_here(comm);
    if (MPI_Ibarrier(comm->exit, &request) != MPI_SUCCESS)
        return false;
    if (comm->rank != 0) /* rank 0 knows who is missing: let it speak first */
        until += GRACE;
    while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
        if (tc_now() > until && comm->rank != 0 && !extended && is_here(comm, 0)) {
            until += DEADLINE; /* rank 0 came later than this one, and its time is not over */
            extended = true;
        } else if (tc_now() > until) {
            report_missing(comm, tc_now() - start);
            return false;
        }
        tc_sleep_us(pause);
        pause = pause * 2 < LAST_PAUSE ? pause * 2 : LAST_PAUSE;
    }
    if (done)
        take_here(comm);
    return done;
}

/* Without a communicator: MPI may still have started, and then other ranks may be waiting. */
static int exit_alone(bool failed)
{
    int started = 0, ended = 0;

    MPI_Initialized(&started);
    MPI_Finalized(&ended);
    if (failed && started && !ended)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int tc_exit(tc_comm *comm, tc_status status)
{
    bool failed = status != TC_OK && status != TC_STOPPED; /* a requested stop is a good end */

    report(comm, status);
    if (comm == NULL)
        return exit_alone(failed);
    if (TC_STATUS_IS_FATAL(status) || !all_came(comm)) {
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        return EXIT_FAILURE;
    }
    tc_comm_destroy(comm);
    MPI_Finalize();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
