#include <config.h>

#include "report/print.h"

#include "report/grid.h"

#include <math.h>
#include <string.h>

const char *tc_run_kind(const tc_run *run)
{
    return *run->kind ? run->kind : "of unknown kind";
}

static const char *or_unknown(const char *text)
{
    return *text ? text : "?";
}

/* "2 ranks", "1 rank", "? ranks". */
static int count_of(char *text, size_t size, double n, const char *one, const char *many)
{
    if (isnan(n))
        return snprintf(text, size, "? %s", many);
    return snprintf(text, size, "%.0f %s", n, n == 1.0 ? one : many);
}

void tc_run_hardware(const tc_run *run, char *text, size_t size)
{
    char ranks[32], devices[32];

    count_of(ranks, sizeof ranks, run->ranks, "rank", "ranks");
    count_of(devices, sizeof devices, run->devices, "device", "devices");
    snprintf(text, size, "%s x %s, %s", ranks, devices, or_unknown(run->backend));
}

void tc_duration(double seconds, char *text, size_t size)
{
    if (isnan(seconds))
        snprintf(text, size, "-");
    else if (seconds < 180.0)
        snprintf(text, size, "%.1f s", seconds);
    else if (seconds < 3.0 * 3600.0)
        snprintf(text, size, "%.1f min", seconds / 60.0);
    else
        snprintf(text, size, "%.1f h", seconds / 3600.0);
}

static void print_number(FILE *out, const char *label, double value)
{
    if (!isnan(value))
        fprintf(out, "%s%.10g", label, value);
}

static void print_head(const tc_run *run, int64_t number, FILE *out)
{
    char hardware[96];

    tc_run_hardware(run, hardware, sizeof hardware);
    fprintf(out, "Run %lld: %s (%s), from %s:%lld\n", (long long)number, or_unknown(run->model),
            tc_run_kind(run), run->path, (long long)run->line);
    fprintf(out, "  %s", hardware);
    print_number(out, ", batch ", run->batch);
    print_number(out, " a device, ", run->global_batch);
    fprintf(out, "%s; precision %s\n", isnan(run->global_batch) ? "" : " in all",
            or_unknown(run->precision));
    fprintf(out, "  store %s, allreduce %s, table %s, overlap %s\n", or_unknown(run->store),
            or_unknown(run->allreduce), or_unknown(run->table), or_unknown(run->overlap));
    print_number(out, "  training pictures ", run->train_samples);
    print_number(out, ", evaluation pictures ", run->eval_samples);
    print_number(out, ", base rate ", run->base_rate);
    print_number(out, ", seed ", run->seed);
    fprintf(out, "%s%s\n", *run->version ? ", tricolor " : "", run->version);
    if (*run->hosts)
        fprintf(out, "  hosts: %s\n", run->hosts);
    if (*run->choices)
        fprintf(out, "  chosen: %s\n", run->choices);
    if (run->resumed)
        fprintf(out, "  taken up again %d time%s\n", run->resumed, run->resumed == 1 ? "" : "s");
    if (strcmp(run->kind, "synthetic") == 0)
        fprintf(out, "  synthetic input: the figures say nothing about reading or accuracy\n");
}

static tc_status print_epochs(const tc_run *run, FILE *out)
{
    tc_grid *grid = tc_grid_create("rrrrrrr");

    tc_grid_cell(grid, "epoch");
    tc_grid_cell(grid, "train loss");
    tc_grid_cell(grid, "train top-1 %%");
    tc_grid_cell(grid, "eval top-1 %%");
    tc_grid_cell(grid, "top-5 %%");
    tc_grid_cell(grid, "images/s");
    tc_grid_cell(grid, "seconds");
    for (int64_t i = 0; i < run->n_epochs; i++) {
        const tc_epoch *e = &run->epoch[i];
        tc_grid_cell(grid, "%lld", (long long)e->num);
        tc_grid_number(grid, e->train_loss, 4);
        tc_grid_percent(grid, e->train_accuracy, 2);
        tc_grid_percent(grid, e->eval_accuracy, 2);
        tc_grid_percent(grid, e->top5, 2);
        tc_grid_number(grid, e->throughput, 1);
        tc_grid_number(grid, tc_epoch_seconds(e), 2);
    }
    tc_status status = tc_grid_print(grid, out);
    tc_grid_free(grid);
    return status;
}

