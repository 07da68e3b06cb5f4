#include <config.h>

#include "table/table.h"

#include "base/log.h"
#include "base/mem.h"
#include "table/table_impl.h"

#include <stdio.h>
#include <string.h>

static tc_status check_options(const tc_table_options *o)
{
    if (strcmp(o->kind, "optimized") != 0 && strcmp(o->kind, "baseline") != 0)
        return tc_fail(TC_INVAL, "unknown table '%s'; known: optimized, baseline", o->kind);
    if (o->devices < 1 || o->threads < 1 || o->batch < 1 || o->global_batch < o->batch)
        return tc_fail(TC_INVAL,
                       "table: %d devices of %d threads, batch %lld of %lld: each must be "
                       "at least 1",
                       o->devices, o->threads, (long long)o->batch, (long long)o->global_batch);
    if (o->part < 0 || (o->part > 0 && o->batch % o->part != 0))
        return tc_fail(TC_INVAL, "table: slices of %lld pictures cannot be cut into parts of %lld",
                       (long long)o->batch, (long long)o->part);
    if (o->part > 0 && o->part < o->batch && strcmp(o->kind, "optimized") != 0)
        return tc_fail(TC_INVAL, "table: the %s table trains slices whole, not in parts", o->kind);
    if (o->n_buckets < 1 || o->bound[0] != 0 || o->bound[o->n_buckets] != o->graph->param_count)
        return tc_fail(TC_INVAL, "table: %d buckets do not cover %lld parameters", o->n_buckets,
                       (long long)o->graph->param_count);
    for (int b = 0; b < o->n_buckets; b++)
        if (o->bound[b + 1] < o->bound[b])
            return tc_fail(TC_INVAL, "table: bucket %d ends before it begins", b);
    for (int i = 0; strcmp(o->kind, "baseline") == 0 && i < o->graph->n_nodes; i++)
        if (i != o->graph->loss && o->graph->node[i].loss_weight > 0.0)
            return tc_fail(TC_INVAL,
                           "table: the baseline's criterion carries the main loss alone, "
                           "%s has a second one that trains",
                           o->graph->name);
    return TC_OK;
}

static tc_status copy_array(const void *from, int64_t count, size_t size, const char *what,
                            void *to_p)
{
    void *copy;
    tc_status status = tc_alloc(count, size, what, &copy);

    if (status != TC_OK)
        return status;
    memcpy(copy, from, (size_t)count * size);
    memcpy(to_p, &copy, sizeof copy);
    return TC_OK;
}

static tc_status init_table(tc_table *t, const tc_table_options *o)
{
    pthread_condattr_t attr;
    int64_t *bound;
    tc_status status;

    t->backend = o->backend;
    t->graph = o->graph;
    t->devices = o->devices;
    t->threads = o->threads;
    t->first_ordinal = o->first_ordinal;
    t->batch = o->batch;
    t->part = o->part ? o->part : o->batch;
    t->scale = (float)(1.0 / (double)o->global_batch);
    t->allreduce = o->allreduce;
    t->baseline = strcmp(o->kind, "baseline") == 0;
    t->overlaps = o->overlap && !t->baseline && o->allreduce &&
                  tc_allreduce_overlaps(o->allreduce) && o->global_batch > o->batch * o->devices;

    /* The main thread waits on `changed` with short deadlines on the monotonic clock. */
    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->changed, &attr);
    pthread_condattr_destroy(&attr);
    t->lock_made = true;

    status = tc_alloc(o->devices, sizeof *t->worker, "workers", &t->worker);
    if (status != TC_OK)
        return status;
    status = copy_array(o->bound, o->n_buckets + 1, sizeof *bound, "bucket bounds", &bound);
    if (status != TC_OK)
        return status;
    t->compile = (tc_compile_options){
        .max_batch = t->part,
        .precision = o->precision,
        .n_buckets = o->n_buckets,
        .bound = bound,
        .training = o->training,
        .deterministic = o->deterministic,
    };
    if (!o->cores)
        return TC_OK;
    return copy_array(o->cores, (int64_t)o->devices * o->threads, sizeof *t->cores, "cores",
                      &t->cores);
}

/* Open the device and compile, on its own thread and cores: memory is first touched there. */
static void open_job(tc_worker *w)
{
    tc_table *t = w->table;
    const tc_backend *backend = t->backend;
    tc_dev_options options = { .ordinal = t->first_ordinal + w->index, .threads = t->threads };
    uint64_t bytes;
    tc_status status;

    tc_worker_bind(w);
    status = backend->open(&options, &w->dev);
    if (status == TC_OK)
        status = backend->estimate(w->dev, t->graph, &t->compile, &bytes);
    if (status == TC_OK && w->index == 0)
        tc_log(TC_LOG_INFO, "table", "%s on %s: %d device%s a rank, each takes %.1f MiB",
               t->graph->name, backend->name, t->devices, t->devices > 1 ? "s" : "",
               (double)bytes / 1048576.0);
    if (status == TC_OK)
        status = backend->compile(w->dev, t->graph, &t->compile, &w->step);
    if (status == TC_OK) {
        w->gradients = t->compile.training ? backend->host_gradients(w->step) : NULL;
        if (w->index == 0)
            snprintf(t->backend_choices, sizeof t->backend_choices, "%s",
                     backend->choices(w->step));
    }
    tc_failure_note(&w->failure, status);
}

