/* The ablation: eight combinations of the three toggles, and what each toggle is worth. */
#include <config.h>

#include "report/grid.h"
#include "report/print.h"
#include "report/tsv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STORE = 4, ALLREDUCE = 2, TABLE = 1, ALL = 7, COMBINATIONS = 8 };

/* Words of the toggles, the baseline's first. */
static const char *const word[3][2] = {
    { "files", "memory" },
    { "mpi", "multicolor" },
    { "baseline", "optimized" },
};

/* What was found for one combination: medians over its runs. */
typedef struct {
    const tc_run *any; /* the first of them; NULL: not run */
    int64_t runs;
    double throughput, seconds, accuracy;
    double slowest, fastest; /* of the runs' images/s */
} row;

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Do the runs differ in nothing but the toggles and the seed? */
static bool same_setting(const tc_run *a, const tc_run *b)
{
    return strcmp(a->model, b->model) == 0 && strcmp(a->kind, b->kind) == 0 &&
           strcmp(a->backend, b->backend) == 0 && strcmp(a->precision, b->precision) == 0 &&
           same_number(a->ranks, b->ranks) && same_number(a->devices, b->devices) &&
           same_number(a->batch, b->batch) && same_number(a->global_batch, b->global_batch) &&
           same_number(a->train_samples, b->train_samples) && same_number(a->size, b->size) &&
           same_number(a->eval_samples, b->eval_samples) &&
           same_number(a->planned_epochs, b->planned_epochs);
}

static int index_of(const char *text, int toggle)
{
    for (int i = 0; i < 2; i++)
        if (strcmp(text, word[toggle][i]) == 0)
            return i;
    return -1;
}

/* The combination of a run as bits, or -1: another store or algorithm, or overlap set by hand. */
static int combination(const tc_run *run)
{
    int store = index_of(run->store, 0), allreduce = index_of(run->allreduce, 1);
    int table = index_of(run->table, 2);

    if (store < 0 || allreduce < 0 || table < 0)
        return -1;
    bool on = strcmp(run->overlap, "on") == 0, off = strcmp(run->overlap, "off") == 0;
    bool expected = allreduce == 1 && table == 1;
    if ((on && !expected) || (off && expected && run->ranks > 1.0))
        return -1;
    return STORE * store + ALLREDUCE * allreduce + TABLE * table;
}

/* Are both the same variant outside of the eight? */
static bool same_variant(const tc_run *a, const tc_run *b)
{
    return strcmp(a->store, b->store) == 0 && strcmp(a->allreduce, b->allreduce) == 0 &&
           strcmp(a->table, b->table) == 0 && strcmp(a->overlap, b->overlap) == 0;
}

static double run_throughput(const tc_run *run)
{
    return tc_run_median(run, tc_epoch_throughput, 0);
}

static double run_epoch_seconds(const tc_run *run)
{
    return tc_run_median(run, tc_epoch_total, 0);
}

static double median_over(const tc_run *const *run, int64_t n, double (*value)(const tc_run *))
{
    double *x = calloc((size_t)n + 1, sizeof *x), median;
    int64_t found = 0;

    if (!x)
        return NAN;
    for (int64_t i = 0; i < n; i++) {
        x[found] = value(run[i]);
        found += !isnan(x[found]);
    }
    median = tc_median(x, found);
    free(x);
    return median;
}

static row make_row(const tc_run *const *run, int64_t n)
{
    double slowest = NAN, fastest = NAN;

    for (int64_t i = 0; i < n; i++) { /* fmin and fmax pass over NAN */
        slowest = fmin(slowest, run_throughput(run[i]));
        fastest = fmax(fastest, run_throughput(run[i]));
    }
    return (row){
        .any = n > 0 ? run[0] : NULL,
        .runs = n,
        .slowest = slowest,
        .fastest = fastest,
        .throughput = median_over(run, n, run_throughput),
        .seconds = median_over(run, n, run_epoch_seconds),
        .accuracy = median_over(run, n, tc_run_final),
    };
}

static void print_row(tc_grid *grid, const row *r, const row *baseline)
{
    tc_grid_cell(grid, "%lld", (long long)r->runs);
    tc_grid_number(grid, r->throughput, 1);
    if (r->runs > 1)
        tc_grid_cell(grid, "%.0f-%.0f", r->slowest, r->fastest);
    else
        tc_grid_cell(grid, "-");
    tc_grid_number(grid, r->seconds, 2);
    if (isnan(r->throughput / baseline->throughput))
        tc_grid_cell(grid, "-");
    else
        tc_grid_cell(grid, "%.2fx", r->throughput / baseline->throughput);
    tc_grid_percent(grid, r->accuracy, 2);
}

static void print_heading(tc_grid *grid)
{
    static const char *const heading[] = {
        "store",    "allreduce", "table",   "overlap",  "runs",
        "images/s", "range",     "epoch s", "speed-up", "top-1 %"
    };

    for (size_t i = 0; i < sizeof heading / sizeof heading[0]; i++)
        tc_grid_cell(grid, "%s", heading[i]);
}

