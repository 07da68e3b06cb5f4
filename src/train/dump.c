/* What tests compare between runs: the order of the records, the first gradient, losses. */
#include <config.h>

#include "train/run.h"

#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Open a file whose name has %r for the rank. */
static tc_status open_pattern(const tc_run *run, const char *pattern, FILE **file_p)
{
    char path[4096];
    const char *at = strstr(pattern, "%r");
    int n = at ? snprintf(path, sizeof path, "%.*s%d%s", (int)(at - pattern), pattern, run->rank,
                          at + 2)
               : snprintf(path, sizeof path, "%s", pattern);

    if (n < 0 || n >= (int)sizeof path)
        return tc_fail(TC_INVAL, "%.100s…: the name is too long", pattern);
    *file_p = fopen(path, "we");
    if (*file_p == NULL)
        return tc_fail(TC_IO, "%s: cannot create: %s", path, strerror(errno));
    return TC_OK;
}

tc_status tc_dumps_open(tc_run *run)
{
    const tc_train_options *o = run->opt;
    tc_status status = TC_OK;

    if (o->dump_order != NULL)
        status = open_pattern(run, o->dump_order, &run->dumps.order);
    if (status == TC_OK && o->dump_loss != NULL && run->rank == 0)
        status = open_pattern(run, o->dump_loss, &run->dumps.loss);
    if (status == TC_OK && o->dump_gradient != NULL && run->rank == 0)
        status = tc_alloc(run->graph->param_count, sizeof(float), "initial weights",
                          &run->dumps.initial);
    return status;
}

tc_status tc_dumps_close(tc_run *run)
{
    FILE *file[] = { run->dumps.order, run->dumps.loss };
    tc_status status = TC_OK;

    for (int i = 0; i < 2; i++) {
        bool bad = file[i] != NULL && ferror(file[i]);
        if (file[i] != NULL && (fclose(file[i]) != 0 || bad))
            status = tc_fail(TC_IO, "a dump could not be written: %s", strerror(errno));
    }
    tc_free(run->dumps.initial);
    run->dumps = (tc_dumps){ 0 };
    return status;
}

void tc_dumps_step(tc_run *run)
{
    if (run->dumps.initial != NULL && run->state.step == 0)
        memcpy(run->dumps.initial, run->state.weights,
               (size_t)run->graph->param_count * sizeof(float));
}

/* A line a slice, as the loader hands it out: epoch, step, global device, its records. */
void tc_dumps_slice(void *arg, int64_t step, int device, const tc_loader_slice *slice)
{
    tc_run *run = arg;
    FILE *file = run->dumps.order;
    int64_t global = (int64_t)run->rank * run->opt->devices + device;

    flockfile(file); /* devices come from threads of their own; a line stays whole */
    fprintf(file, "%" PRId64 " %" PRId64 " %" PRId64 ":",
            run->state.step / run->recipe.steps_per_epoch, step, global);
    for (int64_t i = 0; i < slice->count; i++)
        fprintf(file, " %" PRIu64, slice->ids[i]);
    fputc('\n', file);
    funlockfile(file);
}

/* The gradient that was applied, whatever the table did: after the first step the momentum is
 * g + wd * w where the parameter decays, else g. */
tc_status tc_dumps_gradient(tc_run *run)
{
    const tc_graph *g = run->graph;
    float *v = run->state.momentum;
    FILE *file = NULL;

    if (run->dumps.initial == NULL)
        return TC_OK;
    tc_status status = tc_table_read(run->table, 0, TC_VEC_MOMENTUM, v);
    if (status != TC_OK)
        return status;
    for (int i = 0; i < g->n_params; i++)
        for (int64_t k = g->param[i].offset; k < g->param[i].offset + g->param[i].count; k++)
            if (g->param[i].decay)
                v[k] = (float)((double)v[k] -
                               run->recipe.weight_decay * (double)run->dumps.initial[k]);
    status = open_pattern(run, run->opt->dump_gradient, &file);
    if (status != TC_OK)
        return status;
    size_t n = (size_t)g->param_count;
    bool bad = fwrite(v, sizeof *v, n, file) != n;
    if (fclose(file) != 0 || bad)
        return tc_fail(TC_IO, "%s: cannot write: %s", run->opt->dump_gradient, strerror(errno));
    return TC_OK;
}

void tc_dumps_loss(tc_run *run, const tc_sums *recent)
{
    if (run->dumps.loss != NULL)
        fprintf(run->dumps.loss, "%" PRId64 " %.17g\n", run->state.step,
                recent->loss / recent->count);
}
