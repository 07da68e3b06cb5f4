#ifndef TC_DEV_REF_STEP_H
#define TC_DEV_REF_STEP_H
/**
 * @file step.h
 * A compiled graph of the reference backend at one precision, and the operations on its nodes.
 *
 * Included only by the sources that are compiled twice: -DREF_DOUBLE makes `real` a double and
 * REF(name) another symbol.  All tensors are NCHW and lie in one arena.
 * Used by: compile.c, step.c, conv.c, norm.c, pool.c, point.c, loss.c.
 */
#include "base/mem.h"
#include "dev/ref/engine.h"

#ifdef REF_DOUBLE
typedef double real;
#define REF(name)      ref_f64_##name
#define REAL_PRECISION TC_F64
#else
typedef float real;
#define REF(name)      ref_f32_##name
#define REAL_PRECISION TC_F32
#endif

typedef struct {
    real *out;           /* (max_batch,C,H,W); node 0: the slot's pictures */
    real *grad;          /* (max_batch,C,H,W) d loss / d out; NULL: nobody needs it */
    int32_t *winner;     /* MAX_POOL: (max_batch,C,H,W), place in the plane of the input */
    real *mean, *invdev; /* BN: (C), of the last forward: the batch's or the running ones */
    bool born;           /* this backward has reached grad */
} ref_node;

typedef struct {
    real *images;    /* (max_batch,3,H,W), normalised */
    int32_t *labels; /* (max_batch) */
    int64_t count;   /* 0: never placed */
} ref_slot;

struct tc_step {
    ref_head head;
    const tc_graph *graph;
    int64_t max_batch;
    bool training;
    int n_buckets;
    int64_t *bound;    /* (n_buckets + 1) */
    int *bucket_node;  /* (n_buckets) the node whose backward completes the bucket */
    ref_node *node;    /* (n_nodes) */
    ref_life *life;    /* (2 n_nodes) outs, then grads backwards; only while compiling */
    int64_t pool_count; /* elements that hold them all */
    real *weights, *gradients, *momentum; /* (param_count) */
    real *stats;       /* (stat_count) */
    real *dlogits;     /* (max_batch, classes) */
    real *scratch;     /* im2col and the like, for one picture; fc: for a slice */
    float *host_gradients; /* (param_count); with real = float it is `gradients` itself */
    ref_slot slot[TC_SLOTS];
    int current;       /* slot of the last forward; -1: none, or placed anew since */
    int64_t count;     /* pictures of the last forward */
    tc_forward_mode mode;
    tc_metrics metrics;
    tc_arena arena;
    char choices[128];
};

/* Node i of the graph; its input j. */
static inline const tc_node *ref_at(const tc_step *step, int i)
{
    return &step->graph->node[i];
}

static inline real *ref_in(const tc_step *step, int i, int j)
{
    return step->node[step->graph->node[i].in[j]].out;
}

static inline real *ref_in_grad(const tc_step *step, int i, int j)
{
    return step->node[step->graph->node[i].in[j]].grad;
}

/* Elements of one picture in node i's output. */
static inline int64_t ref_size(const tc_step *step, int i)
{
    const tc_node *node = &step->graph->node[i];

    return node->c * node->h * node->w;
}

/* Start of a parameter (index -1: NULL) in a flat vector. */
static inline real *ref_param(const tc_step *step, real *flat, int index)
{
    return index < 0 ? NULL : flat + step->graph->param[index].offset;
}

/*
 * The operations.  forward: out from the inputs' outs.  backward: adds to the inputs' grads (where
 * they are not NULL) and to the flat gradients, both zeroed before.
 */
void REF(conv_forward)(tc_step *step, int i);
void REF(conv_backward)(tc_step *step, int i);
void REF(fc_forward)(tc_step *step, int i);
void REF(fc_backward)(tc_step *step, int i);
void REF(bn_forward)(tc_step *step, int i);
void REF(bn_backward)(tc_step *step, int i);
void REF(max_pool_forward)(tc_step *step, int i);
void REF(max_pool_backward)(tc_step *step, int i);
void REF(avg_pool_forward)(tc_step *step, int i);
void REF(avg_pool_backward)(tc_step *step, int i);
void REF(global_avg_forward)(tc_step *step, int i);
void REF(global_avg_backward)(tc_step *step, int i);

void REF(relu_forward)(tc_step *step, int i);
void REF(relu_backward)(tc_step *step, int i);
void REF(add_forward)(tc_step *step, int i);
void REF(add_backward)(tc_step *step, int i);
void REF(concat_forward)(tc_step *step, int i);
void REF(concat_backward)(tc_step *step, int i);

/* Elements of scratch that a conv or fc node needs. */
int64_t REF(conv_scratch)(const tc_graph *graph, const tc_node *node);
int64_t REF(fc_scratch)(const tc_graph *graph, const tc_node *node, int64_t max_batch);

/* compile.c */
tc_status REF(estimate)(const tc_graph *graph, const tc_compile_options *options,
                        uint64_t *bytes_p);
tc_status REF(compile)(const tc_graph *graph, const tc_compile_options *options, int threads,
                       tc_step **step_p);
void REF(step_free)(tc_step *step);

/**
 * Softmax cross-entropy of n rows.
 *
 * @param labels   (n) 0..classes-1; -1: the row counts in no sum and its dlogits are 0.
 * @param dlogits  (n,classes) receives scale * (softmax - onehot); NULL: not wanted.
 * @param metrics  Receives the sums; NULL: not wanted.
 */
#ifdef REF_DOUBLE
void ref_f64_cross_entropy(int64_t n, int64_t classes, const double *logits, const int32_t *labels,
                           double scale, double *dlogits, tc_metrics *metrics);
#endif

#endif
