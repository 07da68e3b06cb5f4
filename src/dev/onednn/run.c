/* What the table does with a step: stage, run, read, write, update. */
#include <config.h>

#include "dev/onednn/onednn.h"

#include <omp.h>
#include <string.h>

/* OpenMP's setting belongs to the calling thread: every entry that computes makes it. */
static void enter(const tc_step *step)
{
    omp_set_num_threads(step->dev->threads);
}

/* ---- Staging ---- */

typedef struct {
    tc_step *step;
    dn_slot *slot;
    const tc_slice *slice;
} place_job;

static void place_work(void *ctx, int64_t i)
{
    const place_job *job = ctx;
    const dn_layout *l = &job->step->value[0].layout;
    const float *offset = job->slice->offset;

    dn_normalise(job->slice->images + i * 3 * l->h * l->w, job->step->lut,
                 offset ? offset + 3 * i : NULL,
                 (char *)job->slot->input + i * l->step_n * dn_size(l->type), l);
}

static tc_status check_slot(int slot)
{
    if (slot < 0 || slot >= TC_SLOTS)
        return tc_fail(TC_INVAL, "onednn: slot %d is not in 0..%d", slot, TC_SLOTS - 1);
    return TC_OK;
}

tc_status dn_place(tc_step *step, int slot, const tc_slice *slice)
{
    tc_status status = check_slot(slot);

    if (status != TC_OK)
        return status;
    if (slice->count < 1 || slice->count > step->batch)
        return tc_fail(TC_INVAL, "onednn: a slice of %lld pictures for a step of %lld",
                       (long long)slice->count, (long long)step->batch);
    for (int64_t i = 0; i < slice->count; i++)
        if (slice->labels[i] < -1 || slice->labels[i] >= step->graph->classes)
            return tc_fail(TC_INVAL, "onednn: label %d of picture %lld: the network knows 0..%lld",
                           (int)slice->labels[i], (long long)i,
                           (long long)step->graph->classes - 1);
    enter(step);
    dn_slot *to = &step->slot[slot];
    dn_parallel(step->dev, slice->count, place_work, &(place_job){ step, to, slice });
    for (int64_t i = 0; i < step->batch; i++)
        to->labels[i] = i < slice->count ? slice->labels[i] : -1;
    to->count = slice->count;
    return TC_OK;
}

/* ---- Forward ---- */

/* The weights as the primitives want them; once after every change. */
static tc_status load_weights(tc_step *step)
{
    tc_status status = TC_OK;

    if (!step->stale)
        return TC_OK;
    for (int i = 0; i < step->n_ops && status == TC_OK; i++) {
        status = dn_run(step->dev, &step->op[i].load_forward, 0);
        if (status == TC_OK && step->op[i].live)
            status = dn_run(step->dev, &step->op[i].load_back, 0);
    }
    step->stale = status != TC_OK;
    return status;
}

static tc_status check_train(const tc_step *step, const dn_slot *slot)
{
    for (int i = 0; i < step->n_ops; i++) {
        const tc_node *node = step->op[i].node;
        if (node->op == TC_OP_BN && slot->count * node->h * node->w < 2)
            return tc_fail(TC_INVAL,
                           "onednn: node %s has one value a channel in a batch of %lld: its"
                           " variance is undefined; use a larger batch",
                           node->name, (long long)slot->count);
    }
    return TC_OK;
}

static tc_status run_forward(tc_step *step, int slot, tc_forward_mode mode)
{
    tc_status status = check_slot(slot);

    if (status == TC_OK && step->slot[slot].count == 0)
        return tc_fail(TC_INVAL, "onednn: forward of slot %d, which holds no slice", slot);
    if (status == TC_OK && mode == TC_FORWARD_TRAIN)
        status = check_train(step, &step->slot[slot]);
    if (status != TC_OK)
        return status;
    enter(step);
    step->mode = mode;
    step->ran_slot = slot;
    step->value[0].data = step->slot[slot].input;
    status = load_weights(step);
    dn_lap(step, DN_WORK_LOAD);
    for (int i = 0; i < step->n_ops && status == TC_OK; i++)
        status = dn_op_forward(step, &step->op[i], slot);
    step->ran = status == TC_OK;
    return status;
}

