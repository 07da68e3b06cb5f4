#include <config.h>

#include "report/run.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const tc_part_name[TC_PARTS] = {
    "data",   "place",   "forward", "backward",   "reduce", "comm",
    "update", "shuffle", "eval",    "checkpoint", "total",
};

void tc_runs_free(tc_runs *runs)
{
    for (int64_t i = 0; i < runs->n; i++) {
        free(runs->run[i]->path);
        free(runs->run[i]->epoch);
        free(runs->run[i]);
    }
    free(runs->run);
    *runs = (tc_runs){ 0 };
}

double tc_epoch_seconds(const tc_epoch *epoch)
{
    double total = epoch->part[TC_PART_TOTAL];

    return isnan(total) ? (epoch->stop_ms - epoch->start_ms) / 1000.0 : total;
}

double tc_epoch_throughput(const tc_epoch *epoch, int unused)
{
    (void)unused;
    return epoch->throughput;
}

double tc_epoch_total(const tc_epoch *epoch, int unused)
{
    (void)unused;
    return tc_epoch_seconds(epoch);
}

double tc_epoch_part(const tc_epoch *epoch, int part)
{
    return epoch->part[part];
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double tc_median(double *x, int64_t n)
{
    if (n == 0)
        return NAN;
    qsort(x, (size_t)n, sizeof *x, ascending);
    return n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

double tc_run_median(const tc_run *run, tc_epoch_value value, int index)
{
    double *x = calloc((size_t)run->n_epochs + 1, sizeof *x), median;
    int64_t n = 0;

    if (!x)
        return NAN;
    for (int64_t i = run->n_epochs > 1 ? 1 : 0; i < run->n_epochs; i++) {
        x[n] = value(&run->epoch[i], index);
        n += !isnan(x[n]);
    }
    median = tc_median(x, n);
    free(x);
    return median;
}

double tc_run_seconds(const tc_run *run)
{
    double sum = 0.0;
    int64_t finished = 0;

    for (int64_t i = 0; i < run->n_epochs; i++) {
        double seconds = tc_epoch_seconds(&run->epoch[i]);
        sum += isnan(seconds) ? 0.0 : seconds;
        finished += !isnan(seconds);
    }
    return finished > 0 ? sum : NAN;
}

double tc_run_best(const tc_run *run)
{
    double best = run->final_accuracy;

    for (int64_t i = 0; i < run->n_epochs; i++)
        best = fmax(best, run->epoch[i].eval_accuracy); /* fmax passes over NAN */
    return best;
}

double tc_run_final(const tc_run *run)
{
    return run->final_accuracy;
}
