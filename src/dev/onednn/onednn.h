#ifndef TC_DEV_ONEDNN_ONEDNN_H
#define TC_DEV_ONEDNN_ONEDNN_H
/**
 * @file onednn.h
 * Private to src/dev/onednn: how the oneDNN backend compiles a graph and runs it.
 *
 * Flow of compile():  dn_plan_ops (which nodes become one operation) -> dn_create_prims (layouts
 * and oneDNN primitives) -> dn_plan_buffers (who lies where, backward included) -> one arena ->
 * bind. Everything that a step needs, oneDNN's memory objects and argument lists too, exists before
 * it.
 *
 * Activations are f32 or bf16 in one blocked layout, (N, C/block, H, W, block), with the channels
 * padded by zeros to whole blocks: oneDNN's nChw16c or nChw8c, whichever the first convolution
 * prefers here.  oneDNN does the convolutions and fc; the rest is our own (kernels.c),
 * because this layout makes it simple and it saves passes over the memory.
 *
 * Functions shared by the files of this folder start with dn_.
 */
#include "base/mem.h"
#include "dev/backend.h"
#include "dev/onednn/kernels.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>

/* ---- oneDNN, both API generations behind one face (dnnl_api.c) ---- */

#define DN_ARGS 8

/** A primitive with its arguments. */
typedef struct {
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t prim;
    int n_args;
    dnnl_exec_arg_t arg[DN_ARGS];
    int input; /* index in arg[] of the argument that differs by slot, or -1 */
    dnnl_memory_t by_slot[TC_SLOTS];
} dn_prim;

typedef struct {
    const dn_layout *src, *dst; /* src->block 0 or dst->block 0: oneDNN may choose the layout */
    int64_t kh, kw, stride_h, stride_w, pad_h, pad_w;
    bool bias;
} dn_window; /* a convolution */

/** Turn a oneDNN status into ours; @p what names the action, @p node the layer. */
tc_status dn_check(dnnl_status_t status, const char *what, const char *node);

tc_status dn_conv_forward(tc_dev *dev, const dn_window *window, const char *node, dn_prim *prim);
tc_status dn_conv_backward_data(tc_dev *dev, const dn_window *window, const dn_prim *forward,
                                const char *node, dn_prim *prim);
tc_status dn_conv_backward_weights(tc_dev *dev, const dn_window *window, const dn_prim *forward,
                                   const char *node, dn_prim *prim);

/** A matrix (rows, cols): elements between rows and between columns. */
typedef struct {
    int64_t rows, cols, step_row, step_col;
} dn_matrix;
/** dst = a * b, plus a row of bias where @p bias. */
tc_status dn_matmul(tc_dev *dev, const dn_matrix *a, const dn_matrix *b, bool bias,
                    const dn_matrix *dst, const char *node, dn_prim *prim);

/** Copy weights (out,in,kh,kw), plain, into the layout of @p of's argument @p arg, or the way back.
 *  prim->desc stays NULL where that layout is the plain one: nothing to do. */
tc_status dn_weights_reorder(tc_dev *dev, const int64_t dims[4], const dn_prim *of, int arg,
                             bool back, const char *node, dn_prim *prim);
/** Copy activations between two layouts. */
tc_status dn_reorder(tc_dev *dev, const dn_layout *from, const dn_layout *to, const char *node,
                     dn_prim *prim);

/** Bytes of an argument, 0 where the primitive does not take it. */
size_t dn_arg_bytes(const dn_prim *prim, int arg);
/** The layout of an argument (n,c,h,w); false where dn_layout cannot express it. */
bool dn_arg_layout(const dn_prim *prim, int arg, dn_layout *layout_p);
/** Point an argument at memory, for good. */
tc_status dn_bind(tc_dev *dev, dn_prim *prim, int arg, void *ptr);
/** The same for the argument that reads the input: one pointer a slot. */
tc_status dn_bind_input(tc_dev *dev, dn_prim *prim, int arg, void *const ptr[TC_SLOTS]);
tc_status dn_run(tc_dev *dev, dn_prim *prim, int slot);
void dn_prim_free(dn_prim *prim);
const char *dn_isa_name(void);
bool dn_has_bf16(void);

/* ---- Devices, operations, steps ---- */

struct tc_dev {
    int ordinal, threads;
    const dn_kernels *kernels;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t attr; /* scratchpad mode user: two devices may share a cached primitive */
};

/** Memory of one tensor.  While backward is planned, buffers are handed on when free. */
typedef struct {
    int64_t bytes;
    int refs;      /* owners at this point of the plan; 0: free */
    int64_t freed; /* when: the latest freed is the warmest in the cache */
    void *data;
} dn_buffer;

/** After an operation's backward: buffer dst = a + b. */
typedef struct {
    int dst, a, b; /* dst -1: nothing to add */
} dn_sum;

/** One operation: a node, or several fused; `node` is the one with the parameters. */
typedef struct {
    tc_op kind;
    const tc_node *node;
    int out;                      /* the node whose output this writes */
    int n_in, in[TC_NODE_INPUTS]; /* nodes read */
    int residual;                 /* BN: node added before the ReLU, else -1 */
    bool relu;                    /* BN, ADD: ReLU at the end */

    dn_prim forward, back_data, back_weights; /* CONV, FC */
    dn_prim load_forward, load_back, store;   /* weights to and from the primitives' layouts */
    dn_prim flatten, unflatten;               /* FC on (C,H,W): blocked to plain and back */
    float *w_forward, *w_back;                /* weights in those layouts */
    float *flat;                              /* FC: plain (N, C*H*W) */
    uint8_t *which;                           /* MAX_POOL: the winner in each window */
    float *mean, *inv_std;                    /* BN, per padded channel: as the last forward used */
    float *scale, *shift, *p, *q, *r;         /* BN: see dn_bn_block */

    bool live;              /* backward reaches it */
    int dy, dz;             /* buffers: output's gradient; the same after the ReLU's mask */
    int dx[TC_NODE_INPUTS]; /* inputs' gradients as written here; -1: not wanted or dz */
    dn_sum sum[TC_NODE_INPUTS + 1];
} dn_op;