/* The losses of the last forward; with a scale, the gradients of their logits too. */
static void run_losses(tc_step *step, bool gradients, float scale)
{
    const dn_slot *slot = &step->slot[step->ran_slot];

    for (int i = 0; i < step->n_ops; i++) {
        const dn_op *op = &step->op[i];
        bool wanted = gradients && op->live;
        if (op->kind != TC_OP_LOSS || (i != step->main_loss && !wanted))
            continue;
        const dn_value *logits = &step->value[op->in[0]];
        dn_softmax(step->batch, logits->layout.c, logits->data, logits->layout.step_n, slot->labels,
                   scale * (float)op->node->loss_weight,
                   wanted ? step->buffer[op->dx[0]].data : NULL, logits->layout.step_n,
                   i == step->main_loss ? &step->metrics : NULL);
    }
}

tc_status dn_forward(tc_step *step, int slot, tc_forward_mode mode)
{
    tc_status status = run_forward(step, slot, mode);

    if (status == TC_OK)
        run_losses(step, false, 0);
    return status;
}

tc_status dn_metrics(tc_step *step, tc_metrics *metrics_p)
{
    if (!step->ran)
        return tc_fail(TC_INVAL, "onednn: metrics before a forward");
    *metrics_p = step->metrics;
    return TC_OK;
}

/* ---- Backward ---- */

static void zero_param(tc_step *step, int param)
{
    if (param >= 0)
        memset(step->gradients + step->graph->param[param].offset, 0,
               (size_t)step->graph->param[param].count * sizeof(float));
}

static tc_status run_backward(tc_step *step, int slot, const tc_step_events *events)
{
    int next = step->n_buckets - 1;
    tc_status status = TC_OK;

    for (int i = 0; i < step->n_ops; i++) {
        if (step->op[i].live)
            continue;
        zero_param(step, step->op[i].node->weight); /* no loss reaches them */
        zero_param(step, step->op[i].node->bias);
    }
    for (int i = step->n_ops; i >= 0 && status == TC_OK; i--) {
        if (i < step->n_ops && step->op[i].live)
            status = dn_op_backward(step, &step->op[i], slot);
        for (; status == TC_OK && next >= 0 && step->bucket_op[next] >= i; next--)
            if (events != NULL && events->bucket != NULL)
                events->bucket(events->arg, next);
    }
    return status;
}

static tc_status check_backward(const tc_step *step)
{
    if (!step->training)
        return tc_fail(TC_INVAL, "onednn: this step was compiled without training");
    return TC_OK;
}

tc_status dn_backward(tc_step *step, int slot, const tc_step_events *events)
{
    tc_status status = check_backward(step);

    if (status != TC_OK)
        return status;
    if (!step->ran || slot != step->ran_slot)
        return tc_fail(TC_INVAL, "onednn: backward of slot %d without its forward", slot);
    enter(step);
    for (int i = 0; i < step->n_ops; i++) {
        const dn_op *op = &step->op[i];
        if (op->kind != TC_OP_LOSS || !op->live)
            continue;
        /* DLOGITS carry the main loss alone; rows without a picture have no gradient. */
        const dn_layout *l = &step->value[op->in[0]].layout;
        int64_t given = i == step->main_loss ? step->slot[slot].count : 0;
        for (int64_t n = given; n < l->n; n++)
            memset((float *)step->buffer[op->dx[0]].data + n * l->step_n, 0,
                   (size_t)l->c * sizeof(float));
    }
    return run_backward(step, slot, events);
}

tc_status dn_train(tc_step *step, int slot, float scale, const tc_step_events *events)
{
    tc_status status = check_backward(step);

    if (status == TC_OK)
        status = run_forward(step, slot, TC_FORWARD_TRAIN);
    if (status != TC_OK)
        return status;
    run_losses(step, true, scale);
    dn_lap(step, DN_WORK_LOSS);
    return run_backward(step, slot, events);
}

float *dn_host_gradients(tc_step *step)
{
    return step->gradients;
}

/* ---- Update ---- */

typedef struct {
    void (*update)(const float *, float *, float *, int64_t, const tc_sgd *, float);
    float *weights, *momentum;
    const float *sum;
    const tc_sgd *sgd;
    int64_t count;
    float decay;
} sgd_job;

#define SGD_CHUNK ((int64_t)16384)

static void sgd_work(void *ctx, int64_t i)
{
    const sgd_job *job = ctx;
    int64_t at = i * SGD_CHUNK, n = job->count - at < SGD_CHUNK ? job->count - at : SGD_CHUNK;

    job->update(job->sum + at, job->weights + at, job->momentum + at, n, job->sgd, job->decay);
}

