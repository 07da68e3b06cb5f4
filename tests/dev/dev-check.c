/* Checks of one backend against ref in double, and of the contract in backend.h. */
#include <config.h>

#include "dev-check.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static check_result verdict(bool ok, const char *fmt, ...)
{
    check_result result = { .ok = ok };
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(result.text, sizeof result.text, fmt, ap);
    va_end(ap);
    return result;
}

static check_result broken(const char *what)
{
    return verdict(false, "%s: %s", what, tc_error_detail());
}

/* Weights as initialised, but no gamma is 0 or 1 and no bias 0; statistics of some spread. */
static void fill(check_run *run)
{
    const tc_graph *graph = run->graph;
    tc_rng rng = tc_rng_make(7, TC_STREAM_TEST, 1, 0);
    int64_t pixels = run->batch * graph->node[0].h * graph->node[0].w * 3;

    tc_graph_init_weights(graph, 5, run->weights);
    for (int i = 0; i < graph->n_params; i++)
        for (int64_t j = 0; graph->param[i].init == TC_INIT_CONSTANT && j < graph->param[i].count;
             j++)
            run->weights[graph->param[i].offset + j] += (float)(0.3 * tc_rng_normal(&rng));
    for (int i = 0; i < graph->n_stats; i++)
        for (int64_t c = 0; c < graph->stat[i].channels; c++) {
            float *mean = &run->stats[graph->stat[i].offset + c];
            mean[0] = (float)(0.3 * tc_rng_normal(&rng));
            mean[graph->stat[i].channels] = (float)(0.5 + tc_rng_uniform(&rng));
        }
    for (int64_t p = 0; p < pixels; p++)
        run->images[p] = (uint8_t)tc_rng_below(&rng, 256);
    for (int64_t n = 0; n < run->batch; n++) {
        run->labels[n] =
            n == 1 && run->batch >= 3 ? -1 : (int32_t)tc_rng_below(&rng, graph->classes);
        for (int c = 0; c < 3; c++)
            run->offset[n * 3 + c] = (float)(0.1 * tc_rng_normal(&rng));
    }
}

bool check_reset(check_run *run)
{
    const tc_graph *graph = run->graph;
    const tc_backend *b = run->target.backend;
    float *zero = calloc((size_t)graph->param_count + 1, sizeof *zero);
    bool ok =
        b->write(run->step, TC_VEC_WEIGHTS, 0, graph->param_count, TC_F32, run->weights) == TC_OK &&
        b->write(run->step, TC_VEC_STATS, 0, graph->stat_count, TC_F32, run->stats) == TC_OK &&
        b->write(run->step, TC_VEC_MOMENTUM, 0, graph->param_count, TC_F32, zero) == TC_OK;

    free(zero);
    return ok;
}

bool check_open(check_run *run, check_target target, const tc_graph *graph, int64_t batch,
                const int64_t *bound, int n_buckets)
{
    const tc_node *in = &graph->node[0];
    uint64_t bytes = 0;

    *run = (check_run){ .target = target, .graph = graph, .batch = batch };
    run->weights = calloc((size_t)graph->param_count + 1, sizeof(float));
    run->stats = calloc((size_t)graph->stat_count + 1, sizeof(float));
    run->images = malloc((size_t)(batch * in->h * in->w * 3));
    run->labels = malloc((size_t)batch * sizeof(int32_t));
    run->offset = malloc((size_t)batch * 3 * sizeof(float));
    fill(run);
    if (bound == NULL) {
        if (tc_graph_buckets(graph, 1, &run->bound, &run->n_buckets) != TC_OK)
            return false;
        bound = run->bound;
        n_buckets = run->n_buckets;
    }
    run->n_buckets = n_buckets;
    tc_compile_options options = { .max_batch = batch,
                                   .precision = target.precision,
                                   .n_buckets = n_buckets,
                                   .bound = bound,
                                   .training = true,
                                   .deterministic = true };
    return target.backend->open(&(tc_dev_options){ .threads = 1 }, &run->dev) == TC_OK &&
           target.backend->estimate(run->dev, graph, &options, &bytes) == TC_OK && bytes > 0 &&
           target.backend->compile(run->dev, graph, &options, &run->step) == TC_OK &&
           check_reset(run);
}