/** The output of a node. */
typedef struct {
    dn_layout layout;
    int64_t count;   /* elements, padding included */
    int64_t bytes;
    bool exists;     /* false: fused away */
    bool needs_grad; /* parameters lie upstream */
    int uses;
    int buffer; /* -1 for the input */
    void *data;
} dn_value;

typedef struct {
    void *input;     /* (N,3,H,W) normalised, in value[0].layout */
    int32_t *labels; /* (N), -1 beyond count */
    int64_t count;   /* 0: never placed */
} dn_slot;

/** Kinds of work that a profile tells apart (profile.c has their names). */
typedef enum {
    DN_WORK_LOAD,
    DN_WORK_CONV,
    DN_WORK_CONV_DATA,
    DN_WORK_CONV_WEIGHTS,
    DN_WORK_BN,
    DN_WORK_BN_BACK,
    DN_WORK_POOL,
    DN_WORK_POOL_BACK,
    DN_WORK_FC,
    DN_WORK_FC_BACK,
    DN_WORK_OTHER,
    DN_WORK_OTHER_BACK,
    DN_WORK_SUM,
    DN_WORK_LOSS,
    DN_WORKS
} dn_work;

struct tc_step {
    tc_dev *dev;
    const tc_graph *graph;
    int64_t batch;
    bool training;
    int n_buckets;
    int64_t *bound;
    int *bucket_op; /* [n_buckets] first operation that a bucket waits for; n_ops: none */

    int block;             /* channels in a block of the activations' layout */
    tc_precision type;     /* of activations, but for the head: see prims.c */
    const dn_lanes *lanes; /* kernels for that block and type */
    dn_value *value;       /* [n_nodes] */
    dn_op *op;             /* in order of execution */
    int n_ops;
    dn_buffer *buffer;
    int n_buffers;
    int64_t plan_clock;
    int *grad;     /* [n_nodes] while planning: buffer of the output's gradient, or -1 */
    int main_loss; /* index in op[] */

    tc_arena arena;
    float *weights, *momentum, *gradients, *stats; /* flat vectors in graph order */
    dn_slot slot[TC_SLOTS];
    float *w_grad;   /* a weight gradient in its primitive's layout, until stored */
    float *dx_flat;  /* FC: gradient of `flat` */
    double *partial; /* BN: two sums a plane */
    void *scratch;   /* oneDNN's scratchpad, one for all */
    int64_t w_grad_bytes, dx_flat_count, partial_count, scratch_bytes;
    float lut[3][256]; /* a pixel's value, normalised */

    bool stale;           /* weights changed since they were loaded into the layouts */
    bool ran;             /* a forward has run */
    tc_forward_mode mode; /* of that forward */
    int ran_slot;
    tc_metrics metrics;
    char choices[256];

    bool timed; /* by dn_lap(); only in a profile */
    double lap_start, lap[DN_WORKS];
};

/** Call work(ctx, i) for every i below count, on the device's threads.  Results never depend on the
 *  number of threads: each i writes what is its own. */
void dn_parallel(const tc_dev *dev, int64_t count, void (*work)(void *ctx, int64_t i), void *ctx);

/* compile.c */
tc_status dn_estimate(tc_dev *dev, const tc_graph *graph, const tc_compile_options *options,
                      uint64_t *bytes_p);
tc_status dn_compile(tc_dev *dev, const tc_graph *graph, const tc_compile_options *options,
                     tc_step **step_p);
void dn_step_free(tc_step *step);

/* plan.c */
tc_status dn_plan_ops(tc_step *step);
tc_status dn_plan_buffers(tc_step *step);

/* prims.c */
tc_status dn_create_prims(tc_step *step);
tc_status dn_bind_prims(tc_step *step);

/* layers.c, bn.c, loss.c: one operation */
tc_status dn_op_forward(tc_step *step, dn_op *op, int slot);
tc_status dn_op_backward(tc_step *step, dn_op *op, int slot);
void dn_bn_forward(tc_step *step, dn_op *op);
void dn_bn_backward(tc_step *step, dn_op *op);
void dn_softmax(int64_t n, int64_t classes, const float *logits, int64_t step_logits,
                const int32_t *labels, float scale, float *dlogits, int64_t step_dlogits,
                tc_metrics *metrics_p);

/* run.c: the table's functions on a step */
tc_status dn_place(tc_step *step, int slot, const tc_slice *slice);
tc_status dn_forward(tc_step *step, int slot, tc_forward_mode mode);
tc_status dn_metrics(tc_step *step, tc_metrics *metrics_p);
tc_status dn_backward(tc_step *step, int slot, const tc_step_events *events);
tc_status dn_train(tc_step *step, int slot, float scale, const tc_step_events *events);
float *dn_host_gradients(tc_step *step);
tc_status dn_update(tc_step *step, int b, const float *sum, const tc_sgd *sgd);
tc_status dn_read(tc_step *step, tc_vector vec, int64_t offset, int64_t count, tc_precision type,
                  void *out);
tc_status dn_write(tc_step *step, tc_vector vec, int64_t offset, int64_t count, tc_precision type,
                   const void *in);

/* profile.c */
tc_status dn_profile(tc_step *step, int slot, float scale, tc_profile *profile_p);
/** What ran since the last lap was of this kind. */
void dn_lap(tc_step *step, dn_work work);

#endif
