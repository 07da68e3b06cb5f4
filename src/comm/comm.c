#include <config.h>

#include "comm/comm.h"

#include "base/log.h"
#include "base/mem.h"
#include "comm/comm_impl.h"
#include "comm/watch.h"

#include <string.h>

#define MPI_PIECE (INT64_C(1) << 30) /* elements of one MPI call, far below its int */
#define SUM_PIECE (INT64_C(1) << 15) /* doubles that tc_comm_sum() gathers at a time */

tc_status tc_mpi_fail(int rc, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    if (MPI_Error_string(rc, text, &length) != MPI_SUCCESS)
        length = 0;
    return tc_fail(TC_MPI, "%s: %.*s", call, length, text);
}

/*
 * Wait for a collective without keeping a core busy: where ranks or devices share cores, MPI's own
 * blocking calls take them from those that the waiting is for.
 */
static tc_status wait_idle(tc_comm *comm, MPI_Request *request, const char *what)
{
#ifdef SMPI_H /* a simulated wait takes no core */
    (void)comm, (void)what;
    TC_TRY_MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
    return TC_OK;
#else
    tc_watch watch = { 0 };
    int done = 0;

    for (;;) {
        TC_TRY_MPI(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done)
            return TC_OK;
        tc_status status = tc_watch_idle(comm, &watch, what);
        if (status != TC_OK)
            return status;
        tc_watch_pause(&watch);
    }
#endif
}

/* For a call that starts a collective over comm and sets `request`. */
#define TC_TRY_COLLECTIVE(comm, call)                              \
    do {                                                           \
        MPI_Request request;                                       \
        TC_TRY_MPI(call);                                          \
        tc_status waited_ = wait_idle((comm), &request, __func__); \
        if (waited_ != TC_OK)                                      \
            return waited_;                                        \
    } while (0)

/* Fill in the places of the ranks on their hosts.  Collective over comm. */
static tc_status find_hosts(tc_comm *comm)
{
    MPI_Comm local;
    int length = 0, first;

    TC_TRY_MPI(MPI_Get_processor_name(comm->host, &length));
    comm->host[length] = '\0';
#if MPI_VERSION >= 3 || defined MPI_COMM_TYPE_SHARED /* an enumerator in Open MPI */
    TC_TRY_MPI(
        MPI_Comm_split_type(comm->mpi, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL, &local));
#else /* every rank counts as a host of its own */
    TC_TRY_MPI(MPI_Comm_split(comm->mpi, comm->rank, 0, &local));
#endif
    TC_TRY_MPI(MPI_Comm_rank(local, &comm->local_rank));
    TC_TRY_MPI(MPI_Comm_size(local, &comm->local_size));
    comm->node = comm->rank;
    TC_TRY_MPI(MPI_Bcast(&comm->node, 1, MPI_INT, 0, local));
    TC_TRY_MPI(MPI_Comm_free(&local));
    first = comm->local_rank == 0;
    TC_TRY_MPI(MPI_Allreduce(&first, &comm->host_count, 1, MPI_INT, MPI_SUM, comm->mpi));
    return TC_OK;
}

/* Size, rank, hosts and scratch of a communicator whose comm->mpi is set.  Collective. */
static tc_status set_up(tc_comm *comm)
{
    TC_TRY_MPI(MPI_Comm_set_errhandler(comm->mpi, MPI_ERRORS_RETURN));
    TC_TRY_MPI(MPI_Comm_rank(comm->mpi, &comm->rank));
    TC_TRY_MPI(MPI_Comm_size(comm->mpi, &comm->size));
    comm->piece = SUM_PIECE / comm->size > 0 ? SUM_PIECE / comm->size : 1;
    tc_status status = tc_alloc(comm->piece * comm->size, sizeof *comm->gathered,
                                "scratch of the rank-ordered sum", &comm->gathered);
    status = tc_comm_agree(comm, status);
    return status == TC_OK ? find_hosts(comm) : status;
}