void check_close(check_run *run)
{
    run->target.backend->step_free(run->step);
    run->target.backend->close(run->dev);
    tc_free(run->bound);
    free(run->weights);
    free(run->stats);
    free(run->images);
    free(run->labels);
    free(run->offset);
    *run = (check_run){ 0 };
}

tc_slice check_slice(const check_run *run, int64_t count)
{
    return (tc_slice){
        .count = count, .images = run->images, .labels = run->labels, .offset = run->offset
    };
}

/* A vector of a run in double, in memory that the caller frees; NULL on failure. */
static double *get(const check_run *run, tc_vector vec, int64_t count)
{
    double *out = malloc(((size_t)count + 1) * sizeof *out);
    float *narrow = malloc(((size_t)count + 1) * sizeof *narrow);
    bool wide = run->target.precision == TC_F64;
    tc_status status = run->target.backend->read(run->step, vec, 0, count, wide ? TC_F64 : TC_F32,
                                                 wide ? (void *)out : (void *)narrow);

    for (int64_t i = 0; !wide && i < count; i++)
        out[i] = narrow[i];
    free(narrow);
    if (status == TC_OK)
        return out;
    free(out);
    return NULL;
}

static double norm(const double *x, const double *y, int64_t count)
{
    double sum = 0.0;

    for (int64_t i = 0; i < count; i++)
        sum += (x[i] - (y ? y[i] : 0.0)) * (x[i] - (y ? y[i] : 0.0));
    return sqrt(sum);
}

/* The larger; NaN counts as the largest, so that it never passes. */
static double worse(double a, double b)
{
    return a > b || isnan(a) ? a : b;
}

/* |x - y| / |y|, but a tensor that is nearly 0 beside the others is measured by `floor`. */
static double distance(const double *x, const double *y, int64_t count, double floor)
{
    double length = norm(y, NULL, count);

    return norm(x, y, count) / (length > floor ? length : floor);
}

/* The worst relative error of a vector of two runs, tensor by tensor where it is cut into them. */
static double compare(const check_run *run, const check_run *ref, tc_vector vec, int64_t count)
{
    double *x = get(run, vec, count), *y = get(ref, vec, count), error = NAN;
    const tc_graph *graph = run->graph;

    if (x != NULL && y != NULL && vec == TC_VEC_GRADIENTS) {
        double rms = norm(y, NULL, count) / sqrt((double)count);
        error = 0.0;
        for (int i = 0; i < graph->n_params; i++) {
            const tc_param *p = &graph->param[i];
            error = worse(distance(x + p->offset, y + p->offset, p->count,
                                   1e-2 * rms * sqrt((double)p->count)),
                          error);
        }
    } else if (x != NULL && y != NULL) {
        error = distance(x, y, count, 1e-30);
    }
    free(x);
    free(y);
    return error;
}

typedef struct {
    double logits, loss, gradients, stats;
    bool hits;
} errors;

/* What a run and ref have to show after the same call. */
static errors compare_all(const check_run *run, const check_run *ref, int64_t count)
{
    errors e = { 0 };
    tc_metrics a = { 0 }, b = { 0 };

    e.logits = compare(run, ref, TC_VEC_LOGITS, count * run->graph->classes);
    e.gradients = compare(run, ref, TC_VEC_GRADIENTS, run->graph->param_count);
    if (run->graph->stat_count > 0)
        e.stats = compare(run, ref, TC_VEC_STATS, run->graph->stat_count);
    bool read = run->target.backend->metrics(run->step, &a) == TC_OK &&
                ref->target.backend->metrics(ref->step, &b) == TC_OK;
    e.loss = read ? fabs(a.loss - b.loss) / b.loss : NAN;
    e.hits = a.count == b.count && a.top1 == b.top1 && a.top5 == b.top5 && a.count > 0;
    return e;
}

