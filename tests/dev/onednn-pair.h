#ifndef TC_TESTS_ONEDNN_PAIR_H
#define TC_TESTS_ONEDNN_PAIR_H
/* The same graph on two backends: the oracle `ref` in double, and onednn. */
#include "dev/backend.h"

/* One backend with a compiled graph.  Zero-initialise; pair_close() what pair_open() gave. */
typedef struct {
    const tc_backend *backend;
    tc_dev *dev;
    tc_step *step;
    tc_precision type; /* in which vectors are read and written */
    bool rounded;      /* bf16: near ties, hits may differ */
    int n_buckets;
} pair_side;

typedef struct {
    const tc_graph *graph;
    int64_t batch, n_pixels;
    uint8_t *images; /* (batch,H,W,3) */
    int32_t *labels;
    float *offset; /* (batch,3) */
    float *weights, *stats;
} pair_data;

/* Errors of onednn against ref, as relative norms: |a - b| / |b|. */
typedef struct {
    double loss, logits, gradients, stats, weights;
} pair_error;

/* Draw pictures, labels, and weights and statistics that are nowhere 0 or 1. */
tc_status pair_data_make(const tc_graph *graph, int64_t batch, uint64_t seed, pair_data *data);
void pair_data_free(pair_data *data);

tc_status pair_open(const char *backend, tc_precision precision, const pair_data *data, int threads,
                    pair_side *side);
void pair_close(pair_side *side);

/* The first `count` pictures. */
tc_slice pair_slice(const pair_data *data, int64_t count);

/* Read a whole vector as double. */
tc_status pair_read(const pair_side *side, tc_vector vec, int64_t count, double *out);

/* train() and one update on both; the errors of everything that it changes. */
tc_status pair_train(const pair_data *data, const pair_side *ref, const pair_side *dut,
                     pair_error *error);

/* Forward in a mode and backward from random DLOGITS on `count` pictures; likewise. */
tc_status pair_phases(const pair_data *data, const pair_side *ref, const pair_side *dut,
                      tc_forward_mode mode, int64_t count, pair_error *error);

double pair_distance(const double *a, const double *b, int64_t count);

#endif
