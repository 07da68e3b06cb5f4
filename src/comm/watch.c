#include <config.h>

#include "comm/watch.h"

#include "base/clock.h"
#include "comm/comm_impl.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#define DEADLINE  300.0     /* seconds without progress; the default */
#define GRACE     2.0       /* seconds the others have to give a sign */
#define AWAY      1.0       /* seconds between two looks that mean: the caller did something else */
#define ASK_EVERY 0.25      /* seconds between two looks for those who ask */
#define SPIN      200e-6    /* seconds of looking before the first pause */
#define PAUSE     50        /* microseconds between two looks after that */
#define TAG_ALIVE (1 << 14) /* on the world: above the tags of the communicator's users */

void tc_comm_set_deadline(tc_comm *comm, double seconds)
{
    comm->world->deadline = seconds > 0.0 ? seconds : DEADLINE;
}

void tc_watch_moved(tc_watch *watch)
{
    watch->since = 0.0;
}

void tc_watch_pause(const tc_watch *watch)
{
    if (watch->since <= 0.0 || watch->looked - watch->since < SPIN)
        sched_yield();
    else
        tc_sleep_us(PAUSE);
}

/* Tell all other ranks that this one is alive and waits; also a question whether they are. */
static tc_status give_sign(tc_comm *world)
{
    MPI_Request request;

    if (world->gave_sign)
        return TC_OK;
    world->gave_sign = true;
    for (int r = 0; r < world->size; r++) {
        if (r == world->rank)
            continue;
        TC_TRY_MPI(MPI_Isend(NULL, 0, MPI_BYTE, r, TAG_ALIVE, world->mpi, &request));
        TC_TRY_MPI(MPI_Request_free(&request)); /* empty messages leave at once */
    }
    return TC_OK;
}

/* Whether this rank of the world has given a sign. */
static tc_status has_sign(tc_comm *world, int rank, int *given_p)
{
    TC_TRY_MPI(MPI_Iprobe(rank, TAG_ALIVE, world->mpi, given_p, MPI_STATUS_IGNORE));
    return TC_OK;
}

/* Name the members of comm that give no sign, in numbers of the world. */
static tc_status name_silent(tc_comm *comm, double waited, const char *what)
{
    MPI_Group group, all;
    char list[256] = "";
    int silent = 0;

    TC_TRY_MPI(MPI_Comm_group(comm->mpi, &group));
    TC_TRY_MPI(MPI_Comm_group(comm->world->mpi, &all));
    for (int r = 0; r < comm->size; r++) {
        int rank = r, given = r == comm->rank;
        size_t used = strlen(list);
        TC_TRY_MPI(MPI_Group_translate_ranks(group, 1, &r, all, &rank));
        tc_status status = given ? TC_OK : has_sign(comm->world, rank, &given);
        if (status != TC_OK)
            return status;
        silent += !given;
        if (!given && used < sizeof list - 16)
            snprintf(list + used, sizeof list - used, " %d", rank);
    }
    TC_TRY_MPI(MPI_Group_free(&group));
    TC_TRY_MPI(MPI_Group_free(&all));
    if (silent == 0)
        return tc_fail(TC_TIMEOUT,
                       "%s: nothing has moved for %.1f s, and every rank waits: they "
                       "do not wait for the same thing",
                       what, waited);
    return tc_fail(TC_TIMEOUT,
                   "%s: nothing has moved for %.1f s, and rank%s%s give%s no sign: "
                   "dead, stopped or too slow; if slow, allow more time",
                   what, waited, silent > 1 ? "s" : "", list, silent > 1 ? "" : "s");
}

/* Ask all ranks, wait for their signs, and fail. */
static tc_status give_up(tc_comm *comm, double waited, const char *what)
{
    double until = tc_now() + GRACE;
    tc_status status = give_sign(comm->world);
    int given;

    while (status == TC_OK && tc_now() < until) { /* looking lets MPI take what arrives */
        status = has_sign(comm->world, MPI_ANY_SOURCE, &given);
        tc_sleep_us(1000);
    }
    return status == TC_OK ? name_silent(comm, waited, what) : status;
}

tc_status tc_watch_idle(tc_comm *comm, tc_watch *watch, const char *what)
{
    tc_comm *world = comm->world;
    double now = tc_now(), granted = world->deadline > 0.0 ? world->deadline : DEADLINE;
    tc_status status = TC_OK;
    int asked = 0;

    if (watch->since <= 0.0 || now - watch->looked > AWAY)
        watch->since = now;
    watch->looked = now;
    if (now - watch->asked > ASK_EVERY && now - watch->since > ASK_EVERY) {
        watch->asked = now;
        status = has_sign(world, MPI_ANY_SOURCE, &asked);
        if (status == TC_OK && asked)
            status = give_sign(world);
    }
    if (status == TC_OK && now - watch->since > granted && now > world->allowed_until)
        return give_up(comm, now - watch->since, what);
    return status;
}
