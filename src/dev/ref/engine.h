#ifndef TC_DEV_REF_ENGINE_H
#define TC_DEV_REF_ENGINE_H
/**
 * @file engine.h
 * The reference backend's step at one precision.  Its sources (those that include
 * step.h) are compiled twice, with real = float and real = double; ref.c calls one or the other
 * through this table.  Used by: ref.c, plan.c, step.h.
 */
#include "dev/backend.h"

typedef struct ref_engine {
    tc_status (*estimate)(const tc_graph *graph, const tc_compile_options *options,
                          uint64_t *bytes_p);
    tc_status (*compile)(const tc_graph *graph, const tc_compile_options *options, int threads,
                         tc_step **step_p);
    void (*step_free)(tc_step *step);
    tc_status (*place)(tc_step *step, int slot, const tc_slice *slice);
    tc_status (*forward)(tc_step *step, int slot, tc_forward_mode mode);
    void (*metrics)(tc_step *step, tc_metrics *metrics_p);
    tc_status (*backward)(tc_step *step, int slot, const tc_step_events *events);
    tc_status (*train)(tc_step *step, int slot, float scale, const tc_step_events *events);
    float *(*host_gradients)(tc_step *step);
    tc_status (*update)(tc_step *step, int b, const float *sum, const tc_sgd *sgd);
    tc_status (*read)(tc_step *step, tc_vector vec, int64_t offset, int64_t count,
                      tc_precision type, void *out);
    tc_status (*write)(tc_step *step, tc_vector vec, int64_t offset, int64_t count,
                       tc_precision type, const void *in);
    const char *(*choices)(tc_step *step);
} ref_engine;

extern const ref_engine ref_f32_engine, ref_f64_engine;

/* What every tc_step of this backend starts with. */
typedef struct {
    const ref_engine *engine;
} ref_head;

/* A tensor in memory that is shared over time: alive in the turns [from, to], both included. */
typedef struct {
    int from, to;
    int64_t count, offset; /* elements; offset is the planner's answer, -1: needs no memory */
} ref_life;

/** Give every tensor an offset such that no two that live at the same time overlap; first fit in
 *  the order of the table.  Returns the length that holds them all. */
int64_t ref_plan(ref_life *life, int n);

/** Softmax cross-entropy in fp32; see loss.c. */
void ref_f32_cross_entropy(int64_t n, int64_t classes, const float *logits, const int32_t *labels,
                           double scale, float *dlogits, tc_metrics *metrics);

/** The word of a precision for messages. */
const char *ref_precision(tc_precision precision);

/** @retval TC_INVAL  a label is neither -1 nor a class; named with its position. */
tc_status ref_check_labels(int64_t n, int64_t classes, const int32_t *labels);

#endif
