#ifndef TC_ALLREDUCE_AUTO_H
#define TC_ALLREDUCE_AUTO_H
/**
 * @file auto.h
 * Choose an algorithm for each bucket by measuring.   Used by: tc_allreduce_create().
 *
 * Buckets whose sizes differ by less than a factor of two share a choice, measured with the largest
 * of them.  All candidates take turns on a vector of at most 8 MiB; those within a quarter of the
 * fastest take turns again, longer, on one as long as the time allows.  A time is the median over
 * the rounds of what the slowest rank took; all ranks have all times, so all choose the same.
 */
#include "allreduce/allreduce.h"

/**
 * @param options      wire, topology, overlapped, cache; the rest is chosen.
 * @param[out] choice  (n) for each bucket, defaults filled in; topology is NULL.
 * @retval TC_INVAL    sizes are negative or differ between the ranks.
 * @retval TC_IO, TC_FORMAT (the cache), TC_NOMEM, TC_PEER, TC_MPI.
 */
tc_status tc_auto_choose(tc_comm *comm, const tc_allreduce_options *options, int n,
                         const int64_t *count, tc_allreduce_options *choice);

#endif
