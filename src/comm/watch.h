#ifndef TC_COMM_WATCH_H
#define TC_COMM_WATCH_H
/**
 * @file watch.h
 * Wait for other ranks without keeping a core busy, but not for ever.
 *
 * Flow:  tc_watch_moved() whenever something completed; tc_watch_idle() after each look that saw
 *        nothing.  A zeroed tc_watch begins with the first look.
 * Used by: comm, allreduce.   Not in a simulation, where a wait takes no core and no rank stalls.
 *
 * When nothing has moved for the deadline (tc_comm_set_deadline()), the rank asks all others for a
 * sign.  Who waits in this loop, too, answers; who does not is named.  Time in a declared phase
 * (tc_comm_phase()) is granted on top.
 */
#include "comm/comm.h"

typedef struct {
    double since;  /* nothing has moved since then; 0: not waiting */
    double looked; /* the last look: after a gap the caller was away, and waiting begins anew */
    double asked;  /* when this rank last saw whether another asks for a sign */
} tc_watch;

void tc_watch_moved(tc_watch *watch);

/**
 * See whether the deadline is over.
 *
 * Collective: no.   Blocks: no, except for 2 s before it fails.
 * @param what  Names what is waited for in the message: "a sum over all ranks".
 * @retval TC_OK, TC_TIMEOUT (the message names the ranks that gave no sign), TC_MPI.
 */
tc_status tc_watch_idle(tc_comm *comm, tc_watch *watch, const char *what);

/** Give other threads and ranks the core: at first a moment, after 200 us of waiting 50 us. */
void tc_watch_pause(const tc_watch *watch);

#endif
