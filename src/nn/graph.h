#ifndef TC_NN_GRAPH_H
#define TC_NN_GRAPH_H
/**
 * @file graph.h
 * A network as a static graph: nodes in the order of execution, with shapes, parameters and BN
 * statistics.  It knows no backend, no batch size and no memory layout.
 *
 * Flow:  tc_graph_create() -> tc_graph_<op>() … -> tc_graph_finish() -> read its tables
 *        -> tc_graph_free().  tc_model_build() (nn/model.h) does this by name.
 * Used by: dev (compiles it), table, train (recipe, checkpoint).
 *
 * Shapes are (C,H,W) of one picture.  Parameters lie in one flat vector in the order in which they
 * are declared, which is graph order, without gaps: gradient offsets and parameter offsets agree,
 * and backward finishes them from the end.  Layouts in the flat vector are PyTorch's: convolution
 * (out, in, kh, kw), fc (out, in), BN gamma (C), beta (C).
 */
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

#define TC_NODE_INPUTS 8
#define TC_NAME_MAX 64

typedef enum {
    TC_OP_INPUT,      /* u8 pictures, normalised: (x/255 - mean) / deviation [+ offset] */
    TC_OP_CONV,       /* cross-correlation, square or not, zero padding, optional bias */
    TC_OP_BN,         /* batch normalisation over N,H,W with gamma and beta */
    TC_OP_RELU,
    TC_OP_ADD,        /* two inputs of one shape */
    TC_OP_MAX_POOL,   /* padding never wins */
    TC_OP_AVG_POOL,   /* padding counts: divides by kh*kw (ceil mode: clipped by the padded edge) */
    TC_OP_GLOBAL_AVG, /* (C,H,W) -> (C,1,1) */
    TC_OP_CONCAT,     /* along C */
    TC_OP_FC,         /* flattens (C,H,W); with bias */
    TC_OP_LOSS        /* softmax cross-entropy of logits (classes,1,1), times `loss_weight` */
} tc_op;

typedef struct {
    tc_op op;
    char name[TC_NAME_MAX]; /* torchvision's module name where it has one: "layer1.0.conv1" */
    int n_in, in[TC_NODE_INPUTS];
    int64_t c, h, w;        /* output shape */
    int kh, kw, stride_h, stride_w, pad_h, pad_w; /* conv and pools */
    bool ceil;              /* pools: output size rounds up */
    int weight, bias;       /* parameter indices, -1: none.  BN: gamma and beta */
    int stat;               /* BN: index into the statistics table, else -1 */
    double eps, momentum;   /* BN: running = (1-momentum)*running + momentum*batch */
    double loss_weight;     /* LOSS; 0: evaluated by nobody, its branch gets no gradient */
} tc_node;

typedef enum { TC_INIT_CONSTANT, TC_INIT_NORMAL } tc_init;

typedef struct {
    char name[TC_NAME_MAX]; /* torchvision's state_dict name: "layer1.0.conv1.weight" */
    int node, n_dims;
    int64_t dims[4];
    int64_t offset, count;  /* elements in the flat vector */
    bool decay;             /* weight decay acts: not on BN gamma and beta */
    tc_init init;
    double value;           /* the constant; deviation of the normal */
} tc_param;

/** One BN's running statistics in the flat vector of statistics: mean[C] then variance[C]. */
typedef struct {
    char name[TC_NAME_MAX]; /* "layer1.0.bn1": .running_mean and .running_var in a state_dict */
    int node;
    int64_t offset, channels; /* mean at offset, variance at offset + channels */
} tc_stat;

typedef struct {
    char name[TC_NAME_MAX];
    tc_node *node;    int n_nodes;   /* node[0] is TC_OP_INPUT */
    tc_param *param;  int n_params;
    tc_stat *stat;    int n_stats;
    int loss;                        /* the main TC_OP_LOSS node; its input holds the logits */
    int64_t classes;
    int64_t param_count, stat_count; /* lengths of the flat vectors, in elements */
    double mean[3], deviation[3];    /* of the input, in units of 0..1 */
    tc_status status;                /* first error while building; see tc_graph_finish() */
    int node_cap, param_cap, stat_cap;
} tc_graph;

/** Start a graph with its input node 0, an RGB picture of h x w with ImageNet's mean and deviation.
 *  @retval TC_NOMEM, TC_INVAL (h or w < 1) */
tc_status tc_graph_create(const char *name, int64_t h, int64_t w, tc_graph **graph_p);

/*
 * Each adds a node and returns its index, or -1 after an error, which the graph remembers: builders
 * need not check every call, tc_graph_finish() reports.  `in` may be -1 only after such an error.
 */
typedef struct {
    int64_t out;               /* channels */
    int kernel, stride, pad;   /* square */
    bool bias;
    double deviation;          /* of the normal initialisation; < 0: sqrt(2 / (k*k*out)) */
} tc_conv_spec;
int tc_graph_conv(tc_graph *graph, int in, const char *name, tc_conv_spec spec);
/** @param gamma  Initial value of the scale (0 for the last BN of a residual block). */
int tc_graph_bn(tc_graph *graph, int in, const char *name, double gamma, double eps);
int tc_graph_relu(tc_graph *graph, int in);
int tc_graph_add(tc_graph *graph, int a, int b);
int tc_graph_pool(tc_graph *graph, int in, tc_op op, int kernel, int stride, int pad, bool ceil);
int tc_graph_global_avg(tc_graph *graph, int in);
int tc_graph_concat(tc_graph *graph, const int *in, int n_in);
int tc_graph_fc(tc_graph *graph, int in, const char *name, int64_t out, double deviation);
int tc_graph_loss(tc_graph *graph, int in, double weight);

/** "conv", "bn", …: the operation's word in tables and messages. */
const char *tc_op_name(tc_op op);

/** Check and close the graph: exactly one loss of weight 1 (the main one), every shape at least 1.
 *  On failure the caller still owns the graph.  @retval TC_INVAL, TC_NOMEM, naming the node. */
tc_status tc_graph_finish(tc_graph *graph);
void tc_graph_free(tc_graph *graph);

/** Number of uses of every node's output by later nodes: uses[n_nodes], filled.  For planners. */
void tc_graph_uses(const tc_graph *graph, int *uses);

/** Fill the flat vector flat[param_count]; parameter i from the stream (seed, WEIGHTS, i), computed
 *  in double and rounded: the same on every rank and backend. */
void tc_graph_init_weights(const tc_graph *graph, uint64_t seed, float *flat);
/** Fill the flat vector of statistics: mean 0, variance 1. */
void tc_graph_init_stats(const tc_graph *graph, float *flat);

/** Multiply-adds of convolutions and fc for one picture, forward. */
int64_t tc_graph_macs(const tc_graph *graph);

/** Print the table of nodes, parameters and totals (`--describe`) to @p stream (a FILE *). */
void tc_graph_describe(const tc_graph *graph, void *stream);

/**
 * Cut the flat gradient into buckets of at least @p bytes of fp32, at parameter boundaries, from
 * the end (the last bucket is the first that backward finishes; the remainder joins bucket 0).
 *
 * @param bytes       0: one bucket.
 * @param[out] bound_p  n+1 ascending offsets, bound[0] = 0, bound[n] = param_count; tc_free() it.
 * @retval TC_NOMEM
 */
tc_status tc_graph_buckets(const tc_graph *graph, int64_t bytes, int64_t **bound_p, int *n_p);

#endif
