#include <config.h>

#include "rig.h"

#include "fakes.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rig_graph(rig *r, tc_graph *graph, int64_t bytes)
{
    memset(r, 0, sizeof *r);
    r->graph = graph;
    r->sgd = (tc_sgd){ .lr = 1, .momentum = 1 };
    if (tc_graph_buckets(graph, bytes, &r->bound, &r->n) != TC_OK)
        abort();
    r->count = calloc((size_t)r->n, sizeof *r->count);
    if (!r->count)
        abort();
    for (int b = 0; b < r->n; b++)
        r->count[b] = r->bound[b + 1] - r->bound[b];
}

tc_table_options rig_options(const rig *r, const char *kind, int devices, int ranks)
{
    return (tc_table_options){
        .kind = kind,
        .backend = &fake_backend,
        .graph = r->graph,
        .devices = devices,
        .threads = 1,
        .batch = RIG_BATCH / ranks / devices,
        .global_batch = RIG_GLOBAL,
        .precision = TC_F32,
        .n_buckets = r->n,
        .bound = r->bound,
        .overlap = true,
        .training = true,
    };
}

tc_status rig_open(rig *r, const tc_table_options *options, int rank, int ranks, int64_t total)
{
    tc_status status = tc_table_create(options, &r->table);
    float *weights;

    if (status != TC_OK)
        return status;
    r->loader = fake_loader(rank, options->devices, options->batch,
                            options->batch * options->devices * ranks, total);
    weights = calloc((size_t)r->graph->param_count, sizeof *weights);
    if (!weights)
        abort();
    if (options->backend != &fake_backend)
        tc_graph_init_weights(r->graph, 1, weights);
    else
        for (int64_t i = 0; i < r->graph->param_count; i++)
            weights[i] = (float)(i % 9 - 4);
    status = tc_table_write(r->table, TC_VEC_WEIGHTS, weights);
    free(weights);
    return status;
}

tc_status rig_train(rig *r, int64_t first, tc_metrics *metrics_p)
{
    tc_status status = TC_OK;

    memset(metrics_p, 0, sizeof *metrics_p);
    for (int64_t step = first; step < first + RIG_STEPS && status == TC_OK; step++) {
        tc_metrics one;
        status = tc_table_train(r->table, r->loader, step, &r->sgd, &one);
        metrics_p->loss += one.loss;
        metrics_p->count += one.count;
        metrics_p->top1 += one.top1;
        metrics_p->top5 += one.top5;
    }
    return status;
}

void rig_close(rig *r)
{
    tc_table_destroy(r->table);
    if (r->loader)
        fake_loader_free(r->loader);
    r->table = NULL;
    r->loader = NULL;
}

void rig_free_graph(rig *r)
{
    tc_graph_free(r->graph);
    tc_free(r->bound);
    free(r->count);
}

float *rig_result(rig *r)
{
    size_t n = (size_t)r->graph->param_count;
    float *out = calloc(2 * n, sizeof *out);

    if (!out || tc_table_read(r->table, 0, TC_VEC_WEIGHTS, out) != TC_OK ||
        tc_table_read(r->table, 0, TC_VEC_MOMENTUM, out + n) != TC_OK)
        abort();
    return out;
}

float *rig_run(rig *r, const tc_table_options *options, int rank, int ranks, tc_metrics *metrics_p)
{
    float *out = NULL;
    tc_status status = rig_open(r, options, rank, ranks, 1000);

    if (status == TC_OK)
        status = rig_train(r, 0, metrics_p);
    if (status == TC_OK)
        out = rig_result(r);
    else
        fprintf(stderr, "# rank %d: %s\n", rank, tc_error_detail());
    rig_close(r);
    return out;
}
