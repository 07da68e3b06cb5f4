#ifndef TC_ALLREDUCE_ALLREDUCE_H
#define TC_ALLREDUCE_ALLREDUCE_H
/**
 * @file allreduce.h
 * Sum vectors of floats over all ranks, several buckets in flight, while others compute.
 *
 * Flow:  tc_allreduce_create() -> { tc_allreduce_start(bucket) …, tc_allreduce_progress() … } every
 *        step -> tc_allreduce_destroy()
 * Sources: `multicolor` Kumar et al. 2017 (arXiv 1711.00705), DESIGN section 7; `ring` Patarasuk
 * and Yuan 2009; `rabenseifner` Rabenseifner 2004; `doubling` Thakur et al. 2005; `mpi`
 * MPI_Allreduce.
 * Used by: table, train, bench, sim, tests.   No thread inside; called by the main thread alone.
 *
 * All ranks start the same buckets in the same order.  The order in which the terms of an element
 * are added depends on the options and the number of ranks alone: the sum is bit-identical on all
 * ranks and from run to run.
 */
#include "base/status.h"
#include "comm/comm.h"
#include <stdint.h>
#include <stdio.h>

typedef struct tc_allreduce tc_allreduce;

/* Sums are always taken in fp32.  On a narrow wire each partial sum is rounded when it travels, and
 * the result takes the value that the wire can carry, on all ranks of more than one. */
typedef enum { TC_WIRE_F32, TC_WIRE_BF16, TC_WIRE_F16 } tc_wire_type;

typedef struct {
    const char *algorithm; /* see tc_allreduce_name(), or "auto" */
    int colors;            /* multicolor: k; 0: min(4, ranks), the default */
    int arity;             /* multicolor: d; 0: ranks - 1 (stars); < 0: the default, 4 */
    int64_t chunk;         /* bytes of a message; 0: the default, 60 KiB between hosts (what TCP
                            * takes at once), of stars 64 KiB, 512 KiB on one host; < 0: as much
                            * as a step sends */
    int window;            /* chunks in flight a flow; 0: the default, 4; of trees between hosts 2;
                            * on one host with 2 ranks 1 */
    tc_wire_type wire;     /* what travels; not for mpi, which sends floats */
    bool overlapped;       /* auto: leave out what blocks; the sums shall overlap with work */
    const char *cache;     /* auto: NULL, or a file that keeps what was chosen.  Not kept. */
    const char *topology;  /* NULL, or a file of lines "HOST SWITCH": what is near comes first,
                            * below a leaf switch, and always on a host.  Not kept. */
} tc_allreduce_options;

/**
 * Plan for buckets of fixed sizes; takes all memory (windows, requests).  `auto` measures which
 * algorithm is the fastest for each bucket (auto.h), or looks it up; that takes seconds.
 *
 * Collective: yes.   Blocks: on all ranks (a vote).
 * @param comm      Borrowed for the life of the context; its tags below 2^14 are used.
 * @param n         Buckets, >= 1; b-th of count[b] floats, >= 0.  Equal on all ranks.
 * @retval TC_INVAL  unknown algorithm (the message lists the names), option out of range.
 * @retval TC_IO, TC_FORMAT  the cache of auto.
 * @retval TC_NOMEM, TC_PEER, TC_MPI.
 */
tc_status tc_allreduce_create(tc_comm *comm, const tc_allreduce_options *options, int n,
                              const int64_t *count, tc_allreduce **ctx_p);
/** The same with options for each bucket: (n); the topology is the first's. */
tc_status tc_allreduce_create_each(tc_comm *comm, const tc_allreduce_options *options, int n,
                                   const int64_t *count, tc_allreduce **ctx_p);
void tc_allreduce_destroy(tc_allreduce *ctx); /* NULL accepted; no bucket may be in flight */

/**
 * Start summing bucket b in place.  May not be started again before it is done.
 *
 * Collective: yes (same order on all ranks).   Blocks: no, except `mpi`: one MPI_Allreduce.
 * @param data  (count[b]) floats, borrowed until the bucket is done.
 */
tc_status tc_allreduce_start(tc_allreduce *ctx, int b, float *data);

/**
 * The same out of place: dst <- the sum over all ranks of their src.
 *
 * @param src  (count[b]) floats, borrowed until the bucket is done; only read.
 * @param dst  (count[b]) floats, likewise; it is src itself or does not overlap it.
 */
tc_status tc_allreduce_start_from(tc_allreduce *ctx, int b, const float *src, float *dst);

typedef enum { TC_POLL, TC_BLOCK } tc_progress_mode;

#define TC_EXTRA (-2) /* what progress reports when `extra` completed */
#define TC_NONE  (-1)

/**
 * Move everything in flight.  Returns when one bucket is done, `extra` has completed, or (POLL)
 * nothing more can be done now.  Sums are taken while transfers go on.
 *
 * @param mode   POLL never waits.  BLOCK waits in one Waitany over all requests and `extra` (in a
 *               simulation `extra` is the request by which a device announces a bucket).
 * @param extra  NULL, or a request of the caller's.
 * @param[out] done_p  A bucket, TC_EXTRA, or TC_NONE (POLL: nothing; BLOCK: nothing in flight).
 * @param[out] moved_p  NULL, or receives whether anything completed: the caller's hint to back off.
 * @retval TC_OK, TC_MPI.
 */
tc_status tc_allreduce_progress(tc_allreduce *ctx, tc_progress_mode mode, tc_request *extra,
                                int *done_p, bool *moved_p);

/** Sum one vector now: start, then progress until done.  For tests and set-up. */
tc_status tc_allreduce_run(tc_allreduce *ctx, int b, float *data);

/** True where start() returns before the sum of some bucket is there: overlap can act. */
bool tc_allreduce_overlaps(const tc_allreduce *ctx);

/** The options of bucket b, defaults filled in. */
tc_allreduce_options tc_allreduce_of_bucket(const tc_allreduce *ctx, int b);

/** One line on what was chosen: "multicolor k=4 d=4 chunk=65536 window=4 memory=1049152" (bytes);
 *  where buckets differ, with their numbers: "ring … [0-2] [5]; doubling … [3-4] …". */
const char *tc_allreduce_choices(const tc_allreduce *ctx);

/**
 * Write the tree of every color of the first bucket: a line a rank, indented by its depth, or a
 * graph for `dot` of Graphviz.
 *
 * Collective: no.
 * @retval TC_INVAL  the algorithm has no trees.   @retval TC_NOMEM, TC_IO.
 */
tc_status tc_allreduce_print_trees(const tc_allreduce *ctx, FILE *out, bool dot);

/** The i-th algorithm's name, or NULL past the last.  "auto" is none of them. */
const char *tc_allreduce_name(int i);

/** Whether an algorithm can only sum before start() returns; then it gains nothing by buckets. */
bool tc_allreduce_blocks(const char *name);

#endif