/* Evaluate a smaller slice in slot 1 and differentiate it from given DLOGITS. */
static bool evaluate(check_run *run, int64_t count)
{
    const tc_backend *b = run->target.backend;
    int64_t n = count * run->graph->classes;
    float *dlogits = malloc((size_t)n * sizeof *dlogits);
    tc_rng rng = tc_rng_make(8, TC_STREAM_TEST, 2, 0);
    tc_slice slice = check_slice(run, count);

    slice.offset = NULL;
    for (int64_t i = 0; i < n; i++)
        dlogits[i] = (float)tc_rng_normal(&rng);
    bool ok = b->place(run->step, 1, &slice) == TC_OK &&
              b->forward(run->step, 1, TC_FORWARD_EVAL) == TC_OK &&
              b->write(run->step, TC_VEC_DLOGITS, 0, n, TC_F32, dlogits) == TC_OK &&
              b->backward(run->step, 1, NULL) == TC_OK;
    free(dlogits);
    return ok;
}

/* Training and evaluation of one graph beside ref in double; fewer <= batch pictures in the second.
 */
static check_result beside_ref(check_target target, const tc_graph *graph, int64_t batch,
                               int64_t fewer)
{
    check_target oracle = { .precision = TC_F64 };
    check_run run = { .target = target }, ref;

    if (tc_backend_find("ref", &oracle.backend) != TC_OK)
        return broken("ref");
    bool ok = check_open(&ref, oracle, graph, batch, NULL, 0) &&
              check_open(&run, target, graph, batch, NULL, 0);
    tc_slice slice = check_slice(&ref, batch);
    const tc_backend *t = target.backend, *o = oracle.backend;
    float scale = 1.0f / (float)batch;
    errors train = { 0 }, eval = { 0 };
    ok = ok && t->place(run.step, 0, &slice) == TC_OK && o->place(ref.step, 0, &slice) == TC_OK &&
         t->train(run.step, 0, scale, NULL) == TC_OK && o->train(ref.step, 0, scale, NULL) == TC_OK;
    if (ok)
        train = compare_all(&run, &ref, batch);
    ok = ok && evaluate(&run, fewer) && evaluate(&ref, fewer);
    if (ok)
        eval = compare_all(&run, &ref, fewer);
    double worst =
        worse(worse(worse(train.logits, train.loss), worse(train.gradients, train.stats)),
              worse(worse(eval.logits, eval.loss), worse(eval.gradients, eval.stats)));
    check_result result =
        ok ? verdict(worst <= target.tolerance && train.hits && eval.hits,
                     "%s: training: logits %.1e, loss %.1e, gradients %.1e, statistics %.1e; "
                     "evaluation: logits %.1e, loss %.1e, gradients %.1e%s",
                     graph->name, train.logits, train.loss, train.gradients, train.stats,
                     eval.logits, eval.loss, eval.gradients,
                     train.hits && eval.hits ? "" : "; other hits")
           : broken(graph->name);
    check_close(&run);
    check_close(&ref);
    return result;
}

check_result check_layers(check_target target, int graph_index)
{
    tc_graph *graph = check_graph(graph_index);

    if (graph == NULL)
        return broken("graph");
    check_result result = beside_ref(target, graph, 4, 3);
    tc_graph_free(graph);
    return result;
}

check_result check_model(check_target target, const tc_model_options *model, int64_t batch)
{
    tc_graph *graph = NULL;

    if (tc_model_build(model, &graph) != TC_OK)
        return broken(model->name);
    check_result result = beside_ref(target, graph, batch, batch);
    tc_graph_free(graph);
    return result;
}

