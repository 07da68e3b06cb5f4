#include <config.h>

#include "table/table_impl.h"

#include <string.h>

static void evaluate_job(tc_worker *w)
{
    tc_table *t = w->table;
    int64_t row = t->batch * t->graph->classes;
    float *logits = t->call.logits ? t->call.logits + w->index * row : NULL;
    tc_loader_slice got;
    tc_status status;
    double wait;

    memset(&w->metrics, 0, sizeof w->metrics);
    status = tc_loader_get(t->call.loader, t->call.index, w->index, &got, &wait);
    if (status == TC_OK) {
        const tc_slice slice = { got.count, got.images, got.labels, got.offset };
        status = tc_slice_evaluate(w, &slice, got.valid, logits);
        tc_loader_release(t->call.loader, t->call.index, w->index);
    }
    tc_failure_note(&w->failure, status);
}

tc_status tc_table_evaluate(tc_table *t, tc_loader *loader, int64_t step, tc_metrics *metrics_p,
                            float *logits)
{
    tc_status status = t->baseline ? tc_baseline_broadcast(t) : TC_OK;

    if (status != TC_OK)
        return status;
    t->call.loader = loader;
    t->call.index = step;
    t->call.logits = logits;
    status = tc_workers_run(t, 0, t->devices, evaluate_job);
    memset(metrics_p, 0, sizeof *metrics_p);
    for (int d = 0; d < t->devices; d++)
        tc_metrics_add(metrics_p, &t->worker[d].metrics);
    return status;
}