tc_status dn_update(tc_step *step, int b, const float *sum, const tc_sgd *sgd)
{
    tc_status status = check_backward(step);

    if (status != TC_OK)
        return status;
    if (b < 0 || b >= step->n_buckets)
        return tc_fail(TC_INVAL, "onednn: bucket %d of %d", b, step->n_buckets);
    enter(step);
    for (int i = 0; i < step->graph->n_params; i++) {
        const tc_param *param = &step->graph->param[i];
        int64_t from = param->offset, to = param->offset + param->count;
        if (from < step->bound[b])
            from = step->bound[b];
        if (to > step->bound[b + 1])
            to = step->bound[b + 1];
        if (from >= to)
            continue;
        sgd_job job = { step->dev->kernels->sgd,
                        step->weights + from,
                        step->momentum + from,
                        sum + from,
                        sgd,
                        to - from,
                        param->decay ? sgd->weight_decay : 0 };
        dn_parallel(step->dev, (job.count + SGD_CHUNK - 1) / SGD_CHUNK, sgd_work, &job);
    }
    step->stale = true;
    return TC_OK;
}

/* ---- Vectors ---- */

/* A vector of the step: rows of `cols` elements, `step` apart. */
typedef struct {
    const char *name;
    float *data;
    int64_t rows, cols, step;
    bool read, write;
} vector;

static vector vector_of(const tc_step *step, tc_vector vec)
{
    const tc_graph *graph = step->graph;
    const dn_op *loss = &step->op[step->main_loss];
    const dn_value *logits = &step->value[loss->in[0]];
    int64_t params = graph->param_count, stats = graph->stat_count;
    int64_t rows = step->batch, cols = logits->layout.c, apart = logits->layout.step_n;

    switch (vec) {
    case TC_VEC_WEIGHTS:
        return (vector){ "weights", step->weights, 1, params, params, true, true };
    case TC_VEC_GRADIENTS:
        return (vector){ "gradients", step->gradients, 1, params, params, true, true };
    case TC_VEC_MOMENTUM:
        return (vector){ "momentum", step->momentum, 1, params, params, true, true };
    case TC_VEC_STATS:
        return (vector){ "statistics", step->stats, 1, stats, stats, true, true };
    case TC_VEC_LOGITS:
        return (vector){ "logits", logits->data, rows, cols, apart, true, false };
    case TC_VEC_DLOGITS:
        return (vector){ "dlogits", loss->live ? step->buffer[loss->dx[0]].data : NULL,
                         rows,      cols,
                         apart,     false,
                         true };
    }
    return (vector){ .name = "unknown vector" };
}

/* Exactly one of out and in is given. */
static tc_status copy(tc_step *step, tc_vector vec, int64_t offset, int64_t count,
                      tc_precision type, float *out, const float *in)
{
    vector v = vector_of(step, vec);

    if (type != TC_F32)
        return tc_fail(TC_NOSUPPORT, "onednn: %s are read and written as f32, not f16, bf16 or f64",
                       v.name);
    if (in != NULL ? !v.write : !v.read)
        return tc_fail(TC_INVAL, "onednn: %s cannot be %s", v.name, in ? "written" : "read");
    if (offset < 0 || count < 0 || count > v.rows * v.cols || offset > v.rows * v.cols - count)
        return tc_fail(TC_INVAL, "onednn: %s: elements [%lld, %lld) of %lld", v.name,
                       (long long)offset, (long long)(offset + count),
                       (long long)(v.rows * v.cols));
    if (v.data == NULL && count > 0)
        return tc_fail(TC_INVAL, "onednn: %s: this step was compiled without training", v.name);
    while (count > 0) {
        int64_t col = offset % v.cols, n = v.cols - col < count ? v.cols - col : count;
        float *at = v.data + offset / v.cols * v.step + col;
        if (in != NULL) {
            memcpy(at, in, (size_t)n * sizeof *at);
            in += n;
        } else {
            memcpy(out, at, (size_t)n * sizeof *at);
            out += n;
        }
        offset += n;
        count -= n;
    }
    if (in != NULL && vec == TC_VEC_WEIGHTS)
        step->stale = true;
    return TC_OK;
}

tc_status dn_read(tc_step *step, tc_vector vec, int64_t offset, int64_t count, tc_precision type,
                  void *out)
{
    return copy(step, vec, offset, count, type, out, NULL);
}

tc_status dn_write(tc_step *step, tc_vector vec, int64_t offset, int64_t count, tc_precision type,
                   const void *in)
{
    return copy(step, vec, offset, count, type, NULL, in);
}
