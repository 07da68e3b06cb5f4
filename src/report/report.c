#include <config.h>

#include "report/report.h"

#include "report/print.h"
#include "report/run.h"

#include <math.h>
#include <stdlib.h>

struct tc_report {
    tc_runs runs;
};

tc_status tc_report_create(tc_report **report_p)
{
    tc_report *report = calloc(1, sizeof *report);

    if (!report)
        return tc_fail(TC_NOMEM, "no memory for a report");
    *report_p = report;
    return TC_OK;
}

void tc_report_free(tc_report *report)
{
    if (report)
        tc_runs_free(&report->runs);
    free(report);
}

tc_status tc_report_add(tc_report *report, const char *path)
{
    return tc_runs_read(&report->runs, path);
}

tc_status tc_report_print(tc_report *report, const char *published, void *out)
{
    tc_status status = TC_OK;

    for (int64_t i = 0; i < report->runs.n && status == TC_OK; i++)
        status = tc_print_run(report->runs.run[i], i + 1, out);
    if (status == TC_OK)
        status = tc_print_ablation(&report->runs, published, out);
    if (status == TC_OK && published)
        status = tc_print_published(&report->runs, published, out);
    if (status == TC_OK && fflush(out) != 0)
        status = tc_fail(TC_IO, "cannot write the report");
    return status;
}

static void tsv_number(FILE *file, double value)
{
    if (isnan(value))
        fprintf(file, "\tNaN");
    else
        fprintf(file, "\t%.9g", value);
}

tc_status tc_report_tsv(const tc_report *report, void *out)
{
    FILE *file = out;

    fprintf(file, "run\tkind\tmodel\tstore\tallreduce\ttable\toverlap\tepoch\ttrain_loss\t"
                  "train_accuracy\teval_accuracy\ttop5\timages_s\tseconds");
    for (int p = 0; p < TC_PARTS; p++)
        fprintf(file, "\t%s_s", tc_part_name[p]);
    fputc('\n', file);
    for (int64_t i = 0; i < report->runs.n; i++) {
        const tc_run *run = report->runs.run[i];
        for (int64_t k = 0; k < run->n_epochs; k++) {
            const tc_epoch *e = &run->epoch[k];
            fprintf(file, "%lld\t%s\t%s\t%s\t%s\t%s\t%s\t%lld", (long long)i + 1, tc_run_kind(run),
                    run->model, run->store, run->allreduce, run->table, run->overlap,
                    (long long)e->num);
            tsv_number(file, e->train_loss);
            tsv_number(file, e->train_accuracy);
            tsv_number(file, e->eval_accuracy);
            tsv_number(file, e->top5);
            tsv_number(file, e->throughput);
            tsv_number(file, tc_epoch_seconds(e));
            for (int p = 0; p < TC_PARTS; p++)
                tsv_number(file, e->part[p]);
            fputc('\n', file);
        }
    }
    return fflush(file) != 0 || ferror(file) ? tc_fail(TC_IO, "cannot write the table") : TC_OK;
}
