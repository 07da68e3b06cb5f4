/*
 * Whole networks against PyTorch in double: loss, logits, running statistics and the gradient of
 * every parameter (or, after ten steps, its weights) beside the values that networks.py wrote.
 * Weights, pictures and labels come from the formula that stands there.
 *
 * CASES (a macro) names the files; t-reference-long is this source with other ones.
 */
#include <config.h>

#include "base/clock.h"
#include "base/mem.h"
#include "dev/dev.h"
#include "nn/model.h"

#include "../tap.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 3
#define STEPS   16 /* at most */

/* ---- The formula; networks.py has the same under the same names ---- */

static uint32_t mix(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

static uint32_t key_of(const char *name, const char *more)
{
    uint32_t key = 2166136261u;

    for (; *name; name++)
        key = (key ^ (uint8_t)*name) * 16777619u;
    for (; *more; more++)
        key = (key ^ (uint8_t)*more) * 16777619u;
    return key;
}

static uint32_t bits(uint32_t key, int64_t at)
{
    return mix(mix((uint32_t)at) + key);
}

static double draw(uint32_t key, int64_t at)
{
    return (bits(key, at) >> 8) * 0x1p-23 - 1.0;
}

static void fill_weights(const tc_graph *graph, float *flat)
{
    for (int i = 0; i < graph->n_params; i++) {
        const tc_param *p = &graph->param[i];
        bool gamma = graph->node[p->node].op == TC_OP_BN && graph->node[p->node].weight == i;
        uint32_t key = key_of(p->name, "");
        int64_t taps = p->count / p->dims[0];
        double width = sqrt(3.0 / (double)taps);
        float *w = flat + p->offset;
        for (int64_t k = 0; k < p->count; k++)
            if (p->n_dims > 1)
                w[k] = taps % 2 == 0 && k % 2 == 1 ? -w[k - 1] : (float)(width * draw(key, k));
            else
                w[k] = (float)((gamma ? 1.0 : k % 16 == 15 ? 0.25 : 3.0) + 0.25 * draw(key, k));
    }
}

static void fill_stats(const tc_graph *graph, float *flat)
{
    for (int i = 0; i < graph->n_stats; i++) {
        const tc_stat *s = &graph->stat[i];
        uint32_t mean = key_of(s->name, ".running_mean"), spread = key_of(s->name, ".running_var");
        for (int64_t c = 0; c < s->channels; c++) {
            flat[s->offset + c] = (float)draw(mean, c);
            flat[s->offset + s->channels + c] = (float)(1.5 + 0.5 * draw(spread, c));
        }
    }
}

static void fill_slice(const tc_graph *graph, int64_t first, int64_t batch, uint8_t *images,
                       int32_t *labels)
{
    uint32_t level = key_of("level", ""), cell = key_of("cell", ""), grain = key_of("grain", "");
    int64_t h = graph->node[0].h, w = graph->node[0].w;

    for (int64_t n = first; n < first + batch; n++) {
        labels[n - first] = (int32_t)(bits(key_of("label", ""), n) % (uint32_t)graph->classes);
        for (int64_t y = 0; y < h; y++)
            for (int64_t x = 0; x < w; x++)
                for (int64_t c = 0; c < 3; c++)
                    *images++ =
                        (uint8_t)((bits(level, n * 3 + c) & 127) +
                                  (bits(cell, ((n * 64 + y / 8) * 64 + x / 8) * 3 + c) & 63) +
                                  (bits(grain, ((n * h + y) * w + x) * 3 + c) & 63));
    }
}

/* ---- What PyTorch found ---- */

/* One line: a tensor's norm, and elements of it at places that its name tells. */
typedef struct {
    char kind[16], key[TC_NAME_MAX];
    long long count;
    double norm, sample[SAMPLES];
} record;

typedef struct {
    tc_model_options model;
    char name[TC_NAME_MAX];
    int64_t batch;
    int steps, n;
    double loss[STEPS];
    record *record; /* [n] */
} expected;

static bool parse_line(const char *line, expected *e, int *losses)
{
    record *r = &e->record[e->n];
    long long classes, size, batch;
    char aux[16];

    if (line[0] == '#')
        return true;
    if (sscanf(line, "model %63s %lld %15s", e->name, &classes, aux) == 3) {
        e->model.name = e->name;
        e->model.classes = classes;
        e->model.aux = strcmp(aux, "train") == 0 ? TC_AUX_TRAIN : TC_AUX_NONE;
        return true;
    }
    if (sscanf(line, "input %lld %lld %d", &size, &batch, &e->steps) == 3) {
        e->model.size = size;
        e->batch = batch;
        return e->steps >= 1 && e->steps <= STEPS;
    }
    if (*losses < e->steps && sscanf(line, "loss %lf", &e->loss[*losses]) == 1)
        return ++*losses, true;
    if (sscanf(line, "%15s %63s %lld %lf %lf %lf %lf", r->kind, r->key, &r->count, &r->norm,
               &r->sample[0], &r->sample[1], &r->sample[2]) != 4 + SAMPLES)
        return false;
    e->n++;
    return true;
}

static tc_status load(const char *name, expected *e)
{
    const char *top = getenv("top_srcdir");
    char path[512], line[512];
    int losses = 0, lines = 0;

    *e = (expected){ 0 };
    snprintf(path, sizeof path, "%s/tests/reference/networks/%s.txt", top ? top : ".", name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return tc_fail(TC_IO, "%s cannot be read: start in the build folder by make", path);
    while (fgets(line, sizeof line, file) != NULL)
        lines++;
    rewind(file);
    tc_status status = tc_alloc(lines + 1, sizeof *e->record, "records", &e->record);
    for (int i = 1; status == TC_OK && fgets(line, sizeof line, file) != NULL; i++)
        if (!parse_line(line, e, &losses))
            status = tc_fail(TC_FORMAT, "%s: line %d: make it anew with networks.py", path, i);
    fclose(file);
    if (status == TC_OK && (e->n == 0 || losses != e->steps))
        status = tc_fail(TC_FORMAT, "%s: cut off: make it anew with networks.py", path);
    return status;
}

/* ---- A run of tricolor ---- */

typedef struct {
    const char *backend;
    tc_precision precision;
    double forward;       /* bound for loss, logits, statistics */
    double middle, worst; /* for the distances of parameters: their median; the worst */
    double whole;         /* for the norm of the whole gradient, or of the weights' change */
} target;

typedef struct {
    const expected *e;
    tc_graph *graph;
    const tc_backend *backend;
    tc_dev *dev;
    tc_step *step;
    int64_t *bound;
    int n_buckets;
    tc_precision type; /* in which vectors are read */
    uint8_t *images;
    int32_t *labels;
    float *start;   /* weights before the first step */
    double *vector; /* room for the longest */
    double loss[STEPS];
} run;

static void run_close(run *r)
{
    if (r->backend != NULL) {
        r->backend->step_free(r->step);
        r->backend->close(r->dev);
    }
    tc_free(r->bound);
    tc_free(r->images);
    tc_free(r->labels);
    tc_free(r->start);
    tc_free(r->vector);
    tc_graph_free(r->graph);
}

static int64_t longest(const run *r)
{
    int64_t logits = r->e->batch * r->graph->classes, n = r->graph->param_count;

    return logits > n ? logits : n;
}

static tc_status take_memory(run *r)
{
    const tc_graph *graph = r->graph;
    int64_t pixels = r->e->batch * 3 * graph->node[0].h * graph->node[0].w;
    tc_status status = tc_graph_buckets(graph, 1 << 20, &r->bound, &r->n_buckets);

    if (status == TC_OK)
        status = tc_alloc(pixels, 1, "pictures", &r->images);
    if (status == TC_OK)
        status = tc_alloc(r->e->batch, sizeof(int32_t), "labels", &r->labels);
    if (status == TC_OK)
        status = tc_alloc(graph->param_count, sizeof(float), "weights", &r->start);
    if (status == TC_OK)
        status = tc_alloc(longest(r), sizeof(double), "vector", &r->vector);
    return status;
}

static tc_status write_start(run *r)
{
    float *stats = NULL;
    tc_status status = tc_alloc(r->graph->stat_count, sizeof *stats, "statistics", &stats);

    if (status != TC_OK)
        return status;
    fill_stats(r->graph, stats);
    fill_weights(r->graph, r->start);
    status = r->backend->write(r->step, TC_VEC_STATS, 0, r->graph->stat_count, TC_F32, stats);
    if (status == TC_OK)
        status =
            r->backend->write(r->step, TC_VEC_WEIGHTS, 0, r->graph->param_count, TC_F32, r->start);
    tc_free(stats);
    return status;
}

static tc_status run_open(const expected *e, const target *t, run *r)
{
    *r = (run){ .e = e, .type = t->precision == TC_F64 ? TC_F64 : TC_F32 };
    tc_status status = tc_backend_find(t->backend, &r->backend);

    if (status == TC_OK)
        status = tc_model_build(&e->model, &r->graph);
    if (status == TC_OK)
        status = take_memory(r);
    if (status == TC_OK)
        status = r->backend->open(&(tc_dev_options){ .threads = 1 }, &r->dev);
    if (status != TC_OK)
        return status;
    tc_compile_options options = { .max_batch = e->batch,
                                   .precision = t->precision,
                                   .n_buckets = r->n_buckets,
                                   .bound = r->bound,
                                   .training = true };
    status = r->backend->compile(r->dev, r->graph, &options, &r->step);
    return status == TC_OK ? write_start(r) : status;
}

static tc_status run_steps(run *r)
{
    const expected *e = r->e;
    tc_slice slice = { e->batch, r->images, r->labels, NULL };
    tc_sgd sgd = { .lr = 1e-3f, .momentum = 0.9f, .weight_decay = 1e-4f, .nesterov = true };
    tc_status status = TC_OK;

    for (int i = 0; i < e->steps && status == TC_OK; i++) {
        tc_metrics metrics = { 0 };
        fill_slice(r->graph, i * e->batch, e->batch, r->images, r->labels);
        status = r->backend->place(r->step, 0, &slice);
        if (status == TC_OK)
            status = r->backend->train(r->step, 0, 1.0f / (float)e->batch, NULL);
        if (status == TC_OK)
            status = r->backend->metrics(r->step, &metrics);
        r->loss[i] = metrics.loss / (double)e->batch;
        for (int b = 0; b < r->n_buckets && status == TC_OK && e->steps > 1; b++)
            status = r->backend->update(r->step, b, r->backend->host_gradients(r->step), &sgd);
    }
    return status;
}

/* ---- Comparison ---- */

/* Elements [offset, offset + count) of a vector, as double, at the start of r->vector. */
static tc_status read_part(run *r, tc_vector vec, int64_t offset, int64_t count)
{
    tc_status status = r->backend->read(r->step, vec, offset, count, r->type, r->vector);
    const float *narrow = (const float *)r->vector;

    for (int64_t i = count - 1; i >= 0 && status == TC_OK && r->type == TC_F32; i--) {
        float x;
        memcpy(&x, narrow + i, sizeof x);
        r->vector[i] = x;
    }
    return status;
}

/* Bring what a record tells of to r->vector.  TC_INVAL: the network has no such tensor. */
static tc_status fetch(run *r, const record *rec)
{
    const tc_graph *graph = r->graph;
    bool change = strcmp(rec->kind, "change") == 0, mean = strcmp(rec->kind, "mean") == 0;

    if (strcmp(rec->kind, "logits") == 0 && rec->count == r->e->batch * graph->classes)
        return read_part(r, TC_VEC_LOGITS, 0, rec->count);
    for (int i = 0; i < graph->n_stats; i++) {
        const tc_stat *s = &graph->stat[i];
        if ((mean || strcmp(rec->kind, "variance") == 0) && strcmp(s->name, rec->key) == 0 &&
            s->channels == rec->count)
            return read_part(r, TC_VEC_STATS, s->offset + (mean ? 0 : s->channels), rec->count);
    }
    for (int i = 0; i < graph->n_params; i++) {
        const tc_param *p = &graph->param[i];
        if (strcmp(p->name, rec->key) != 0 || p->count != rec->count)
            continue;
        bool gradient = strcmp(rec->kind, "gradient") == 0;
        tc_status status =
            read_part(r, gradient ? TC_VEC_GRADIENTS : TC_VEC_WEIGHTS, p->offset, rec->count);
        for (int64_t k = 0; k < rec->count && change; k++)
            r->vector[k] -= r->start[p->offset + k];
        return status;
    }
    return tc_fail(TC_INVAL, "there is no %s of %s with %lld elements", rec->kind, rec->key,
                   rec->count);
}

static double norm_of(const double *x, int64_t n)
{
    double square = 0.0;

    for (int64_t i = 0; i < n; i++)
        square += x[i] * x[i];
    return sqrt(square);
}

/* How far a number is from the right one, relative to a scale; NaN is farthest. */
static double apart(double got, double want, double scale)
{
    return isfinite(got) ? fabs(got - want) / scale : INFINITY;
}

/* How far r->vector is from a record: its norm, relative, and its samples, relative to their own
 * size and the root mean square.  What theory says is 0 (the gradient of a bias before a BN) is
 * held to `whole` instead. */
static double distance(const run *r, const record *rec, double whole)
{
    double norm = norm_of(r->vector, rec->count), rms = rec->norm / sqrt((double)rec->count);
    uint32_t key = key_of(rec->key, "");

    if (rec->norm < 1e-10 * whole)
        return apart(norm, 0.0, whole);
    double far = apart(norm, rec->norm, rec->norm);
    for (int j = 0; j < SAMPLES; j++) {
        double want = rec->sample[j], got = r->vector[bits(key, j) % (uint32_t)rec->count];
        far = fmax(far, apart(got, want, fabs(want) + rms));
    }
    return far;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

typedef struct {
    double loss, logits, stats, middle, worst, whole;
    const char *where; /* the worst parameter */
    int n;             /* parameters seen */
} verdict;

/* Gradients, or what steps have changed: parts of one vector, whose norm is worth a look. */
static bool of_slope(const record *rec)
{
    return strcmp(rec->kind, "gradient") == 0 || strcmp(rec->kind, "change") == 0;
}

static double whole_norm(const expected *e)
{
    double square = 0.0;

    for (int i = 0; i < e->n; i++)
        square += of_slope(&e->record[i]) ? e->record[i].norm * e->record[i].norm : 0.0;
    return sqrt(square);
}

static tc_status compare(run *r, verdict *v)
{
    const expected *e = r->e;
    double whole = whole_norm(e), square = 0.0, *all = NULL;
    tc_status status = tc_alloc(e->n, sizeof *all, "distances", &all);

    for (int i = 0; i < e->steps; i++)
        v->loss = fmax(v->loss, apart(r->loss[i], e->loss[i], e->loss[i]));
    for (int i = 0; i < e->n && status == TC_OK; i++) {
        const record *rec = &e->record[i];
        status = fetch(r, rec);
        double far = status == TC_OK ? distance(r, rec, whole) : INFINITY;
        if (strcmp(rec->kind, "logits") == 0) {
            v->logits = far;
        } else if (strcmp(rec->kind, "mean") == 0 || strcmp(rec->kind, "variance") == 0) {
            v->stats = fmax(v->stats, far);
        } else {
            all[v->n++] = far;
            v->where = far > v->worst ? rec->key : v->where;
            v->worst = fmax(v->worst, far);
            if (of_slope(rec))
                square += pow(norm_of(r->vector, rec->count), 2);
        }
    }
    if (status == TC_OK && v->n > 0) {
        qsort(all, (size_t)v->n, sizeof *all, ascending);
        v->middle = all[v->n / 2];
    }
    v->whole = apart(sqrt(square), whole, whole);
    tc_free(all);
    return status;
}

/* Every parameter is told of: n lines a parameter, 2 a BN, 1 of logits. */
static bool complete(const expected *e, const verdict *v, const tc_graph *graph)
{
    int each = e->steps > 1 ? 2 : 1;

    return v->n == each * graph->n_params && e->n == v->n + 2 * graph->n_stats + 1;
}

static void check(const char *name, const target *t)
{
    expected e;
    run r = { 0 };
    verdict v = { .where = "" };
    double begin = tc_now();

    tc_status status = load(name, &e);
    if (status == TC_OK)
        status = run_open(&e, t, &r);
    if (status == TC_NOSUPPORT) {
        char what[128];
        snprintf(what, sizeof what, "%s on %s in %s", name, t->backend,
                 tc_precision_name(t->precision));
        tap_skip(what, tc_error_detail());
        goto done;
    }
    if (status == TC_OK)
        status = run_steps(&r);
    if (status == TC_OK)
        status = compare(&r, &v);
    tap_ok(status == TC_OK && complete(&e, &v, r.graph) && v.loss <= t->forward &&
               v.logits <= t->forward && v.stats <= t->forward && v.middle <= t->middle &&
               v.worst <= t->worst && v.whole <= t->whole,
           "%s on %s in %s: loss %.1e, logits %.1e, statistics %.1e (%.0e); %d parameters: median "
           "%.1e (%.0e), worst %.1e (%.0e) %s, norm of all %.1e (%.0e); %.1f s%s%s",
           name, t->backend, tc_precision_name(t->precision), v.loss, v.logits, v.stats, t->forward,
           v.n, v.middle, t->middle, v.worst, t->worst, v.where, v.whole, t->whole,
           tc_now() - begin, status == TC_OK ? "" : ": ", status == TC_OK ? "" : tc_error_detail());
done:
    run_close(&r);
    tc_free(e.record);
}

/* GoogLeNetBN's stem has max pools and ReLUs of which one or two decide otherwise in fp32, and each
 * moves the gradients before it by some 1e-3: PyTorch's own fp32 is as far from its double (see
 * networks.py --perturb).  bf16 decides many otherwise. */
static const struct {
    const char *cases;
    target target;
} checks[] = {
    { "", { "ref", TC_F64, 1e-9, 1e-9, 1e-9, 1e-9 } },
    { "resnet", { "onednn", TC_F32, 1e-4, 1e-4, 1e-4, 1e-4 } },
    { "googlenetbn", { "onednn", TC_F32, 1e-4, 1e-4, 2e-2, 1e-3 } },
    { "resnet", { "onednn", TC_BF16, 3e-2, 1.5e-1, INFINITY, 5e-2 } },
    { "googlenetbn", { "onednn", TC_BF16, 3e-2, 3e-1, INFINITY, 5e-2 } },
};

#ifndef CASES
#define CASES "resnet18-64", "resnet50-64", "googlenetbn-64"
#endif

int main(void)
{
    static const char *const cases[] = { CASES };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t k = 0; k < sizeof checks / sizeof checks[0]; k++)
            if (strncmp(cases[i], checks[k].cases, strlen(checks[k].cases)) == 0)
                check(cases[i], &checks[k].target);
    return tap_done();
}
