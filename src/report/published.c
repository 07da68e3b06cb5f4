/* Published figures, and ours below them, each row labelled. */
#include <config.h>

#include "report/grid.h"
#include "report/print.h"
#include "report/tsv.h"

#include <math.h>
#include <string.h>

/* A published cell; an empty one says so. */
static void cell_or_none(tc_grid *grid, const tc_tsv *tsv, size_t row, const char *column)
{
    const char *text = tc_tsv_get(tsv, row, column);

    tc_grid_cell(grid, "%s", *text ? text : "not published here");
}

static void headings(tc_grid *grid, const char *const *name, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tc_grid_cell(grid, "%s", name[i]);
}

static void our_result(tc_grid *grid, const tc_run *run, int64_t number)
{
    char hardware[96], seconds[32];

    tc_run_hardware(run, hardware, sizeof hardware);
    tc_duration(tc_run_seconds(run), seconds, sizeof seconds);
    tc_grid_cell(grid, "ours, run %lld", (long long)number);
    if (isnan(run->train_samples))
        tc_grid_cell(grid, "%s", run->model);
    else
        tc_grid_cell(grid, "%s, %.0f pictures, %lld epochs", run->model, run->train_samples,
                     (long long)run->n_epochs);
    tc_grid_cell(grid, "%s", seconds);
    tc_grid_cell(grid, "%s", hardware);
    tc_grid_number(grid, run->global_batch, 0);
    tc_grid_percent(grid, tc_run_final(run), 2);
    tc_grid_cell(grid, "%s", tc_run_kind(run));
    tc_grid_cell(grid, "%s", run->path);
}

static tc_status print_results(const tc_runs *runs, const char *dir, FILE *out)
{
    static const char *const name[] = { "who",   "network", "time",    "hardware",
                                        "batch", "top-1 %", "figures", "source" };
    tc_tsv tsv;
    tc_status status = tc_tsv_read(dir, "results.tsv", &tsv);

    if (status != TC_OK)
        return status;
    tc_grid *grid = tc_grid_create("llrlrrll");
    headings(grid, name, sizeof name / sizeof name[0]);
    for (size_t i = 0; i < tsv.rows; i++) {
        const char *year = tc_tsv_get(&tsv, i, "year");
        tc_grid_cell(grid, "%s%s%s", tc_tsv_get(&tsv, i, "who"), *year ? " " : "", year);
        tc_grid_cell(grid, "ResNet-50, ImageNet");
        cell_or_none(grid, &tsv, i, "time");
        cell_or_none(grid, &tsv, i, "hardware");
        cell_or_none(grid, &tsv, i, "batch");
        cell_or_none(grid, &tsv, i, "top1");
        tc_grid_cell(grid, "published");
        tc_grid_cell(grid, "%s [%s]", tc_tsv_get(&tsv, i, "source"),
                     tc_tsv_get(&tsv, i, "provenance"));
    }
    for (int64_t i = 0; i < runs->n; i++)
        if (runs->run[i]->n_epochs > 0)
            our_result(grid, runs->run[i], i + 1);
    fprintf(out, "Published results (ResNet-50 on ImageNet-1k, whole trainings), and ours; compare "
                 "only what has the same network and pictures\n\n");
    status = tc_grid_print(grid, out);
    tc_grid_free(grid);
    tc_tsv_free(&tsv);
    return status;
}

static void our_speed(tc_grid *grid, const tc_run *run, int64_t number)
{
    double speed = tc_run_median(run, tc_epoch_throughput, 0), devices = run->ranks * run->devices;

    if (isnan(speed / devices))
        return;
    tc_grid_cell(grid, "training");
    tc_grid_cell(grid, "%s", run->model);
    tc_grid_cell(grid, "%s", *run->backend ? run->backend : "?");
    tc_grid_cell(grid, "%s", *run->precision ? run->precision : "?");
    tc_grid_number(grid, speed / devices, 1);
    tc_grid_cell(grid, "%s", tc_run_kind(run));
    tc_grid_cell(grid, "ours, run %lld: one of %.0f devices", (long long)number, devices);
}

