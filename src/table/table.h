#ifndef TC_TABLE_TABLE_H
#define TC_TABLE_TABLE_H
/**
 * @file table.h
 * The data parallel table: the devices of one rank, each a thread, driven through a step.
 *
 * Flow:  tc_table_create() -> tc_table_write(weights …)
 *        -> { tc_table_train() … tc_table_evaluate() } -> tc_table_destroy()
 * Used by: train, bench, tests.   Called by the main thread alone, which is also the rank's
 * communication thread.
 *
 * `optimized`: each device takes its slice itself; forward, criterion and backward are one job;
 * bucket by bucket the devices' gradients are summed in parallel and handed to the main thread;
 * after the allreduce each device updates its own replica.
 * `baseline`: Torch's DataParallelTable (FACTS section 2): the batch is put together on device 0
 * and scattered; a meeting of all after every phase; outputs are concatenated on device 0 and the
 * criterion runs there alone; gradients are reduced to device 0 one replica after the other; the
 * update happens there and the next forward broadcasts the weights.
 */
#include "allreduce/allreduce.h"
#include "base/status.h"
#include "dev/backend.h"
#include "loader/loader.h"
#include "nn/graph.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct tc_table tc_table;

typedef struct {
    const char *kind;         /* "optimized" or "baseline" */
    const tc_backend *backend;
    const tc_graph *graph;    /* borrowed */
    int devices;              /* a rank, >= 1 */
    int threads;              /* cores of a device, >= 1 */
    int first_ordinal;        /* ordinal of device 0 */
    const int *cores;         /* (devices*threads) processors to bind to; NULL: no binding */
    int64_t batch;            /* b */
    int64_t part;             /* pictures that a device trains at a time, a divisor of b: a slice is
                                 b / part parts, each with BN statistics of its own, as if it were
                                 another device's; optimized alone; 0: b */
    int64_t global_batch;     /* B: the loss is divided by it */
    tc_precision precision;
    int n_buckets;
    const int64_t *bound;     /* (n_buckets + 1); baseline and overlap off: 1 bucket is enough */
    tc_allreduce *allreduce;  /* made for these buckets; borrowed; NULL: a single rank */
    bool overlap;             /* false: buckets are started after the last backward has ended */
    bool training, deterministic;
} tc_table_options;

/** Seconds of this rank since the last tc_table_take_times(); of its slowest device. */
typedef struct {
    double data;      /* waiting for slices */
    double place;     /* placement, and in the baseline gather and scatter */
    double forward, backward; /* optimized: one job, all of it in backward */
    double reduce;    /* summing over the devices */
    double comm;      /* exposed communication: backward is over, the sum is not there */
    double update;    /* and in the baseline the broadcast of weights */
} tc_table_times;

/** Open the devices, compile, take all memory.  Collective: no (vote afterwards). */
tc_status tc_table_create(const tc_table_options *options, tc_table **table_p);
void tc_table_destroy(tc_table *table); /* NULL accepted */

/**
 * One training step: slices (step, *) of the loader, sums over all ranks, update.
 *
 * Collective: yes.   Blocks: on all ranks (allreduce).
 * A failure of one rank's device or loader (TC_IO, …) is carried to the end of the step: the rank
 * still takes part in every bucket, with its gradient as it is, and returns the status, so that no
 * other rank is left waiting; train votes in its metric reduction.  Fatal statuses return at once.
 *
 * @param sgd          Rates of this step.
 * @param[out] metrics_p  Sums over this rank's devices.
 */
tc_status tc_table_train(tc_table *table, tc_loader *loader, int64_t step, const tc_sgd *sgd,
                         tc_metrics *metrics_p);

/**
 * Evaluate slices (step, *): forward with running statistics; sums over this rank's devices.
 *
 * Collective: no.
 * @param logits  NULL, or (devices*batch, classes): receives the logits, device by device.
 */
tc_status tc_table_evaluate(tc_table *table, tc_loader *loader, int64_t step, tc_metrics *metrics_p,
                            float *logits);

/** Read a vector of one device / write it to all devices.  Whole vectors, fp32. */
tc_status tc_table_read(tc_table *table, int device, tc_vector vec, float *out);
tc_status tc_table_write(tc_table *table, tc_vector vec, const float *in);

/** Times of the training steps since the last call. */
void tc_table_take_times(tc_table *table, tc_table_times *times_p);

/** Whether overlap acts: optimized, more than one rank, an algorithm that overlaps, wanted. */
bool tc_table_overlaps(const tc_table *table);

/** One line for the log: kind, backend and its choices, devices, threads, buckets. */
const char *tc_table_choices(const tc_table *table);

#endif