static tc_status start_mpi(int *argc, char ***argv)
{
    int started = 0, provided = MPI_THREAD_SINGLE;

    TC_TRY_MPI(MPI_Initialized(&started));
    if (started)
        TC_TRY_MPI(MPI_Query_thread(&provided));
    else
        TC_TRY_MPI(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided));
    TC_TRY_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
#ifndef SMPI_H /* a simulated rank has no threads, and says SINGLE */
    if (provided < MPI_THREAD_FUNNELED)
        return tc_fail(TC_MPI, "this MPI gives no MPI_THREAD_FUNNELED: use one built with threads");
#endif
    return TC_OK;
}

/* Release what a communicator holds; the world's MPI objects as well. */
static void release(tc_comm *comm)
{
    if (comm->exit != MPI_COMM_NULL)
        MPI_Comm_free(&comm->exit);
    if (comm->mpi != MPI_COMM_NULL)
        MPI_Comm_free(&comm->mpi);
    tc_free(comm->gathered);
    tc_free(comm);
}

tc_status tc_comm_init(int *argc, char ***argv, tc_comm **comm_p)
{
    tc_comm *comm;
    tc_status status = start_mpi(argc, argv);

    if (status == TC_OK)
        status = tc_alloc(1, sizeof *comm, "communicator", &comm);
    if (status != TC_OK)
        return status; /* tc_exit(NULL) then ends the other ranks too */
    comm->mpi = comm->exit = MPI_COMM_NULL;
    comm->world = comm;
    int rc = MPI_Comm_dup(MPI_COMM_WORLD, &comm->mpi);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_dup(MPI_COMM_WORLD, &comm->exit);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_set_errhandler(comm->exit, MPI_ERRORS_RETURN);
    status = rc == MPI_SUCCESS ? set_up(comm) : tc_mpi_fail(rc, "MPI_Comm_dup");
    if (status != TC_OK) {
        release(comm);
        return status;
    }
    tc_log_set_rank(comm->rank);
    tc_comm_phase(comm, "start", 0.0);
    *comm_p = comm;
    return TC_OK;
}

tc_status tc_comm_split(tc_comm *parent, int color, tc_comm **comm_p)
{
    tc_comm *comm = NULL;
    tc_status status = tc_alloc(1, sizeof *comm, "communicator", &comm);

    status = tc_comm_agree(parent, status);
    if (status != TC_OK) {
        tc_free(comm);
        return status;
    }
    comm->mpi = comm->exit = MPI_COMM_NULL;
    comm->world = parent->world;
    int rc = MPI_Comm_split(parent->mpi, color, parent->rank, &comm->mpi);
    status = rc == MPI_SUCCESS ? set_up(comm) : tc_mpi_fail(rc, "MPI_Comm_split");
    status = tc_comm_agree(parent, status); /* one group may have failed, another not */
    if (status != TC_OK) {
        release(comm);
        return status;
    }
    *comm_p = comm;
    return TC_OK;
}

void tc_comm_destroy(tc_comm *comm)
{
    if (comm != NULL)
        release(comm);
}

int tc_comm_rank(const tc_comm *comm)
{
    return comm->rank;
}

int tc_comm_size(const tc_comm *comm)
{
    return comm->size;
}

int tc_comm_local_rank(const tc_comm *comm)
{
    return comm->local_rank;
}

int tc_comm_local_size(const tc_comm *comm)
{
    return comm->local_size;
}

int tc_comm_host_count(const tc_comm *comm)
{
    return comm->host_count;
}

int tc_comm_node(const tc_comm *comm)
{
    return comm->node;
}

const char *tc_comm_host(const tc_comm *comm)
{
    return comm->host;
}

MPI_Comm tc_comm_mpi(const tc_comm *comm)
{
    return comm->mpi;
}

