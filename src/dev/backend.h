#ifndef TC_DEV_BACKEND_H
#define TC_DEV_BACKEND_H
/**
 * @file backend.h
 * What a compute backend is: one const table of functions.  It compiles a whole network graph, so
 * that it alone chooses layouts, fusions, workspaces, the order of execution and all memory.
 *
 * Flow:  open -> compile -> write(weights, statistics)
 *        -> { place -> train -> update(every bucket) } … | { place -> forward -> metrics } …
 *        -> step_free -> close
 * or, for a table with meeting points (phases instead of `train`):
 *        place -> forward(TRAIN) -> read(LOGITS) … write(DLOGITS) -> backward -> update
 *
 * Threads: open, compile and every later call on a device and its steps are made by ONE thread, the
 * device's own (OpenMP settings and the current CUDA device are per thread).  Different devices run
 * concurrently.  Nothing here calls MPI.  No call after the second step allocates.
 *
 * Asynchrony: a backend may queue work and return from place, update and write; every function
 * that hands something to the host (read, metrics, the bucket callback) first waits for it, and
 * each call sees the effect of all earlier ones.  So a GPU backend with streams, events and a
 * captured step fits: `train` launches the capture, calls `launched`, then waits for the event of
 * each bucket's copy to the host in backward order and calls `bucket`; `update` queues the copy
 * back and the update on a stream of its own, with one event that the next `train` waits for.
 *
 * Used by: dev.c (finds one), table (drives them), tests.
 */
#include "base/status.h"
#include "nn/graph.h"
#include <stddef.h>
#include <stdint.h>

typedef struct tc_dev tc_dev;   /* an open device; each backend defines its own */
typedef struct tc_step tc_step; /* a compiled graph; likewise */

typedef enum { TC_F32, TC_F64, TC_BF16, TC_F16 } tc_precision;

typedef struct {
    int ordinal;   /* device number on this host, 0.. (CPU backends: a label) */
    int threads;   /* CPU: cores of this device, >= 1; the caller has bound the calling thread */
} tc_dev_options;

typedef struct {
    int64_t max_batch;       /* slices have 1..max_batch pictures; training slices are full */
    tc_precision precision;  /* of activations; weights, gradients, statistics: fp32 or wider */
    int n_buckets;
    const int64_t *bound;    /* n_buckets + 1 ascending offsets, see tc_graph_buckets(); copied */
    bool training;           /* false: no memory for backward is taken; train and backward refuse */
    bool deterministic;      /* bit-identical results from run to run, where that costs speed */
} tc_compile_options;

/** One slice of a batch: the pictures of one device in one step.  Borrowed. */
typedef struct {
    int64_t count;           /* 1..max_batch */
    const uint8_t *images;   /* (count,H,W,3) u8 RGB */
    const int32_t *labels;   /* (count); -1: padding, counts in no sum and gets no gradient */
    const float *offset;     /* (count,3) added after normalisation (PCA lighting), or NULL */
} tc_slice;

/** Sums over the labelled pictures of the last forward. */
typedef struct {
    double loss;             /* sum of the main cross-entropy, not divided */
    int64_t count, top1, top5; /* top5 counts min(5, classes); ties go to the lower class */
} tc_metrics;

typedef enum { TC_FORWARD_TRAIN, TC_FORWARD_EVAL } tc_forward_mode;

/** Vectors of a step that the host may read and write, all in graph order. */
typedef enum {
    TC_VEC_WEIGHTS,   /* param_count */
    TC_VEC_GRADIENTS, /* param_count; of this device alone */
    TC_VEC_MOMENTUM,  /* param_count */
    TC_VEC_STATS,     /* stat_count: running mean and (unbiased) variance */
    TC_VEC_LOGITS,    /* (max_batch, classes): rows of the last forward's slice */
    TC_VEC_DLOGITS    /* (max_batch, classes): write only, before backward */
} tc_vector;

/** SGD with Nesterov momentum in PyTorch's form: d = g + wd*w (wd only where the parameter decays);
 *  v = momentum*v + d; w -= lr * (nesterov ? d + momentum*v : v). */
typedef struct {
    float lr, momentum, weight_decay;
    bool nesterov;
} tc_sgd;

/** Callbacks of `train` and `backward`, called by the device's thread; any may be NULL. */
typedef struct {
    /* An asynchronous backend calls it once, when the step has been handed to the device and this
       thread is free: the place to stage the next slice.  Synchronous backends do not call it. */
    void (*launched)(void *arg);
    /* Gradients of [bound[b], bound[b+1]) are final and readable at host_gradients(); called in
       descending order of b, exactly once a bucket. */
    void (*bucket)(void *arg, int b);
    void *arg;
} tc_step_events;

/** Seconds that one kind of work took in a step: "conv forward", "bn backward", … */
typedef struct {
    const char *what;
    double seconds;
} tc_time;

#define TC_TIMES 24 /* kinds of work that a backend may tell apart */

