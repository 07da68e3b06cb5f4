#ifndef TC_TESTS_DEV_CHECK_H
#define TC_TESTS_DEV_CHECK_H
/*
 * What every backend must do, as checks that take the backend.  Each returns a verdict with its
 * figures, for tap_ok(); none prints.
 *
 * A test of a backend: check_target -> for every graph check_layers(), then the others.
 */
#include "dev/dev.h"
#include "nn/model.h"

typedef struct {
    const tc_backend *backend;
    tc_precision precision;
    double tolerance; /* relative, against ref in double */
} check_target;

typedef struct {
    bool ok;
    char text[256];
} check_result;

/* A compiled graph with random weights and statistics, and a random slice for it. */
typedef struct {
    check_target target;
    const tc_graph *graph;
    tc_dev *dev;
    tc_step *step;
    int64_t batch;
    int n_buckets;
    int64_t *bound;
    float *weights, *stats;  /* as written at the start */
    uint8_t *images;
    int32_t *labels;
    float *offset;
} check_run;

/* Small networks, each around one operation; the last ones mix many.  NULL past the last. */
const char *check_graph_name(int i);
tc_graph *check_graph(int i); /* the caller frees it */
int check_graph_find(const char *name);

/* Compile with the given bounds, or one bucket a parameter.  False: tc_error_detail() says why. */
bool check_open(check_run *run, check_target target, const tc_graph *graph, int64_t batch,
                const int64_t *bound, int n_buckets);
void check_close(check_run *run);
/* Write the starting weights and statistics again, momentum 0. */
bool check_reset(check_run *run);
/* The run's slice, or its first pictures; label 1 is -1 where there are three or more. */
tc_slice check_slice(const check_run *run, int64_t count);

/* Logits, loss, hits, gradients and running statistics of training, of evaluation with a smaller
 * slice, and of backward after an evaluation, against ref in double. */
check_result check_layers(check_target target, int graph);
/* The same for a whole network of nn/model.h. */
check_result check_model(check_target target, const tc_model_options *model, int64_t batch);
/* place, forward, read LOGITS, criterion, write DLOGITS, backward: the bits of train(). */
check_result check_phases(check_target target, int graph);
/* Callbacks in descending order, once each; what they see is final; also with bounds that cut
 * parameters and an empty bucket. */
check_result check_buckets(check_target target, int graph);
/* Three updates with weight decay and momentum, Nesterov or not, against the formula in double;
 * momentum is written and read. */
check_result check_update(check_target target, bool nesterov);
/* Label -1: as if the picture were not there (in a net without BN). */
check_result check_masks(check_target target);
/* Hits with ties, by criterion() and by a step whose logits are its biases. */
check_result check_hits(check_target target);
/* Two slices staged at a time; the same step twice gives the same bits. */
check_result check_slots(check_target target, int graph);
/* Forty steps on four pictures: the loss falls below a tenth. */
check_result check_learning(check_target target, int graph);
/* Every refusal that backend.h documents. */
check_result check_refusals(check_target target);
/* No allocation after the second step, as counted by alloc-count.c, which the test links. */
check_result check_allocations(check_target target, int graph, bool libraries);

/* Calls of malloc and its family so far, with or without those made inside shared libraries (a
 * statically linked backend's own always count); -1: not counted here. */
int64_t alloc_count(bool libraries);

#endif
