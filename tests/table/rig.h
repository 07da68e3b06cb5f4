#ifndef TC_TESTS_TABLE_RIG_H
#define TC_TESTS_TABLE_RIG_H
/* What every test of the table sets up: a graph cut into buckets, a table, a loader. */
#include "dev/backend.h"
#include "table/table.h"

enum { RIG_BATCH = 24, RIG_GLOBAL = 32, RIG_STEPS = 3 };

typedef struct {
    tc_graph *graph;
    int64_t *bound;
    int64_t *count; /* (n) floats of every bucket */
    int n;
    tc_table *table;
    tc_loader *loader;
    tc_sgd sgd; /* rate and momentum 1: exact for the fake backend */
} rig;

/* Cut into buckets of `bytes` (0: one). */
void rig_graph(rig *r, tc_graph *graph, int64_t bytes);
/* Options for this rig: every device gets RIG_BATCH / ranks / devices pictures; the loss is divided
 * by RIG_GLOBAL, a power of two, so that the fake backend's numbers stay exact. */
tc_table_options rig_options(const rig *r, const char *kind, int devices, int ranks);
/* Make table and loader; weights start at small whole numbers for the fake backend, else as the
 * graph says. */
tc_status rig_open(rig *r, const tc_table_options *options, int rank, int ranks, int64_t total);
/* RIG_STEPS steps from `first`; metrics summed.  Stops at a failure. */
tc_status rig_train(rig *r, int64_t first, tc_metrics *metrics_p);
void rig_close(rig *r);      /* table and loader */
void rig_free_graph(rig *r); /* and the rest */

/* Weights and momentum of device 0 (2*param_count), in new memory. */
float *rig_result(rig *r);
/* open, train, result, close. */
float *rig_run(rig *r, const tc_table_options *options, int rank, int ranks, tc_metrics *metrics_p);

#endif
