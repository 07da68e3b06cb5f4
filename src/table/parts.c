/*
 * One slice in several parts, each trained as if it were another device's: BN takes the statistics
 * of a part alone, gradients are added up in the order of the parts, and the running statistics
 * become the mean of what each part would have made of those before the step.  So a device with n
 * parts computes what n devices with one part each compute.
 */
#include <config.h>

#include "base/clock.h"
#include "base/mem.h"
#include "table/table_impl.h"

#include <string.h>

/* What a worker needs to put parts together. */
struct tc_parts {
    float *gradients;   /* (param_count) sum of the parts before the last */
    float *before;      /* (stat_count) running statistics before the step */
    float *after;       /* (stat_count) what a part made of them */
    double *sum;        /* (stat_count) sum of the parts' */
    const tc_step_events *events; /* the caller's, told in the last part */
    tc_worker *worker;
};

static tc_status create_parts(const tc_table *t, tc_worker *w)
{
    int64_t params = t->graph->param_count, stats = t->graph->stat_count;
    tc_parts *p;
    tc_status status = tc_alloc(1, sizeof *p, "parts of a slice", &w->parts);

    if (status != TC_OK)
        return status;
    p = w->parts;
    p->worker = w;
    status = tc_alloc(params, sizeof *p->gradients, "gradients of the parts", &p->gradients);
    if (status == TC_OK)
        status = tc_alloc(stats, sizeof *p->before, "BN statistics of the parts", &p->before);
    if (status == TC_OK)
        status = tc_alloc(stats, sizeof *p->after, "BN statistics of the parts", &p->after);
    if (status == TC_OK)
        status = tc_alloc(stats, sizeof *p->sum, "BN statistics of the parts", &p->sum);
    return status;
}

tc_status tc_parts_create(tc_table *t)
{
    tc_status status = TC_OK;

    if (t->part == t->batch || !t->compile.training)
        return TC_OK;
    for (int d = 0; status == TC_OK && d < t->devices; d++)
        status = create_parts(t, &t->worker[d]);
    return status;
}

void tc_parts_destroy(tc_table *t)
{
    for (int d = 0; t->worker && d < t->devices; d++) {
        tc_parts *p = t->worker[d].parts;
        if (!p)
            continue;
        tc_free(p->gradients);
        tc_free(p->before);
        tc_free(p->after);
        tc_free(p->sum);
        tc_free(p);
    }
}

/* Pictures [at, at + part) of a slice. */
static tc_slice part_of(const tc_table *t, const tc_slice *slice, int64_t at)
{
    int64_t picture = 3 * t->graph->node[0].h * t->graph->node[0].w, left = slice->count - at;

    return (tc_slice){ .count = left < t->part ? left : t->part,
                       .images = slice->images + at * picture,
                       .labels = slice->labels + at,
                       .offset = slice->offset ? slice->offset + at * 3 : NULL };
}

static tc_status place(tc_worker *w, const tc_slice *slice, int *slot_p)
{
    *slot_p = w->slot;
    w->slot = (w->slot + 1) % TC_SLOTS;
    return w->table->backend->place(w->step, *slot_p, slice);
}

/* Place and train one part; its metrics are added. */
static tc_status train_part(tc_worker *w, const tc_slice *part, const tc_step_events *events)
{
    const tc_backend *backend = w->table->backend;
    double start = tc_now(), placed, reduce = w->times.reduce;
    tc_metrics metrics;
    int slot;
    tc_status status = place(w, part, &slot);

    placed = tc_now();
    w->times.place += placed - start;
    if (status != TC_OK)
        return status;
    status = backend->train(w->step, slot, w->table->scale, events);
    /* The callbacks have added up shares of the other devices in between. */
    w->times.backward += tc_now() - placed - (w->times.reduce - reduce);
    if (status == TC_OK)
        status = backend->metrics(w->step, &metrics);
    if (status == TC_OK)
        tc_metrics_add(&w->metrics, &metrics);
    return status;
}

static void add(float *restrict to, const float *restrict from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] += from[i];
}

/* The last part's gradient of a bucket is there: with those before it, it is the slice's. */
static void last_bucket(void *arg, int b)
{
    tc_parts *p = arg;
    const int64_t *bound = p->worker->table->compile.bound;

    add(p->worker->gradients + bound[b], p->gradients + bound[b], bound[b + 1] - bound[b]);
    if (p->events->bucket)
        p->events->bucket(p->events->arg, b);
}

/* Add this part's running statistics up; they begin anew, or, after the last, become the mean. */
static tc_status take_stats(tc_worker *w, int64_t part, bool last)
{
    const tc_backend *backend = w->table->backend;
    int64_t n = w->table->graph->stat_count;
    tc_parts *p = w->parts;
    tc_status status;

    if (n == 0)
        return TC_OK;
    status = backend->read(w->step, TC_VEC_STATS, 0, n, TC_F32, p->after);
    if (status != TC_OK)
        return status;
    for (int64_t i = 0; i < n; i++)
        p->sum[i] = (part ? p->sum[i] : 0.0) + (double)p->after[i];
    for (int64_t i = 0; last && i < n; i++)
        p->after[i] = (float)(p->sum[i] / (double)(part + 1));
    return backend->write(w->step, TC_VEC_STATS, 0, n, TC_F32, last ? p->after : p->before);
}

tc_status tc_slice_train(tc_worker *w, const tc_slice *slice, const tc_step_events *events)
{
    const tc_table *t = w->table;
    const tc_step_events last_events = { .bucket = last_bucket, .arg = w->parts };
    int64_t parts = slice->count / t->part; /* training slices are full */
    tc_parts *p = w->parts;
    tc_status status = TC_OK;

    if (!p)
        return train_part(w, slice, events);
    p->events = events;
    if (t->graph->stat_count > 0)
        status = t->backend->read(w->step, TC_VEC_STATS, 0, t->graph->stat_count, TC_F32,
                                  p->before);
    for (int64_t i = 0; status == TC_OK && i < parts; i++) {
        bool last = i == parts - 1;
        const tc_slice part = part_of(t, slice, i * t->part);
        status = train_part(w, &part, last ? &last_events : NULL);
        if (status == TC_OK)
            status = take_stats(w, i, last);
        if (i == 0)
            memcpy(p->gradients, w->gradients,
                   (size_t)t->graph->param_count * sizeof *p->gradients);
        else if (!last)
            add(p->gradients, w->gradients, t->graph->param_count);
    }
    return status;
}

tc_status tc_slice_evaluate(tc_worker *w, const tc_slice *slice, int64_t valid, float *logits)
{
    const tc_table *t = w->table;
    int64_t classes = t->graph->classes;
    tc_status status = TC_OK;

    for (int64_t at = 0; status == TC_OK && at < slice->count; at += t->part) {
        const tc_slice part = part_of(t, slice, at);
        tc_metrics metrics = { 0 };
        int slot;
        /* Padding alone, beyond the end of the set, has nothing to compute. */
        if (at >= valid) {
            if (logits)
                memset(logits + at * classes, 0,
                       (size_t)(part.count * classes) * sizeof *logits);
            continue;
        }
        status = place(w, &part, &slot);
        if (status == TC_OK)
            status = t->backend->forward(w->step, slot, TC_FORWARD_EVAL);
        if (status == TC_OK)
            status = t->backend->metrics(w->step, &metrics);
        if (status == TC_OK && logits)
            status = t->backend->read(w->step, TC_VEC_LOGITS, 0, part.count * classes, TC_F32,
                                      logits + at * classes);
        tc_metrics_add(&w->metrics, &metrics);
    }
    return status;
}
