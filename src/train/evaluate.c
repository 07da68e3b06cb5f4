/* Evaluation: every validation picture exactly once, for any number of ranks; predictions. */
#include <config.h>

#include "train/run.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define EVAL_PHASE 600.0 /* s that the slowest rank may evaluate longer than the others */

/* One picture's prediction, as it travels to rank 0. */
typedef struct {
    uint64_t id; /* UINT64_MAX: padding */
    int32_t label, top[5];
    char name[224];
} prediction;

/* The five best classes of a row of logits; ties go to the lower class, as in tc_metrics. */
static void rank_classes(const float *logits, int64_t classes, int32_t top[5])
{
    int found = 0;

    for (int64_t c = 0; c < classes; c++) {
        int at = found < 5 ? found++ : 5;
        while (at > 0 && logits[c] > logits[top[at - 1]]) {
            if (at < 5)
                top[at] = top[at - 1];
            at--;
        }
        if (at < 5)
            top[at] = (int32_t)c;
    }
    for (; found < 5; found++)
        top[found] = -1;
}

/* Fill the rows of this rank's slices of a step. */
static tc_status predict_step(tc_run *run, int64_t step, const float *logits, tc_buffer *scratch,
                              prediction *row)
{
    int64_t b = run->slice, classes = run->graph->classes;
    uint64_t records = tc_store_records(run->val_store);

    for (int d = 0; d < run->opt->devices; d++) {
        int64_t device = (int64_t)run->rank * run->opt->devices + d;
        for (int64_t i = 0; i < b; i++, row++, logits += classes) {
            uint64_t pos = (uint64_t)(step * run->global_batch + device * b + i);
            tc_record record;
            row->id = UINT64_MAX;
            if (pos >= records)
                continue;
            tc_status status = tc_store_borrow(run->val_store, pos, scratch, &record);
            if (status != TC_OK)
                return status;
            row->id = record.id;
            row->label = record.label;
            status = tc_store_name(run->val_store, record.id, row->name, sizeof row->name);
            if (status != TC_OK)
                return status;
            rank_classes(logits, classes, row->top);
        }
    }
    return TC_OK;
}

static void print_row(FILE *file, const tc_dataset *set, const prediction *row)
{
    fprintf(file, "%" PRIu64 "\t%s\t%d\t%d\t", row->id, row->name, row->label, row->top[0]);
    for (int k = 0; k < 5 && row->top[k] >= 0; k++)
        fprintf(file, "%s%d", k ? "," : "", row->top[k]);
    fprintf(file, "\t%s\t%s\n", set->classes[row->label].name, set->classes[row->top[0]].name);
}

/* Collect the rows of all ranks step by step, in the order of the records; rank 0 writes. */
static tc_status write_predictions(tc_run *run, int64_t steps, const prediction *mine)
{
    const char *path = run->opt->predictions;
    int64_t rows = run->slice * run->opt->devices;
    prediction *all = NULL;
    FILE *file = NULL;
    tc_status status = tc_alloc(rows * run->ranks, sizeof *all, "predictions", &all);

    if (status == TC_OK && run->rank == 0) {
        file = fopen(path, "we");
        if (file == NULL)
            status = tc_fail(TC_IO, "%s: cannot create: %s", path, strerror(errno));
        else
            fputs("id\tname\tlabel\tpredicted\ttop5\tlabel_name\tpredicted_name\n", file);
    }
    status = tc_run_agree(run, status);
    for (int64_t step = 0; status == TC_OK && step < steps; step++) {
        status = tc_comm_allgather(run->comm, mine + step * rows, (size_t)rows * sizeof *mine, all);
        for (int64_t i = 0; status == TC_OK && file != NULL && i < rows * run->ranks; i++)
            if (all[i].id != UINT64_MAX)
                print_row(file, run->val_set, &all[i]);
    }
    if (file != NULL) {
        bool bad = ferror(file);
        if ((fclose(file) != 0 || bad) && status == TC_OK)
            status = tc_fail(TC_IO, "%s: cannot write: %s", path, strerror(errno));
    }
    tc_free(all);
    return tc_run_agree(run, status);
}

/* All slices of this rank.  Local: a failure is voted on by the caller. */
static tc_status evaluate_steps(tc_run *run, int64_t steps, float *logits, prediction *rows,
                                tc_sums *sums)
{
    int64_t width = run->slice * run->opt->devices;
    tc_buffer scratch = { 0 };
    tc_status status = tc_loader_begin(run->val_loader, 0, 0, steps);

    for (int64_t step = 0; status == TC_OK && step < steps; step++) {
        tc_metrics m = { 0 };
        status = tc_table_evaluate(run->table, run->val_loader, step, &m, logits);
        if (status == TC_OK && rows != NULL)
            status = predict_step(run, step, logits, &scratch, rows + step * width);
        sums->loss += m.loss;
        sums->count += (double)m.count;
        sums->top1 += (double)m.top1;
        sums->top5 += (double)m.top5;
        tc_progress(false, "evaluation: step %" PRId64 "/%" PRId64, step + 1, steps);
    }
    tc_loader_end(run->val_loader);
    tc_buffer_free(&scratch);
    return status;
}

tc_status tc_run_evaluate(tc_run *run, bool last)
{
    int64_t records = (int64_t)tc_store_records(run->val_store);
    int64_t steps = (records + run->global_batch - 1) / run->global_batch;
    int64_t width = run->slice * run->opt->devices;
    bool predict = last && run->opt->predictions != NULL;
    float *logits = NULL;
    prediction *rows = NULL;
    tc_table_times unused;
    tc_status status = TC_OK;

    run->eval = (tc_sums){ 0 };
    if (predict) {
        status = tc_alloc(width * run->graph->classes, sizeof *logits, "logits", &logits);
        if (status == TC_OK)
            status = tc_alloc(width * steps, sizeof *rows, "predictions", &rows);
        status = tc_run_agree(run, status);
    }
    tc_comm_phase(run->comm, "evaluation", EVAL_PHASE);
    if (status == TC_OK)
        status = tc_store_begin_epoch(run->val_store, 0);
    if (status == TC_OK)
        status = tc_run_agree(run, evaluate_steps(run, steps, logits, rows, &run->eval));
    if (status == TC_OK)
        status = tc_comm_sum(run->comm, (double *)&run->eval, sizeof run->eval / sizeof(double));
    tc_comm_phase(run->comm, "training", 0.0);
    if (status == TC_OK && run->eval.count != (double)records)
        status = tc_fail(TC_FORMAT, "evaluation counted %.0f of %" PRId64 " pictures",
                         run->eval.count, records);
    if (status == TC_OK && predict)
        status = write_predictions(run, steps, rows);
    if (status == TC_OK && run->eval.top1 / run->eval.count > run->state.best)
        run->state.best = run->eval.top1 / run->eval.count;
    tc_table_take_times(run->table, &unused); /* evaluation is timed as a whole */
    tc_free(logits);
    tc_free(rows);
    return status;
}