static void print_verdict(const tc_run *run, FILE *out)
{
    double best = tc_run_best(run), final = tc_run_final(run), dropped = 0.0, replaced = 0.0;
    char seconds[32];

    if (isnan(best))
        fprintf(out, "  Accuracy: not evaluated\n");
    else
        fprintf(out, "  Accuracy (top-1, %s): best %.2f %%, final %.2f %%\n", tc_run_kind(run),
                100.0 * best, 100.0 * final);
    tc_duration(tc_run_seconds(run), seconds, sizeof seconds);
    fprintf(out, "  Time of the finished epochs: %s\n", seconds);
    for (int64_t i = 0; i < run->n_epochs; i++) {
        dropped += isnan(run->epoch[i].dropped) ? 0.0 : run->epoch[i].dropped;
        replaced += isnan(run->epoch[i].replaced) ? 0.0 : run->epoch[i].replaced;
    }
    if (dropped > 0.0)
        fprintf(out, "  Left over at the ends of epochs: %.0f pictures in all\n", dropped);
    if (replaced > 0.0)
        fprintf(out, "  Could not be decoded and were replaced: %.0f pictures in all\n", replaced);
    if (*run->status)
        fprintf(out, "  Ended: %s\n", run->status);
    else
        fprintf(out, "  Ended: the log has no run_stop; it is still running, or was killed%s\n",
                run->cut ? " in the middle of a line" : "");
}

/* Medians of the parts; "other" is what the parts leave of the total. */
static tc_status print_parts(const tc_run *run, FILE *out)
{
    double total = tc_run_median(run, tc_epoch_total, 0), rest = total;
    /* Where a step is one piece, the trainer counts all of it as backward. */
    bool fused = tc_run_median(run, tc_epoch_part, TC_PART_FORWARD) == 0.0;
    tc_grid *grid = tc_grid_create("lrr");
    bool any = false;

    tc_grid_cell(grid, "part");
    tc_grid_cell(grid, "seconds");
    tc_grid_cell(grid, "%%");
    for (int i = 0; i < TC_PART_TOTAL; i++) {
        double seconds = tc_run_median(run, tc_epoch_part, i);
        if (isnan(seconds) || (i == TC_PART_FORWARD && fused))
            continue;
        any = true;
        rest -= seconds;
        tc_grid_cell(grid, "%s%s", i == TC_PART_BACKWARD && fused ? "forward and " : "",
                     tc_part_name[i]);
        tc_grid_number(grid, seconds, 3);
        tc_grid_percent(grid, seconds / total, 1);
    }
    tc_grid_cell(grid, "other");
    tc_grid_number(grid, rest, 3);
    tc_grid_percent(grid, rest / total, 1);
    tc_grid_cell(grid, "total");
    tc_grid_number(grid, total, 3);
    tc_grid_percent(grid, total / total, 1);
    tc_status status = TC_OK;
    if (any) {
        fprintf(out, "\n  Where an epoch's time went (%s; mean over the ranks, %s):\n",
                tc_run_kind(run),
                run->n_epochs > 1 ? "medians over the epochs without the first" : "one epoch");
        status = tc_grid_print(grid, out);
    }
    tc_grid_free(grid);
    return status;
}

tc_status tc_print_run(const tc_run *run, int64_t number, FILE *out)
{
    tc_status status = TC_OK;

    print_head(run, number, out);
    fputc('\n', out);
    if (run->n_epochs > 0)
        status = print_epochs(run, out);
    if (status != TC_OK)
        return status;
    if (run->n_epochs > 0)
        fputc('\n', out);
    print_verdict(run, out);
    if (run->n_epochs > 0)
        status = print_parts(run, out);
    fputc('\n', out);
    return status;
}
