#include <config.h>

#include "timing/timing.h"

#include "base/clock.h"
#include "base/mem.h"
#include "comm/comm_mpi.h"

#include <limits.h>

enum { BYTES = 32768, DEPTH = 16, TRIES = 3, FIRST = 64 };
#define SECONDS 0.5
#define TAG     7

/* The rank that this one exchanges with, or -1.  First ranks of hosts are paired in their order. */
static tc_status find_partner(tc_comm *comm, int *partner_p)
{
    int rank = tc_comm_rank(comm), size = tc_comm_size(comm), mine = tc_comm_local_rank(comm);
    int *local = NULL, before = 0, wanted, seen = 0;
    bool one_host = tc_comm_host_count(comm) == 1;
    tc_status status = tc_comm_agree(comm, tc_alloc(size, sizeof *local, "ranks' places", &local));

    if (status == TC_OK)
        status = tc_comm_allgather(comm, &mine, sizeof mine, local);
    if (status != TC_OK)
        return status;
    for (int r = 0; r < rank; r++)
        before += one_host || local[r] == 0;
    wanted = before ^ 1;
    *partner_p = -1;
    for (int r = 0; r < size && (one_host || mine == 0); r++)
        if ((one_host || local[r] == 0) && seen++ == wanted)
            *partner_p = r;
    tc_free(local);
    return TC_OK;
}

/* Exchange `messages` each way, DEPTH in flight. */
static tc_status exchange(MPI_Comm comm, int partner, int64_t messages, char *room)
{
    MPI_Request request[2 * DEPTH];

    for (int64_t m = 0; m < messages + DEPTH; m++) {
        int at = (int)(m % DEPTH);
        if (m >= DEPTH)
            TC_TRY_MPI(MPI_Waitall(2, request + 2 * at, MPI_STATUSES_IGNORE));
        if (m >= messages)
            continue;
        TC_TRY_MPI(MPI_Irecv(room + (int64_t)at * BYTES, BYTES, MPI_BYTE, partner, TAG, comm,
                             &request[2 * at]));
        TC_TRY_MPI(MPI_Isend(room + (int64_t)(DEPTH + at) * BYTES, BYTES, MPI_BYTE, partner, TAG,
                             comm, &request[2 * at + 1]));
    }
    return TC_OK;
}

/* Seconds of the slowest pair. */
static tc_status time_exchange(tc_comm *comm, int partner, int64_t messages, char *room,
                               double *seconds_p)
{
    tc_status status = tc_comm_barrier(comm);
    double began = tc_now();

    if (status == TC_OK && partner >= 0)
        status = exchange(tc_comm_mpi(comm), partner, messages, room);
    *seconds_p = partner >= 0 ? tc_now() - began : 0.0;
    return status == TC_OK ? tc_comm_max(comm, seconds_p, 1) : status;
}

static double middle(const double *x) /* of three */
{
    double low = x[0] < x[1] ? x[0] : x[1], high = x[0] < x[1] ? x[1] : x[0];

    return x[2] < low ? low : x[2] > high ? high : x[2];
}

tc_status tc_timing_goodput(tc_comm *comm, double *bandwidth_p)
{
    double seconds = 0.0, bandwidth[TRIES] = { 0 };
    int64_t messages = FIRST;
    char *room = NULL;
    int partner = -1;

    *bandwidth_p = 0.0;
    if (tc_comm_size(comm) == 1)
        return TC_OK;
    tc_status status =
        tc_comm_agree(comm, tc_alloc(2 * DEPTH, BYTES, "messages to measure the links", &room));
    if (status == TC_OK)
        status = find_partner(comm, &partner);
    /* Longer and longer, until it lasts: a shaped link lets a first burst pass. */
    while (status == TC_OK && messages < INT_MAX / 4) {
        status = time_exchange(comm, partner, messages, room, &seconds);
        if (seconds >= SECONDS / 2.0) /* the same on all ranks */
            break;
        messages *= seconds > SECONDS / 16.0 ? 2 : 8;
    }
    for (int i = 0; i < TRIES && status == TC_OK; i++) {
        status = time_exchange(comm, partner, messages, room, &seconds);
        bandwidth[i] = (double)messages * BYTES / seconds;
    }
    if (status == TC_OK)
        *bandwidth_p = middle(bandwidth);
    tc_free(room);
    return status;
}