/* The eight rows, then the variants outside of them.  `chosen` is room for n runs. */
static tc_status print_rows(const tc_run *const *run, int64_t n, row rows[COMBINATIONS],
                            const tc_run **chosen, FILE *out)
{
    tc_grid *grid = tc_grid_create("llllrrrrrr");

    print_heading(grid);
    for (int c = 0; c < COMBINATIONS; c++) {
        int64_t found = 0;
        for (int64_t i = 0; i < n; i++)
            if (combination(run[i]) == c)
                chosen[found++] = run[i];
        rows[c] = make_row(chosen, found);
        tc_grid_cell(grid, "%s", word[0][(c & STORE) != 0]);
        tc_grid_cell(grid, "%s", word[1][(c & ALLREDUCE) != 0]);
        tc_grid_cell(grid, "%s", word[2][(c & TABLE) != 0]);
        tc_grid_cell(grid, "%s",
                     !found                ? "not run"
                     : *chosen[0]->overlap ? chosen[0]->overlap
                                           : "?");
        print_row(grid, &rows[c], &rows[0]);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t found = 0, before = 0;
        for (int64_t k = 0; k < n && combination(run[i]) < 0; k++) {
            if (combination(run[k]) < 0 && same_variant(run[i], run[k])) {
                before += k < i;
                chosen[found++] = run[k];
            }
        }
        if (found == 0 || before > 0)
            continue;
        row r = make_row(chosen, found);
        tc_grid_cell(grid, "%s", run[i]->store);
        tc_grid_cell(grid, "%s", run[i]->allreduce);
        tc_grid_cell(grid, "%s", run[i]->table);
        tc_grid_cell(grid, "%s", run[i]->overlap);
        print_row(grid, &r, &rows[0]);
    }
    tc_status status = tc_grid_print(grid, out);
    tc_grid_free(grid);
    return status;
}

static void effect_cell(tc_grid *grid, double ratio)
{
    if (isnan(ratio))
        tc_grid_cell(grid, "-");
    else
        tc_grid_cell(grid, "%+.1f %%", 100.0 * (ratio - 1.0));
}

/* Geometric mean, over the pairs that differ in this toggle alone, of new / old. */
static double pair_mean(const row rows[COMBINATIONS], int toggle, bool seconds)
{
    double sum = 0.0;
    int n = 0;

    for (int c = 0; c < COMBINATIONS; c++) {
        const row *old = &rows[c & ~toggle], *new = &rows[c | toggle];
        double ratio = seconds ? new->seconds / old->seconds : new->throughput / old->throughput;
        if ((c & toggle) == 0 && !isnan(ratio)) {
            sum += log(ratio);
            n++;
        }
    }
    return n > 0 ? exp(sum / n) : NAN;
}

/* "resnet50 epoch time -18 to -15 %; …", or that there is nothing. */
static void published_cell(tc_grid *grid, const tc_tsv *tsv, const char *toggle)
{
    char text[512] = "not published here";
    size_t used = 0;

    for (size_t i = 0; tsv && i < tsv->rows && used < sizeof text; i++)
        if (strcmp(tc_tsv_get(tsv, i, "toggle"), toggle) == 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s %s to %s %%",
                                     used ? "; " : "", tc_tsv_get(tsv, i, "network"),
                                     tc_tsv_get(tsv, i, "quantity"), tc_tsv_get(tsv, i, "low"),
                                     tc_tsv_get(tsv, i, "high"));
    tc_grid_cell(grid, "%s", text);
}

static tc_status print_effects(const row rows[COMBINATIONS], const tc_tsv *tsv, const char *kind,
                               FILE *out)
{
    static const char *const name[3] = { "store", "allreduce", "table" };
    const row *baseline = &rows[0], *full = &rows[ALL];
    tc_grid *grid = tc_grid_create(tsv ? "lrrrrl" : "lrrrr");

    tc_grid_cell(grid, "toggle");
    tc_grid_cell(grid, "speed alone");
    tc_grid_cell(grid, "with the others");
    tc_grid_cell(grid, "mean of pairs");
    tc_grid_cell(grid, "epoch time, mean");
    if (tsv)
        tc_grid_cell(grid, "published (the paper)");
    for (int t = 0; t < 3; t++) {
        int bit = STORE >> t;
        tc_grid_cell(grid, "%s %s -> %s", name[t], word[t][0], word[t][1]);
        effect_cell(grid, rows[bit].throughput / baseline->throughput);
        effect_cell(grid, full->throughput / rows[ALL & ~bit].throughput);
        effect_cell(grid, pair_mean(rows, bit, false));
        effect_cell(grid, pair_mean(rows, bit, true));
        if (tsv)
            published_cell(grid, tsv, name[t]);
    }
    tc_grid_cell(grid, "all three");
    effect_cell(grid, full->throughput / baseline->throughput);
    tc_grid_cell(grid, "-");
    tc_grid_cell(grid, "-");
    effect_cell(grid, full->seconds / baseline->seconds);
    if (tsv)
        published_cell(grid, tsv, "all");
    fprintf(out, "\n  What each toggle is worth in images/s (%s%s):\n", kind,
            tsv ? "; last column published, for other networks and machines" : "");
    tc_status status = tc_grid_print(grid, out);
    tc_grid_free(grid);
    return status;
}

