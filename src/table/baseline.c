#include <config.h>

#include "table/table_impl.h"

#include "base/clock.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

/*
 * Torch's DataParallelTable (FACTS section 2), kept as it is because it is what the optimizations
 * are measured against: one job a device and a meeting of all after every phase, and whatever
 * concerns the whole batch or the whole model is done by device 0 alone.
 */

static int64_t picture_bytes(const tc_graph *graph)
{
    return graph->node[0].h * graph->node[0].w * 3;
}

static tc_status host_floats(const tc_table *t, int64_t count, float **ptr_p)
{
    size_t bytes;
    tc_status status = tc_size_mul(count, sizeof **ptr_p, 0, &bytes);

    return status == TC_OK ? t->backend->host_alloc(bytes, (void **)ptr_p) : status;
}

tc_status tc_baseline_create(tc_table *t)
{
    int64_t pictures = t->devices * t->batch, outputs = pictures * t->graph->classes;
    tc_status status = TC_OK;
    size_t bytes;

    t->sum = t->worker[0].gradients;
    if (t->devices > 1)
        status = host_floats(t, t->graph->param_count, &t->base.weights);
    if (status != TC_OK || !t->compile.training)
        return status;
    status = tc_size_mul(pictures, (size_t)picture_bytes(t->graph), 0, &bytes);
    if (status == TC_OK)
        status = t->backend->host_alloc(bytes, (void **)&t->base.images);
    if (status == TC_OK)
        status = tc_alloc(pictures, sizeof *t->base.labels, "labels", &t->base.labels);
    if (status == TC_OK)
        status = tc_alloc(pictures * 3, sizeof *t->base.offset, "offsets", &t->base.offset);
    if (status == TC_OK)
        status = host_floats(t, outputs, &t->base.logits);
    if (status == TC_OK)
        status = host_floats(t, outputs, &t->base.dlogits);
    if (status == TC_OK && t->devices > 1)
        status = host_floats(t, t->graph->param_count, &t->base.zeros);
    return status;
}

void tc_baseline_destroy(tc_table *t)
{
    void *host[] = { t->base.weights, t->base.images, t->base.logits, t->base.dlogits,
                     t->base.zeros };

    for (size_t i = 0; i < sizeof host / sizeof *host; i++)
        if (host[i])
            t->backend->host_free(host[i]);
    tc_free(t->base.labels);
    tc_free(t->base.offset);
}

/* Device 0: put the batch together from the devices' slices. */
static void gather_batch_job(tc_worker *w)
{
    tc_table *t = w->table;
    int64_t b = t->batch, bytes = picture_bytes(t->graph);
    tc_status status = TC_OK;

    t->base.data = 0;
    for (int d = 0; d < t->devices; d++) {
        tc_loader_slice got;
        double wait = 0;
        status = tc_loader_get(t->call.loader, t->call.index, d, &got, &wait);
        t->base.data += wait;
        tc_failure_note(&w->failure, status);
        if (status != TC_OK)
            continue; /* the loader expects that every slice is asked for */
        t->base.with_offset = got.offset != NULL;
        memcpy(t->base.images + d * b * bytes, got.images, (size_t)(b * bytes));
        memcpy(t->base.labels + d * b, got.labels, (size_t)b * sizeof *got.labels);
        if (got.offset)
            memcpy(t->base.offset + d * b * 3, got.offset, (size_t)b * 3 * sizeof *got.offset);
        tc_loader_release(t->call.loader, t->call.index, d);
    }
}

/* Device 0: its weights, for the others. */
static void read_weights_job(tc_worker *w)
{
    tc_table *t = w->table;

    tc_failure_note(&w->failure, t->backend->read(w->step, TC_VEC_WEIGHTS, 0, t->graph->param_count,
                                                  TC_F32, t->base.weights));
}

static void write_weights_job(tc_worker *w)
{
    tc_table *t = w->table;

    tc_failure_note(&w->failure, t->backend->write(w->step, TC_VEC_WEIGHTS, 0,
                                                   t->graph->param_count, TC_F32, t->base.weights));
}

static void scatter_job(tc_worker *w)
{
    tc_table *t = w->table;
    int64_t first = w->index * t->batch;
    tc_slice slice = {
        .count = t->batch,
        .images = t->base.images + first * picture_bytes(t->graph),
        .labels = t->base.labels + first,
        .offset = t->base.with_offset ? t->base.offset + first * 3 : NULL,
    };

    w->slot = (w->slot + 1) % TC_SLOTS;
    tc_failure_note(&w->failure, t->backend->place(w->step, w->slot, &slice));
}

static void forward_job(tc_worker *w)
{
    tc_failure_note(&w->failure, w->table->backend->forward(w->step, w->slot, TC_FORWARD_TRAIN));
}

static void gather_outputs_job(tc_worker *w)
{
    tc_table *t = w->table;
    int64_t count = t->batch * t->graph->classes;

    tc_failure_note(&w->failure, t->backend->read(w->step, TC_VEC_LOGITS, 0, count, TC_F32,
                                                  t->base.logits + w->index * count));
}

/* Device 0: loss and its gradient of the whole batch. */
static void criterion_job(tc_worker *w)
{
    tc_table *t = w->table;

    tc_failure_note(&w->failure,
                    t->backend->criterion(w->dev, t->devices * t->batch, t->graph->classes,
                                          t->base.logits, t->base.labels, t->scale, t->base.dlogits,
                                          &w->metrics));
}