/** Where a step's time goes. */
typedef struct {
    int n;
    tc_time part[TC_TIMES];
    double bare; /* the sum of every convolution's forward, data and weight gradient, run alone */
} tc_profile;

#define TC_SLOTS 2 /* slices that can be staged in a step at a time */

typedef struct tc_backend {
    const char *name;

    /** Count the devices that could be opened here.  @param[out] count_p  0: none, and tc_fail()'s
     *  text says why (no driver, no such instruction set). */
    tc_status (*probe)(int *count_p);
    tc_status (*open)(const tc_dev_options *options, tc_dev **dev_p);
    void (*close)(tc_dev *dev); /* after its steps; NULL accepted */

    /** Memory of the host that the device copies from and to at full speed (pinned on a GPU),
     *  aligned to TC_ALIGN, zeroed.  Thread-safe: yes. */
    tc_status (*host_alloc)(size_t bytes, void **ptr_p);
    void (*host_free)(void *ptr);

    /** Bytes that compile() will take on the device.  Takes none itself. */
    tc_status (*estimate)(tc_dev *dev, const tc_graph *graph, const tc_compile_options *options,
                          uint64_t *bytes_p);
    /** Compile the graph (borrowed for the life of the step).  Weights and momentum start at 0,
     *  statistics at mean 0, variance 1.
     *  @retval TC_NOSUPPORT  an operation, precision or shape that this backend lacks, named.
     *  @retval TC_NOMEM, TC_DEVICE. */
    tc_status (*compile)(tc_dev *dev, const tc_graph *graph, const tc_compile_options *options,
                         tc_step **step_p);
    void (*step_free)(tc_step *step); /* NULL accepted */

    /** Stage a slice in a slot.  The slice's memory may be reused once a later call has waited for
     *  the step that uses it (train or metrics).  @retval TC_INVAL  count, label out of range. */
    tc_status (*place)(tc_step *step, int slot, const tc_slice *slice);

    /** Forward of a slot.  TRAIN: batch statistics, running statistics are updated; fewer than 2
     *  values a channel are refused (TC_INVAL).  EVAL: running statistics. */
    tc_status (*forward)(tc_step *step, int slot, tc_forward_mode mode);
    /** Loss and hits of the last forward (or train); waits for them. */
    tc_status (*metrics)(tc_step *step, tc_metrics *metrics_p);
    /** Backward from DLOGITS, after a forward.  A forward in EVAL mode may be differentiated too:
     *  BN is then an affine map with constant statistics (gamma and beta get their gradients).
     *  DLOGITS are the main loss's: a second loss, which `train` would weigh in, adds nothing here.
     *  Forward again before the next backward: it may have used up the activations. */
    tc_status (*backward)(tc_step *step, int slot, const tc_step_events *events);

    /** Forward(TRAIN), loss and backward as one job.  d loss/d logits = scale * (softmax - onehot);
     *  with scale = 1/B and a sum over all devices the gradient is the mean's.  Gradients are
     *  overwritten, not accumulated. */
    tc_status (*train)(tc_step *step, int slot, float scale, const tc_step_events *events);

    /** Host-visible flat fp32 gradients (param_count), owned by the step; the range of bucket b is
     *  valid from its callback until the next train or backward.  Writable: the table sums here. */
    float *(*host_gradients)(tc_step *step);
    /** Apply SGD to bucket b's range from sum[param_count] (flat, host; may be host_gradients()).
     *  sum's range must stay unchanged until the next call that waits. */
    tc_status (*update)(tc_step *step, int b, const float *sum, const tc_sgd *sgd);

    /** Copy elements [offset, offset+count) of a vector to / from the host.  type is TC_F32 or, in
     *  `ref` at TC_F64, TC_F64.  @retval TC_INVAL  range; TC_NOSUPPORT  type. */
    tc_status (*read)(tc_step *step, tc_vector vec, int64_t offset, int64_t count,
                      tc_precision type, void *out);
    tc_status (*write)(tc_step *step, tc_vector vec, int64_t offset, int64_t count,
                       tc_precision type, const void *in);

    /** Softmax cross-entropy on a device alone, outside any graph (the baseline table's criterion):
     *  logits (n,classes), labels (n) -> dlogits (n,classes) = scale * (softmax - onehot), 0 for
     *  label -1; metrics are sums as above. */
    tc_status (*criterion)(tc_dev *dev, int64_t n, int64_t classes, const float *logits,
                           const int32_t *labels, float scale, float *dlogits,
                           tc_metrics *metrics_p);

    /** One line on what was chosen (layouts, instruction set, library version), for the log; owned
     *  by the step. */
    const char *(*choices)(tc_step *step);

    /** One step as train() makes it, without events, taken apart; for benches.  Afterwards there is
     *  nothing to read: place and train again.  NULL: this backend cannot tell. */
    tc_status (*profile)(tc_step *step, int slot, float scale, tc_profile *profile_p);
} tc_backend;

#endif