tc_status tc_comm_agree(tc_comm *comm, tc_status mine)
{
    /* Whoever knows the cause at first hand speaks before one that heard of it in another group. */
    enum { FIRST_HAND = -2, HEARD = -1, FINE = 0 };
    struct {
        int32_t status;
        char text[1024];
    } cause = { .status = mine };
    int in[2] = { mine == TC_OK ? FINE : mine == TC_PEER ? HEARD : FIRST_HAND, comm->rank };
    int out[2];

    if (TC_STATUS_IS_FATAL(mine))
        return mine;
    TC_TRY_COLLECTIVE(comm, MPI_Iallreduce(in, out, 1, MPI_2INT, MPI_MINLOC, comm->mpi, &request));
    tc_comm_progressed(comm);
    if (out[0] == FINE)
        return TC_OK;
    /* Every rank knows of the failure now, so all of them come to this broadcast. */
    if (comm->rank == out[1])
        strncpy(cause.text, tc_error_detail(), sizeof cause.text - 1);
    TC_TRY_COLLECTIVE(comm,
                      MPI_Ibcast(&cause, (int)sizeof cause, MPI_BYTE, out[1], comm->mpi, &request));
    if (mine != TC_OK)
        return mine;
    if (cause.status == TC_PEER) /* its text already names the rank */
        return tc_fail(TC_PEER, "%s", cause.text);
    return tc_fail(TC_PEER, "rank %d: %s: %s", out[1], tc_strstatus((tc_status)cause.status),
                   cause.text);
}

tc_status tc_comm_barrier(tc_comm *comm)
{
    TC_TRY_COLLECTIVE(comm, MPI_Ibarrier(comm->mpi, &request));
    tc_comm_progressed(comm);
    return TC_OK;
}

tc_status tc_comm_bcast(tc_comm *comm, void *data, size_t bytes, int root)
{
    char *at = data;

    while (bytes > 0) {
        int piece = (int)(bytes < (size_t)MPI_PIECE ? bytes : (size_t)MPI_PIECE);
        TC_TRY_COLLECTIVE(comm, MPI_Ibcast(at, piece, MPI_BYTE, root, comm->mpi, &request));
        at += piece;
        bytes -= (size_t)piece;
    }
    return TC_OK;
}

tc_status tc_comm_max(tc_comm *comm, double *x, int64_t count)
{
    for (int64_t at = 0; at < count;) {
        int piece = (int)(count - at < MPI_PIECE ? count - at : MPI_PIECE);
        TC_TRY_COLLECTIVE(comm, MPI_Iallreduce(MPI_IN_PLACE, x + at, piece, MPI_DOUBLE, MPI_MAX,
                                               comm->mpi, &request));
        at += piece;
        tc_comm_progressed(comm);
    }
    return TC_OK;
}

tc_status tc_comm_sum(tc_comm *comm, double *x, int64_t count)
{
    for (int64_t at = 0; at < count;) {
        int64_t piece = count - at < comm->piece ? count - at : comm->piece;
        TC_TRY_COLLECTIVE(comm, MPI_Iallgather(x + at, (int)piece, MPI_DOUBLE, comm->gathered,
                                               (int)piece, MPI_DOUBLE, comm->mpi, &request));
        memcpy(x + at, comm->gathered, (size_t)piece * sizeof *x);
        for (int r = 1; r < comm->size; r++) /* in rank order: the same rounding everywhere */
            for (int64_t i = 0; i < piece; i++)
                x[at + i] += comm->gathered[r * piece + i];
        at += piece;
        tc_comm_progressed(comm);
    }
    return TC_OK;
}

tc_status tc_comm_allgather(tc_comm *comm, const void *mine, size_t bytes, void *all)
{
    char *at = all;

    if (bytes <= (size_t)MPI_PIECE) {
        TC_TRY_COLLECTIVE(comm, MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes,
                                               MPI_BYTE, comm->mpi, &request));
        tc_comm_progressed(comm);
        return TC_OK;
    }
    memcpy(at + (size_t)comm->rank * bytes, mine, bytes);
    for (int r = 0; r < comm->size; r++) {
        tc_status status = tc_comm_bcast(comm, at + (size_t)r * bytes, bytes, r);
        if (status != TC_OK)
            return status;
    }
    return TC_OK;
}