static void scatter_dlogits_job(tc_worker *w)
{
    tc_table *t = w->table;
    int64_t count = t->batch * t->graph->classes;

    tc_failure_note(&w->failure, t->backend->write(w->step, TC_VEC_DLOGITS, 0, count, TC_F32,
                                                   t->base.dlogits + w->index * count));
}

static void backward_job(tc_worker *w)
{
    tc_step_events none = { .arg = NULL };

    tc_failure_note(&w->failure, w->table->backend->backward(w->step, w->slot, &none));
}

/* Device 0: add the replicas' gradients to its own, one after the other. */
static void add_replicas_job(tc_worker *w)
{
    tc_table *t = w->table;
    int64_t count = t->graph->param_count;

    for (int d = 1; d < t->devices; d++) {
        const float *restrict more = t->worker[d].gradients;
        float *restrict sum = t->sum;
        for (int64_t i = 0; i < count; i++)
            sum[i] += more[i];
    }
}

static void zero_gradients_job(tc_worker *w)
{
    tc_table *t = w->table;

    tc_failure_note(&w->failure, t->backend->write(w->step, TC_VEC_GRADIENTS, 0,
                                                   t->graph->param_count, TC_F32, t->base.zeros));
}

static void update_job(tc_worker *w)
{
    tc_table *t = w->table;
    tc_status status = TC_OK;

    for (int b = t->compile.n_buckets - 1; b >= 0 && status == TC_OK; b--)
        status = t->backend->update(w->step, b, t->sum, t->call.sgd);
    tc_failure_note(&w->failure, status);
}

/* Device 0: wait until no update reads the gradients any more. */
static void settle_job(tc_worker *w)
{
    tc_metrics ignored;

    tc_failure_note(&w->failure, w->table->backend->metrics(w->step, &ignored));
}

/* One phase on workers [first, first + count), then a meeting; its time is added to *seconds. */
static tc_status phase(tc_table *t, int first, int count, tc_job *job, double *seconds)
{
    double start = tc_now();
    tc_status status = tc_workers_run(t, first, count, job);

    *seconds += tc_now() - start;
    return status;
}

tc_status tc_baseline_broadcast(tc_table *t)
{
    tc_status status;
    double seconds = 0;

    if (!t->base.stale || t->devices == 1)
        return TC_OK;
    status = phase(t, 0, 1, read_weights_job, &seconds);
    if (status == TC_OK)
        status = phase(t, 1, t->devices - 1, write_weights_job, &seconds);
    t->times.update += seconds;
    t->base.stale = status != TC_OK;
    return status;
}

/* Forward, criterion and backward of one batch; the gradient ends in device 0's. */
static tc_status compute(tc_table *t)
{
    int n = t->devices;
    tc_table_times *s = &t->times;
    tc_status status = phase(t, 0, 1, gather_batch_job, &s->place);

    s->place -= t->base.data;
    s->data += t->base.data;
    if (status == TC_OK)
        status = tc_baseline_broadcast(t);
    if (status == TC_OK)
        status = phase(t, 0, n, scatter_job, &s->place);
    if (status == TC_OK)
        status = phase(t, 0, n, forward_job, &s->forward);
    if (status == TC_OK)
        status = phase(t, 0, n, gather_outputs_job, &s->place);
    if (status == TC_OK)
        status = phase(t, 0, 1, criterion_job, &s->forward);
    if (status == TC_OK)
        status = phase(t, 0, n, scatter_dlogits_job, &s->place);
    if (status == TC_OK)
        status = phase(t, 0, n, backward_job, &s->backward);
    if (status == TC_OK && n > 1)
        status = phase(t, 0, 1, add_replicas_job, &s->reduce);
    if (status == TC_OK && n > 1)
        status = phase(t, 1, n - 1, zero_gradients_job, &s->reduce);
    return status;
}

/* Sum over the ranks, after all computing. */
static tc_status allreduce(tc_table *t)
{
    int n = t->compile.n_buckets;
    double start = tc_now();
    tc_status status = TC_OK;

    for (int b = n - 1; b >= 0 && status == TC_OK; b--)
        status = tc_allreduce_start(t->allreduce, b, t->sum + t->compile.bound[b]);
    for (int left = n; left > 0 && status == TC_OK; left--) {
        int done = TC_NONE;
        status = tc_allreduce_progress(t->allreduce, TC_BLOCK, NULL, &done, NULL);
        assert(status != TC_OK || done >= 0);
    }
    t->times.comm += tc_now() - start;
    return status;
}

tc_status tc_baseline_train(tc_table *t, tc_metrics *metrics_p)
{
    tc_failure failure = { .status = TC_OK };

    memset(&t->worker[0].metrics, 0, sizeof t->worker[0].metrics);
    tc_failure_note(&failure, compute(t));
    if (failure.status != TC_OK && !TC_STATUS_IS_FATAL(failure.status))
        tc_failure_note(&failure, tc_workers_run(t, 0, 1, settle_job));
    if (!TC_STATUS_IS_FATAL(failure.status) && t->allreduce)
        tc_failure_note(&failure, allreduce(t));
    if (!TC_STATUS_IS_FATAL(failure.status)) {
        t->base.stale = true;
        tc_failure_note(&failure, phase(t, 0, 1, update_job, &t->times.update));
    }
    *metrics_p = t->worker[0].metrics;
    return tc_failure_raise(&failure);
}