tc_status tc_table_create(const tc_table_options *options, tc_table **table_p)
{
    tc_table *t;
    tc_status status = check_options(options);

    if (status == TC_OK)
        status = tc_alloc(1, sizeof *t, "table", &t);
    if (status != TC_OK)
        return status;
    status = init_table(t, options);
    if (status == TC_OK)
        status = tc_workers_start(t);
    if (status == TC_OK)
        status = tc_workers_run(t, 0, t->devices, open_job);
    if (status == TC_OK)
        status = t->baseline ? tc_baseline_create(t) : tc_optimized_create(t);
    if (status == TC_OK)
        status = tc_parts_create(t);
    if (status != TC_OK) {
        tc_table_destroy(t);
        return status;
    }
    snprintf(t->choices, sizeof t->choices,
             "%s on %s (%s) devices=%d threads=%d%s buckets=%d overlap=%s", options->kind,
             t->backend->name, t->backend_choices, t->devices, t->threads, t->cores ? " bound" : "",
             t->compile.n_buckets, t->overlaps ? "on" : "off");
    *table_p = t;
    return TC_OK;
}

void tc_table_destroy(tc_table *t)
{
    if (!t)
        return;
    if (t->worker)
        tc_workers_stop(t);
    tc_parts_destroy(t);
    tc_optimized_destroy(t);
    tc_baseline_destroy(t);
    if (t->lock_made) {
        pthread_cond_destroy(&t->changed);
        pthread_mutex_destroy(&t->lock);
    }
    tc_free((void *)t->compile.bound);
    tc_free(t->cores);
    tc_free(t->worker);
    tc_free(t);
}

tc_status tc_table_train(tc_table *t, tc_loader *loader, int64_t step, const tc_sgd *sgd,
                         tc_metrics *metrics_p)
{
    if (!t->compile.training)
        return tc_fail(TC_INVAL, "this table was created for evaluation alone");
    t->call.loader = loader;
    t->call.index = step;
    t->call.sgd = sgd;
    return t->baseline ? tc_baseline_train(t, metrics_p) : tc_optimized_train(t, metrics_p);
}

/* Elements of a whole vector. */
static int64_t vector_count(const tc_table *t, tc_vector vec)
{
    switch (vec) {
    case TC_VEC_STATS:
        return t->graph->stat_count;
    case TC_VEC_LOGITS:
    case TC_VEC_DLOGITS:
        return t->part * t->graph->classes;
    default:
        return t->graph->param_count;
    }
}

static void read_job(tc_worker *w)
{
    const tc_table *t = w->table;

    tc_failure_note(&w->failure,
                    t->backend->read(w->step, t->call.vec, 0, vector_count(t, t->call.vec), TC_F32,
                                     t->call.out));
}

tc_status tc_table_read(tc_table *t, int device, tc_vector vec, float *out)
{
    if (device < 0 || device >= t->devices)
        return tc_fail(TC_INVAL, "no device %d in a table of %d", device, t->devices);
    t->call.vec = vec;
    t->call.out = out;
    return tc_workers_run(t, device, 1, read_job);
}

static void write_job(tc_worker *w)
{
    const tc_table *t = w->table;

    tc_failure_note(&w->failure,
                    t->backend->write(w->step, t->call.vec, 0, vector_count(t, t->call.vec), TC_F32,
                                      t->call.in));
}

tc_status tc_table_write(tc_table *t, tc_vector vec, const float *in)
{
    t->call.vec = vec;
    t->call.in = in;
    if (vec == TC_VEC_WEIGHTS)
        t->base.stale = false;
    return tc_workers_run(t, 0, t->devices, write_job);
}

void tc_times_add(tc_table_times *to, const tc_table_times *from)
{
    to->data += from->data;
    to->place += from->place;
    to->forward += from->forward;
    to->backward += from->backward;
    to->reduce += from->reduce;
    to->comm += from->comm;
    to->update += from->update;
}

void tc_metrics_add(tc_metrics *to, const tc_metrics *from)
{
    to->loss += from->loss;
    to->count += from->count;
    to->top1 += from->top1;
    to->top5 += from->top5;
}

void tc_table_take_times(tc_table *t, tc_table_times *times_p)
{
    *times_p = t->times;
    memset(&t->times, 0, sizeof t->times);
}

bool tc_table_overlaps(const tc_table *t)
{
    return t->overlaps;
}

const char *tc_table_choices(const tc_table *t)
{
    return t->choices;
}