static tc_status print_throughput(const tc_runs *runs, const char *dir, FILE *out)
{
    static const char *const name[] = { "what",     "network", "hardware", "precision",
                                        "images/s", "figures", "source" };
    tc_tsv tsv;
    tc_status status = tc_tsv_read(dir, "throughput.tsv", &tsv);

    if (status != TC_OK)
        return status;
    tc_grid *grid = tc_grid_create("llllrll");
    headings(grid, name, sizeof name / sizeof name[0]);
    for (size_t i = 0; i < tsv.rows; i++) {
        tc_grid_cell(grid, "%s", tc_tsv_get(&tsv, i, "what"));
        tc_grid_cell(grid, "%s", tc_tsv_get(&tsv, i, "network"));
        tc_grid_cell(grid, "%s", tc_tsv_get(&tsv, i, "hardware"));
        tc_grid_cell(grid, "%s", tc_tsv_get(&tsv, i, "precision"));
        cell_or_none(grid, &tsv, i, "images_s");
        tc_grid_cell(grid, "published");
        tc_grid_cell(grid, "%s [%s]", tc_tsv_get(&tsv, i, "source"),
                     tc_tsv_get(&tsv, i, "provenance"));
    }
    for (int64_t i = 0; i < runs->n; i++)
        our_speed(grid, runs->run[i], i + 1);
    fprintf(out, "\nPublished speeds (training: images/s of one device), and ours\n\n");
    status = tc_grid_print(grid, out);
    tc_grid_free(grid);
    tc_tsv_free(&tsv);
    return status;
}

/* The networks of the paper, where a run trained one of them. */
static tc_status print_networks(const tc_runs *runs, const char *dir, FILE *out)
{
    static const char *const name[] = { "network", "variant",      "parameters", "gradients MB",
                                        "GMAC",    "convolutions", "figures" };
    bool any = false;
    tc_tsv tsv;
    tc_status status = tc_tsv_read(dir, "networks.tsv", &tsv);

    if (status != TC_OK)
        return status;
    tc_grid *grid = tc_grid_create("llrrrrl");
    headings(grid, name, sizeof name / sizeof name[0]);
    for (size_t i = 0; i < tsv.rows; i++) {
        for (int64_t r = 0; r < runs->n; r++)
            any |= strcmp(runs->run[r]->model, tc_tsv_get(&tsv, i, "model")) == 0;
        tc_grid_cell(grid, "%s", tc_tsv_get(&tsv, i, "model"));
        tc_grid_cell(grid, "%s", tc_tsv_get(&tsv, i, "variant"));
        tc_grid_cell(grid, "%s", tc_tsv_get(&tsv, i, "parameters"));
        tc_grid_cell(grid, "%s", tc_tsv_get(&tsv, i, "gradient_MB"));
        tc_grid_cell(grid, "%s", tc_tsv_get(&tsv, i, "GMAC"));
        tc_grid_cell(grid, "%s", tc_tsv_get(&tsv, i, "convolutions"));
        tc_grid_cell(grid, "published [%s]", tc_tsv_get(&tsv, i, "provenance"));
    }
    if (any) {
        fprintf(out, "\nThe paper's networks, fp32, 1,000 classes, 224 x 224 pictures\n\n");
        status = tc_grid_print(grid, out);
    }
    tc_grid_free(grid);
    tc_tsv_free(&tsv);
    return status;
}

tc_status tc_print_published(const tc_runs *runs, const char *dir, FILE *out)
{
    tc_status status = print_results(runs, dir, out);

    if (status == TC_OK)
        status = print_throughput(runs, dir, out);
    if (status == TC_OK)
        status = print_networks(runs, dir, out);
    if (status == TC_OK)
        fprintf(out, "\n[P] the paper's abstract or a published summary of it, [S] another public "
                     "source, [D] derived by arithmetic, [M] from memory\n");
    return status;
}