static void print_notes(const row rows[COMBINATIONS], const tc_tsv *tsv, FILE *out)
{
    bool several = false, repeated = true;

    for (int c = 0; c < COMBINATIONS; c++) {
        repeated &= rows[c].runs != 1;
        several |=
            (c & TABLE) == 0 && rows[c].any && !(rows[c].any->devices * rows[c].any->ranks <= 1.0);
    }
    fputc('\n', out);
    if (!rows[0].any)
        fprintf(out, "  No speed-ups: the baseline (files, mpi, baseline) was not run.\n");
    if (!repeated)
        fprintf(out, "  Rows of one run do not show how far the machine itself varies; repetitions "
                     "(--repeat) do.\n");
    if (several)
        fprintf(out, "  table baseline evaluates with the first device's BN statistics, as Torch "
                     "does, the others with\n  the average of all: that alone can make their "
                     "accuracies differ.\n");
    fprintf(out,
            "  \"alone\": against the baseline; \"with the others\": the last step to the full "
            "set; \"mean of pairs\":\n  geometric, over the four pairs that differ in nothing "
            "else.  overlap acts with multicolor and optimized.\n");
    for (size_t i = 0; tsv && i < tsv->rows; i++)
        fprintf(out, "  Published: %s %s, %s: %s [%s]\n", tc_tsv_get(tsv, i, "toggle"),
                tc_tsv_get(tsv, i, "network"), tc_tsv_get(tsv, i, "quantity"),
                tc_tsv_get(tsv, i, "source"), tc_tsv_get(tsv, i, "provenance"));
    if (tsv)
        fprintf(out, "  The paper's: 8, 16 and 32 nodes of 4 P100, over its open-source baseline; "
                     "which node count has\n  which value: not published here.\n");
}

static tc_status print_group(const tc_run *const *run, int64_t n, const tc_tsv *tsv, FILE *out)
{
    row rows[COMBINATIONS];
    char hardware[96];
    const tc_run **chosen = calloc((size_t)n, sizeof *chosen);

    if (!chosen)
        return tc_fail(TC_NOMEM, "no memory for the ablation");
    tc_run_hardware(run[0], hardware, sizeof hardware);
    fprintf(out, "Ablation: %s, %s, %s", run[0]->model, hardware,
            *run[0]->precision ? run[0]->precision : "precision ?");
    if (!isnan(run[0]->batch))
        fprintf(out, ", batch %.0f a device", run[0]->batch);
    fprintf(out, "; all figures %s\n", tc_run_kind(run[0]));
    fprintf(out, "  (medians over the epochs without the first, and over the runs of a row)\n\n");
    tc_status status = print_rows(run, n, rows, chosen, out);
    if (status == TC_OK)
        status = print_effects(rows, tsv, tc_run_kind(run[0]), out);
    if (status == TC_OK) {
        print_notes(rows, tsv, out);
        fputc('\n', out);
    }
    free(chosen);
    return status;
}

/* Collect the runs of run[first]'s setting into group; 0 where an earlier run has it already,
 * or where all are the same variant. */
static int64_t collect(const tc_runs *runs, int64_t first, const tc_run **group)
{
    int64_t n = 0;
    bool differ = false;

    for (int64_t i = 0; i < runs->n; i++) {
        if (runs->run[i]->n_epochs == 0 || !same_setting(runs->run[first], runs->run[i]))
            continue;
        if (i < first)
            return 0;
        group[n++] = runs->run[i];
        differ |= !same_variant(group[0], runs->run[i]);
    }
    return differ ? n : 0;
}

tc_status tc_print_ablation(const tc_runs *runs, const char *published, FILE *out)
{
    const tc_run **group = calloc((size_t)runs->n + 1, sizeof *group);
    tc_tsv tsv = { 0 };
    tc_status status = TC_OK;

    if (!group)
        return tc_fail(TC_NOMEM, "no memory for the ablation");
    if (published)
        status = tc_tsv_read(published, "ablation.tsv", &tsv);
    for (int64_t i = 0; i < runs->n && status == TC_OK; i++) {
        int64_t n = collect(runs, i, group);
        if (n > 0)
            status = print_group(group, n, published ? &tsv : NULL, out);
    }
    tc_tsv_free(&tsv);
    free(group);
    return status;
}
