#ifndef TC_TIMING_TIMING_H
#define TC_TIMING_TIMING_H
/**
 * @file timing.h
 * Compare collectives fairly: candidates in turns, vectors whose sum is known, and the speed of the
 * links between the ranks.
 *
 * Flow:  tc_known_create() -> tc_known_fill() … tc_known_check();  tc_timing_turns();
 *        tc_timing_goodput()
 * Used by: allreduce (auto), app.   All functions are called by the main thread alone.
 */
#include "base/status.h"
#include "comm/comm.h"
#include <stdint.h>

/** Seconds of the slowest rank over the iterations; warm-up left out. */
typedef struct {
    double median, least, most;
} tc_timing;

/** Carry out candidate `i` once; collective. */
typedef tc_status tc_timing_run(void *arg, int i);

/**
 * Time candidates in turns, iteration by iteration, each after a barrier: what else runs on the
 * machine hits all of them alike.  Every round begins with another candidate.
 *
 * Collective: yes.   Blocks: on all ranks.
 * @param n           Candidates, >= 0.
 * @param warm_up     Rounds before the timed ones, >= 0;  @param rounds  timed ones, >= 1.
 * @param[out] timing (n); the same on all ranks.
 * @retval TC_OK, TC_NOMEM, TC_PEER, TC_MPI, or what run returned.
 */
tc_status tc_timing_turns(tc_comm *comm, int n, int warm_up, int rounds, tc_timing_run *run,
                          void *arg, tc_timing *timing);

/**
 * Measure what one host's link carries each way while it carries as much the other way: the first
 * ranks of the hosts (on one host: all ranks) exchange in pairs, messages of 32 KiB, 16 of them in
 * flight each way, for about half a second, three times.
 *
 * Collective: yes.   Blocks: on all ranks.
 * @param[out] bandwidth_p  Bytes a second and way, of the slowest pair; the median of the three.
 *                          0 where there is a single rank.
 * @retval TC_OK, TC_NOMEM, TC_PEER, TC_MPI.
 */
tc_status tc_timing_goodput(tc_comm *comm, double *bandwidth_p);

typedef struct tc_known tc_known;

/**
 * Vectors of real numbers in [-1, 1), another on every rank, whose sum in double is known.  They
 * repeat after a prime number of elements, so that a misplaced chunk shows.
 *
 * Collective: yes (a vote).   @param rank, size  Of the ranks that will sum.
 */
tc_status tc_known_create(tc_comm *comm, tc_known **known_p);
void tc_known_destroy(tc_known *known);                             /* NULL accepted */
void tc_known_fill(const tc_known *known, float *x, int64_t count); /* x (count); local */

/**
 * Count the elements of the summed vector that are wrong on any rank: further from the sum in
 * double than rounding in any order allows, or with other bits than rank 0 has.
 *
 * Collective: yes.   Blocks: on all ranks.
 * @param x         (count) the sum of what tc_known_fill() gave.
 * @param roundoff  Largest relative error of one rounding: 2^-24 for f32, 2^-8 for bf16 on the
 * wire, 2^-11 for f16.
 * @param[out] wrong_p  The same on all ranks.
 */
tc_status tc_known_check(const tc_known *known, const float *x, int64_t count, double roundoff,
                         int64_t *wrong_p);

#endif
