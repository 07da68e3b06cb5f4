#ifndef TC_COMM_COMM_H
#define TC_COMM_COMM_H
/**
 * @file comm.h
 * Ranks that agree, exchange small things and end together.  Shows no <mpi.h>; see comm/comm_mpi.h.
 *
 * Flow:  tc_comm_init() -> tc_comm_agree(), tc_comm_sum() … -> tc_exit()
 * Used by: allreduce, store, train, app, tests.
 * All functions are called by the main thread alone (MPI_THREAD_FUNNELED).
 */
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tc_comm tc_comm;
typedef struct tc_request tc_request; /* one MPI_Request; comm/comm_mpi.h */

/**
 * Start MPI (MPI_Init_thread, FUNNELED) and duplicate the world; errors return.
 *
 * Collective: yes.   Blocks: on all ranks.
 * @param[out] comm_p  untouched on failure.   @retval TC_MPI, TC_NOMEM
 */
tc_status tc_comm_init(int *argc, char ***argv, tc_comm **comm_p);

/** A communicator over the ranks of @p parent with the same @p color, ordered by rank (for groups
 *  and tests).  Collective over parent.  Free with tc_comm_destroy(). */
tc_status tc_comm_split(tc_comm *parent, int color, tc_comm **comm_p);
void tc_comm_destroy(tc_comm *comm); /* NULL accepted; not for the world, which tc_exit() ends */

int tc_comm_rank(const tc_comm *comm);
int tc_comm_size(const tc_comm *comm);
int tc_comm_local_rank(const tc_comm *comm); /* among the ranks of this host */
int tc_comm_local_size(const tc_comm *comm);
int tc_comm_host_count(const tc_comm *comm);
int tc_comm_node(const tc_comm *comm); /* the lowest rank on this host: names the host's ranks */
const char *tc_comm_host(const tc_comm *comm);

/**
 * Vote: returns @p mine where it is a failure, TC_PEER naming the first failed rank and its cause
 * where another rank failed, else TC_OK.  Fatal statuses return at once without a vote.
 *
 * Collective: yes.   Blocks: on all ranks.
 */
tc_status tc_comm_agree(tc_comm *comm, tc_status mine);

/** Collective: yes, each.   Blocks: on all ranks.   Status: TC_OK or TC_MPI. */
tc_status tc_comm_barrier(tc_comm *comm);
tc_status tc_comm_bcast(tc_comm *comm, void *data, size_t bytes, int root);
tc_status tc_comm_max(tc_comm *comm, double *x, int64_t count); /* in place */
/** Sum in rank order in double, in place: bit-identical on all ranks and from run to run.  Long
 *  vectors go in bounded pieces. */
tc_status tc_comm_sum(tc_comm *comm, double *x, int64_t count);
/** all (size, bytes) <- mine (bytes) of every rank, in rank order. */
tc_status tc_comm_allgather(tc_comm *comm, const void *mine, size_t bytes, void *all);

/**
 * Declare what follows and how long it may take without progress, so that tc_exit() of another
 * rank waits for it (a checkpoint, a load) instead of cutting it off.
 *
 * Collective: no, but all ranks declare the same phases between the same collectives: what a rank
 * declares is what it knows of the others.  A collective over the world starts the time anew.
 * @param name     Kept, not copied.
 * @param seconds  0: the default deadline of an orderly exit.
 */
void tc_comm_phase(tc_comm *comm, const char *name, double seconds);

/**
 * Set how long collectives and sums wait without progress before they fail with TC_TIMEOUT and name
 * the ranks that are silent; see watch.h.
 *
 * Collective: no, but give all ranks the same.   For all communicators of this process.
 * @param seconds  <= 0: the default, 300.
 */
void tc_comm_set_deadline(tc_comm *comm, double seconds);

/**
 * End the process: print the error text on the failing rank, wait at most the deadline for all
 * ranks to arrive, finalize, else abort the job and name who did not come.  Returns main()'s exit
 * status: 0 done, or TC_STOPPED; 1 failed.
 *
 * @param comm  NULL: MPI did not start, or never will.  The world is destroyed.
 */
int tc_exit(tc_comm *comm, tc_status status);

#endif