check_result check_phases(check_target target, int graph_index)
{
    tc_graph *graph = check_graph(graph_index);
    const tc_backend *b = target.backend;
    check_run run;
    const int64_t batch = 4;
    int64_t n = graph->param_count, m = batch * graph->classes, s = graph->stat_count;
    bool ok = check_open(&run, target, graph, batch, NULL, 0);
    float *one = malloc((size_t)n * sizeof *one), *two = malloc((size_t)n * sizeof *two);
    float *stat1 = malloc((size_t)s * sizeof *one + 1),
          *stat2 = malloc((size_t)s * sizeof *two + 1);
    float *logits = malloc((size_t)m * sizeof *logits),
          *dlogits = malloc((size_t)m * sizeof *logits);
    tc_metrics a = { 0 }, c = { 0 };
    tc_slice slice = check_slice(&run, batch);

    ok = ok && b->place(run.step, 0, &slice) == TC_OK &&
         b->train(run.step, 0, 0.25f, NULL) == TC_OK && b->metrics(run.step, &a) == TC_OK &&
         b->read(run.step, TC_VEC_GRADIENTS, 0, n, TC_F32, one) == TC_OK &&
         b->read(run.step, TC_VEC_STATS, 0, s, TC_F32, stat1) == TC_OK && check_reset(&run);
    ok = ok && b->place(run.step, 1, &slice) == TC_OK &&
         b->forward(run.step, 1, TC_FORWARD_TRAIN) == TC_OK &&
         b->read(run.step, TC_VEC_LOGITS, 0, m, TC_F32, logits) == TC_OK &&
         b->criterion(run.dev, batch, graph->classes, logits, slice.labels, 0.25f, dlogits, &c) ==
             TC_OK &&
         b->write(run.step, TC_VEC_DLOGITS, 0, m, TC_F32, dlogits) == TC_OK &&
         b->backward(run.step, 1, NULL) == TC_OK &&
         b->read(run.step, TC_VEC_GRADIENTS, 0, n, TC_F32, two) == TC_OK &&
         b->read(run.step, TC_VEC_STATS, 0, s, TC_F32, stat2) == TC_OK;
    check_result result =
        ok ? verdict(memcmp(one, two, (size_t)n * sizeof *one) == 0 &&
                         memcmp(stat1, stat2, (size_t)s * sizeof *stat1) == 0 && a.loss == c.loss &&
                         a.count == c.count && a.top1 == c.top1 && a.top5 == c.top5,
                     "%s: phases give the bits of train() (losses %.9g and %.9g)",
                     check_graph_name(graph_index), a.loss, c.loss)
           : broken(check_graph_name(graph_index));
    free(one);
    free(two);
    free(stat1);
    free(stat2);
    free(logits);
    free(dlogits);
    check_close(&run);
    tc_graph_free(graph);
    return result;
}

/* What the bucket callback saw. */
typedef struct {
    const check_run *run;
    const int64_t *bound;
    float *seen; /* (param_count) */
    int next, wrong;
} watch;

static void on_bucket(void *arg, int b)
{
    watch *w = arg;
    int64_t from = w->bound[b], count = w->bound[b + 1] - from;
    const float *host = w->run->target.backend->host_gradients(w->run->step);

    w->wrong += b != w->next--;
    memcpy(w->seen + from, host + from, (size_t)count * sizeof *w->seen);
}

static bool watch_buckets(check_target target, const tc_graph *graph, const int64_t *bound, int n)
{
    const tc_backend *b = target.backend;
    check_run run;
    watch w = { .run = &run, .next = n - 1 };
    bool ok = check_open(&run, target, graph, 4, bound, n);
    int64_t count = graph->param_count;
    float *final = malloc((size_t)count * sizeof *final);
    tc_slice slice = check_slice(&run, 4);

    w.seen = calloc((size_t)count, sizeof *w.seen);
    w.bound = bound ? bound : run.bound;
    if (bound == NULL)
        w.next = run.n_buckets - 1;
    ok = ok && b->place(run.step, 0, &slice) == TC_OK &&
         b->train(run.step, 0, 0.25f, &(tc_step_events){ .bucket = on_bucket, .arg = &w }) ==
             TC_OK &&
         b->read(run.step, TC_VEC_GRADIENTS, 0, count, TC_F32, final) == TC_OK;
    ok = ok && w.next == -1 && w.wrong == 0 &&
         memcmp(final, w.seen, (size_t)count * sizeof *final) == 0 &&
         memcmp(final, b->host_gradients(run.step), (size_t)count * sizeof *final) == 0;
    free(w.seen);
    free(final);
    check_close(&run);
    return ok;
}

check_result check_buckets(check_target target, int graph_index)
{
    tc_graph *graph = check_graph(graph_index);
    int64_t n = graph->param_count, cut[] = { 0, n / 7, n / 3, n / 3, n / 2 + 1, n };
    bool whole = watch_buckets(target, graph, NULL, 0);
    bool parts = watch_buckets(target, graph, cut, 5);
    bool single = watch_buckets(target, graph, (int64_t[]){ 0, n }, 1);

    tc_graph_free(graph);
    return verdict(whole && parts && single,
                   "%s: buckets in descending order, once each, final (%s; %s; %s)",
                   check_graph_name(graph_index), whole ? "a parameter each" : "WRONG whole",
                   parts ? "parameters cut" : "WRONG cut", single ? "one" : "WRONG single");
}
