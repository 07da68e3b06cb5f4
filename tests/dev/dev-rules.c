/* Checks of the contract in backend.h that need no oracle. */
#include <config.h>

#include "dev-check.h"

#include "base/rng.h"
#include "nn/model.h"

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

/* One step by the formula, in double. */
static void sgd_by_hand(const tc_graph *graph, const tc_sgd *sgd, const float *sum, double *w,
                        double *v)
{
    for (int i = 0; i < graph->n_params; i++) {
        const tc_param *p = &graph->param[i];
        for (int64_t j = p->offset; j < p->offset + p->count; j++) {
            double d = sum[j] + (p->decay ? (double)sgd->weight_decay * w[j] : 0.0);
            v[j] = (double)sgd->momentum * v[j] + d;
            w[j] -= (double)sgd->lr * (sgd->nesterov ? d + (double)sgd->momentum * v[j] : v[j]);
        }
    }
}

static double largest_difference(const double *x, const float *y, int64_t count)
{
    double largest = 0.0;

    for (int64_t i = 0; i < count; i++) {
        double d = fabs(x[i] - y[i]);
        largest = d <= largest ? largest : d; /* NaN is kept */
    }
    return largest;
}

check_result check_update(check_target target, bool nesterov)
{
    tc_graph *graph = check_graph(check_graph_find("conv bn"));
    const tc_backend *b = target.backend;
    int64_t n = graph->param_count;
    check_run run;
    bool ok = check_open(&run, target, graph, 2, NULL, 0);
    double *w = malloc((size_t)n * sizeof *w), *v = malloc((size_t)n * sizeof *v);
    float *sum = malloc((size_t)n * sizeof *sum), *out = malloc((size_t)n * sizeof *out);
    float *momentum = malloc((size_t)n * sizeof *momentum);
    tc_rng rng = tc_rng_make(3, TC_STREAM_TEST, 3, 0);
    double weights = NAN, velocity = NAN;
    int plain = 0;

    for (int i = 0; i < graph->n_params; i++)
        plain += !graph->param[i].decay;
    for (int64_t i = 0; i < n; i++) {
        w[i] = run.weights[i];
        v[i] = momentum[i] = (float)(0.1 * tc_rng_normal(&rng));
    }
    ok = ok && b->write(run.step, TC_VEC_MOMENTUM, 0, n, TC_F32, momentum) == TC_OK;
    for (int turn = 0; turn < 3; turn++) {
        tc_sgd sgd = { .lr = 0.3f / (float)(turn + 1),
                       .momentum = 0.9f,
                       .weight_decay = 0.05f,
                       .nesterov = nesterov };
        for (int64_t i = 0; i < n; i++)
            sum[i] = (float)(0.2 * tc_rng_normal(&rng));
        sgd_by_hand(graph, &sgd, sum, w, v);
        for (int k = 0; k < run.n_buckets; k++) /* in any order */
            ok = ok && b->update(run.step, (k + 1) % run.n_buckets, sum, &sgd) == TC_OK;
        ok = ok && b->read(run.step, TC_VEC_WEIGHTS, 0, n, TC_F32, out) == TC_OK; /* waits */
    }
    if (ok)
        weights = largest_difference(w, out, n);
    ok = ok && b->read(run.step, TC_VEC_MOMENTUM, 0, n, TC_F32, out) == TC_OK;
    if (ok)
        velocity = largest_difference(v, out, n);
    check_close(&run);
    tc_graph_free(graph);
    free(w);
    free(v);
    free(sum);
    free(out);
    free(momentum);
    return verdict(ok && weights < 1e-6 && velocity < 1e-6 && plain == 2,
                   "three %s updates: weights within %.1e, momentum %.1e of the formula",
                   nesterov ? "Nesterov" : "plain momentum", weights, velocity);
}

/* Gradients and metrics of one training step on a slice. */
static bool train_once(check_run *run, const tc_slice *slice, float *gradients, tc_metrics *m)
{
    const tc_backend *b = run->target.backend;

    return b->place(run->step, 0, slice) == TC_OK && b->train(run->step, 0, 0.5f, NULL) == TC_OK &&
           b->metrics(run->step, m) == TC_OK &&
           b->read(run->step, TC_VEC_GRADIENTS, 0, run->graph->param_count, TC_F32, gradients) ==
               TC_OK;
}

/* Compile the run's graph anew for smaller slices, at the same weights. */
static bool shrink(check_run *run, int64_t batch)
{
    const tc_backend *b = run->target.backend;
    tc_compile_options options = { .max_batch = batch,
                                   .precision = run->target.precision,
                                   .n_buckets = run->n_buckets,
                                   .bound = run->bound,
                                   .training = true };

    b->step_free(run->step);
    run->step = NULL;
    return b->compile(run->dev, run->graph, &options, &run->step) == TC_OK && check_reset(run);
}

check_result check_masks(check_target target)
{
    tc_graph *graph = check_graph(check_graph_find("concat"));
    int64_t n = graph->param_count, pixels = graph->node[0].h * graph->node[0].w * 3;
    check_run run;
    bool ok = check_open(&run, target, graph, 5, NULL, 0);
    float *some = malloc((size_t)n * sizeof *some), *few = malloc((size_t)n * sizeof *few);
    double *wide = malloc((size_t)n * sizeof *wide), scale = 0.0, zero = 0.0;
    tc_metrics a = { 0 }, c = { 0 }, none = { 0 };
    tc_slice slice = check_slice(&run, 5);

    slice.offset = NULL;
    memcpy(run.labels, (int32_t[]){ 4, -1, 2, -1, 6 }, 5 * sizeof *run.labels);
    ok = ok && train_once(&run, &slice, some, &a);
    /* Again without the two, in a step of their number: training slices are full. */
    ok = ok && shrink(&run, 3);
    memcpy(run.images + pixels, run.images + 2 * pixels, (size_t)pixels);
    memcpy(run.images + 2 * pixels, run.images + 4 * pixels, (size_t)pixels);
    memcpy(run.labels, (int32_t[]){ 4, 2, 6 }, 3 * sizeof *run.labels);
    slice.count = 3;
    ok = ok && train_once(&run, &slice, few, &c);
    for (int64_t i = 0; i < n; i++) {
        wide[i] = few[i];
        scale = fabs(wide[i]) > scale ? fabs(wide[i]) : scale;
    }
    double difference = largest_difference(wide, some, n) / scale;
    memcpy(run.labels, (int32_t[]){ -1, -1, -1 }, 3 * sizeof *run.labels);
    ok = ok && train_once(&run, &slice, few, &none);
    for (int64_t i = 0; i < n; i++)
        zero = fabs((double)few[i]) <= zero ? zero : fabs((double)few[i]);
    check_close(&run);
    tc_graph_free(graph);
    free(some);
    free(few);
    free(wide);
    bool same = fabs(a.loss - c.loss) <= target.tolerance * c.loss && a.count == 3 &&
                c.count == 3 && a.top1 == c.top1 && a.top5 == c.top5;
    return verdict(ok && same && difference <= target.tolerance && scale > 0.0 && zero == 0.0 &&
                       none.loss == 0.0 && none.count == 0,
                   "label -1: gradients as without the picture (%.1e), losses %.6f and %.6f; all "
                   "-1: gradient %g",
                   difference, a.loss, c.loss, zero);
}

/* The sum of cross-entropies of one row of logits with every label once. */
static double loss_by_hand(const float *logits, int classes)
{
    double sum = 0.0, loss = 0.0;

    for (int c = 0; c < classes; c++)
        sum += exp(logits[c]);
    for (int c = 0; c < classes; c++)
        loss += log(sum) - logits[c];
    return loss;
}

check_result check_hits(check_target target)
{
    /* By rank, ties to the lower class: 1 2 4 6 | 0 | 3 | 5: one top-1 hit, five top-5 hits. */
    static const float row[7] = { 1, 2, 2, 0, 2, -1, 2 };
    static const int32_t labels[8] = { 0, 1, 2, 3, 4, 5, 6, -1 };
    tc_graph *graph = NULL;
    check_run run;
    tc_metrics step = { 0 }, rows = { 0 }, three = { 0 };
    float logits[8 * 7], dlogits[8 * 7];
    tc_model_options model = { .name = "linear", .classes = 7, .size = 4 };
    const tc_backend *b = target.backend;

    if (tc_model_build(&model, &graph) != TC_OK)
        return verdict(false, "%s", tc_error_detail());
    bool ok = check_open(&run, target, graph, 8, NULL, 0);
    memset(run.weights, 0, (size_t)graph->param_count * sizeof *run.weights);
    memcpy(run.weights + graph->param_count - 7, row, sizeof row);
    memcpy(run.labels, labels, sizeof labels);
    tc_slice slice = check_slice(&run, 8);
    ok = ok && check_reset(&run) && b->place(run.step, 0, &slice) == TC_OK &&
         b->forward(run.step, 0, TC_FORWARD_EVAL) == TC_OK && b->metrics(run.step, &step) == TC_OK;
    for (int i = 0; i < 8; i++)
        memcpy(logits + 7 * i, row, sizeof row);
    ok = ok && b->criterion(run.dev, 8, 7, logits, labels, 2.0f, dlogits, &rows) == TC_OK;
    double sum = 0.0, expected = loss_by_hand(row, 7);
    for (int i = 0; i < 7; i++)
        sum += dlogits[i]; /* softmax and onehot both sum to 1 */
    double softmax = exp(1.0) / (4 * exp(2.0) + exp(1.0) + 1.0 + exp(-1.0));
    bool slope = fabs(dlogits[0] - 2.0 * (softmax - 1.0)) < 1e-6 && fabs(sum) < 1e-6 &&
                 dlogits[7 * 7] == 0.0f && dlogits[7 * 7 + 6] == 0.0f;
    ok = ok && b->criterion(run.dev, 3, 3, logits, labels, 1.0f, dlogits, &three) == TC_OK &&
         b->criterion(run.dev, 1, 3, logits, (int32_t[]){ 3 }, 1.0f, dlogits, &three) == TC_INVAL;
    check_close(&run);
    tc_graph_free(graph);
    bool good = step.count == 7 && step.top1 == 1 && step.top5 == 5 && rows.count == 7 &&
                rows.top1 == 1 && rows.top5 == 5 && three.count == 3 && three.top5 == 3 &&
                fabs(step.loss / expected - 1.0) < 1e-5 && fabs(rows.loss / expected - 1.0) < 1e-6;
    return verdict(ok && good && slope,
                   "ties: top-1 %lld and %lld of 7, top-5 %lld and %lld; loss %.7f (%.7f)",
                   (long long)step.top1, (long long)rows.top1, (long long)step.top5,
                   (long long)rows.top5, rows.loss, expected);
}

static bool logits_of(check_run *run, int slot, float *out, int64_t count)
{
    const tc_backend *b = run->target.backend;

    return b->forward(run->step, slot, TC_FORWARD_EVAL) == TC_OK &&
           b->read(run->step, TC_VEC_LOGITS, 0, count, TC_F32, out) == TC_OK;
}

check_result check_slots(check_target target, int graph_index)
{
    tc_graph *graph = check_graph(graph_index);
    const tc_backend *b = target.backend;
    int64_t n = graph->param_count, m = 2 * graph->classes;
    check_run run;
    bool ok = check_open(&run, target, graph, 2, NULL, 0);
    float *one = malloc((size_t)n * sizeof *one), *two = malloc((size_t)n * sizeof *two);
    float a[2][16], c[2][16];
    tc_metrics first, second;
    tc_slice slice = check_slice(&run, 2), other = slice;

    ok = ok && train_once(&run, &slice, one, &first) && check_reset(&run) &&
         train_once(&run, &slice, two, &second);
    bool again = ok && memcmp(one, two, (size_t)n * sizeof *one) == 0 && first.loss == second.loss;
    ok = ok && check_reset(&run);
    uint8_t *images = malloc((size_t)(2 * graph->node[0].h * graph->node[0].w * 3));
    for (int64_t i = 0; i < 2 * graph->node[0].h * graph->node[0].w * 3; i++)
        images[i] = (uint8_t)(255 - run.images[i]);
    other.images = images;
    ok = ok && b->place(run.step, 1, &other) == TC_OK && logits_of(&run, 1, a[1], m) &&
         b->place(run.step, 0, &slice) == TC_OK && logits_of(&run, 0, a[0], m);
    ok = ok && b->place(run.step, 0, &slice) == TC_OK && b->place(run.step, 1, &other) == TC_OK &&
         logits_of(&run, 0, c[0], m) && logits_of(&run, 1, c[1], m);
    bool apart = ok && memcmp(a[0], c[0], (size_t)m * sizeof(float)) == 0 &&
                 memcmp(a[1], c[1], (size_t)m * sizeof(float)) == 0 &&
                 memcmp(a[0], a[1], (size_t)m * sizeof(float)) != 0;
    free(images);
    free(one);
    free(two);
    check_close(&run);
    tc_graph_free(graph);
    return verdict(ok && again && apart, "%s: two slots %s; a step repeated %s",
                   check_graph_name(graph_index), apart ? "stay apart" : "MIX",
                   again ? "gives its bits again" : "DIFFERS");
}

/* One refusal: the status, and a text that has the word. */
static int refused(tc_status status, tc_status expected, const char *word)
{
    bool good = status == expected && strstr(tc_error_detail(), word) != NULL &&
                strcmp(tc_error_detail(), "no text") != 0;

    if (!good)
        fprintf(stderr, "# expected %s with '%s', got %s: %s\n", tc_strstatus(expected), word,
                tc_strstatus(status), tc_error_detail());
    tc_fail(TC_OK, "no text");
    return !good;
}

/* What a step compiled for evaluation alone refuses. */
static int refusals_untrained(check_run *run, const tc_slice *slice)
{
    const tc_backend *b = run->target.backend;
    tc_compile_options options = { .max_batch = 2, .precision = run->target.precision };
    tc_step *step = NULL;
    tc_metrics m;

    if (b->compile(run->dev, run->graph, &options, &step) != TC_OK)
        return 1;
    int bad = b->place(step, 0, slice) != TC_OK || b->forward(step, 0, TC_FORWARD_EVAL) != TC_OK ||
              b->metrics(step, &m) != TC_OK;
    bad += refused(b->train(step, 0, 1.0f, NULL), TC_INVAL, "training");
    bad += refused(b->backward(step, 0, NULL), TC_INVAL, "training");
    b->step_free(step);
    return bad;
}

check_result check_refusals(check_target target)
{
    tc_graph *graph = check_graph(check_graph_find("mixed")), *small = NULL;
    const tc_backend *b = target.backend;
    check_run run;
    float x[2];
    int bad = !check_open(&run, target, graph, 2, NULL, 0);
    tc_slice slice = check_slice(&run, 2);
    int64_t n = graph->param_count;

    if (bad)
        return verdict(false, "%s", tc_error_detail());
    bad += refused(b->place(run.step, 0, &(tc_slice){ 0, slice.images, slice.labels, NULL }),
                   TC_INVAL, "0");
    bad += refused(b->place(run.step, 0, &(tc_slice){ 3, slice.images, slice.labels, NULL }),
                   TC_INVAL, "3");
    run.labels[1] = 7;
    bad += refused(b->place(run.step, 0, &slice), TC_INVAL, "picture 1");
    run.labels[1] = -2;
    bad += refused(b->place(run.step, 0, &slice), TC_INVAL, "-2");
    run.labels[1] = 0;
    bad += b->place(run.step, 0, &slice) != TC_OK;
    bad += refused(b->read(run.step, TC_VEC_WEIGHTS, n - 1, 2, TC_F32, x), TC_INVAL, "");
    bad += refused(b->read(run.step, TC_VEC_MOMENTUM, -1, 1, TC_F32, x), TC_INVAL, "");
    bad += refused(b->write(run.step, TC_VEC_STATS, graph->stat_count + 1, 0, TC_F32, x), TC_INVAL,
                   "");
    bad += refused(b->read(run.step, TC_VEC_DLOGITS, 0, 1, TC_F32, x), TC_INVAL, "");
    bad += refused(b->read(run.step, TC_VEC_WEIGHTS, 0, 1, TC_F16, x), TC_NOSUPPORT, "");
    bad += refusals_untrained(&run, &slice);
    check_close(&run);
    tc_graph_free(graph);

    /* One picture of one pixel: one value a channel. */
    if (tc_graph_create("point", 1, 1, &small) == TC_OK) {
        tc_graph_loss(
            small, tc_graph_fc(small, tc_graph_bn(small, 0, "bn", 1.0, 1e-5), "fc", 3, 0.1), 1.0);
        bad += tc_graph_finish(small) != TC_OK || !check_open(&run, target, small, 1, NULL, 0);
        slice = check_slice(&run, 1);
        bad += b->place(run.step, 0, &slice) != TC_OK;
        bad += refused(b->forward(run.step, 0, TC_FORWARD_TRAIN), TC_INVAL, "bn");
        bad += refused(b->train(run.step, 0, 1.0f, NULL), TC_INVAL, "bn");
        bad += b->forward(run.step, 0, TC_FORWARD_EVAL) != TC_OK;
        check_close(&run);
    }
    tc_graph_free(small);
    return verdict(bad == 0, "refusals name their cause (%d wrong)", bad);
}

static void update_bucket(void *arg, int b)
{
    check_run *run = arg;
    tc_sgd sgd = { .lr = 0.03f, .momentum = 0.9f, .weight_decay = 1e-4f, .nesterov = true };

    run->target.backend->update(run->step, b, run->target.backend->host_gradients(run->step), &sgd);
}

check_result check_learning(check_target target, int graph_index)
{
    tc_graph *graph = check_graph(graph_index);
    const tc_backend *b = target.backend;
    check_run run;
    bool ok = check_open(&run, target, graph, 4, NULL, 0);
    tc_step_events events = { .bucket = update_bucket, .arg = &run };
    tc_slice slice = check_slice(&run, 4);
    tc_metrics first = { 0 }, last = { 0 };

    for (int i = 0; i < 40 && ok; i++) {
        ok = b->place(run.step, i % TC_SLOTS, &slice) == TC_OK &&
             b->train(run.step, i % TC_SLOTS, 1.0f / 3.0f, &events) == TC_OK &&
             b->metrics(run.step, &last) == TC_OK;
        if (i == 0)
            first = last;
    }
    check_close(&run);
    tc_graph_free(graph);
    return verdict(ok && first.count == 3 && last.loss < 0.1 * first.loss && last.top1 == 3,
                   "%s: forty steps bring the loss from %.3f to %.4f",
                   check_graph_name(graph_index), first.loss, last.loss);
}

/* One step of training in both ways, one of evaluation, and what a table reads. */
static bool whole_step(check_run *run, float *gradients, float *logits)
{
    const tc_backend *b = run->target.backend;
    tc_step_events events = { .bucket = update_bucket, .arg = run };
    tc_slice slice = check_slice(run, 4), fewer = check_slice(run, 3);
    int64_t m = 4 * run->graph->classes;
    tc_metrics metrics;

    return b->place(run->step, 0, &slice) == TC_OK &&
           b->train(run->step, 0, 0.25f, &events) == TC_OK &&
           b->metrics(run->step, &metrics) == TC_OK &&
           b->read(run->step, TC_VEC_GRADIENTS, 0, run->graph->param_count, TC_F32, gradients) ==
               TC_OK &&
           b->place(run->step, 1, &fewer) == TC_OK &&
           b->forward(run->step, 1, TC_FORWARD_EVAL) == TC_OK &&
           b->metrics(run->step, &metrics) == TC_OK && b->place(run->step, 1, &slice) == TC_OK &&
           b->forward(run->step, 1, TC_FORWARD_TRAIN) == TC_OK &&
           b->read(run->step, TC_VEC_LOGITS, 0, m, TC_F32, logits) == TC_OK &&
           b->criterion(run->dev, 4, run->graph->classes, logits, slice.labels, 0.25f, logits,
                        &metrics) == TC_OK &&
           b->write(run->step, TC_VEC_DLOGITS, 0, m, TC_F32, logits) == TC_OK &&
           b->backward(run->step, 1, &events) == TC_OK;
}

check_result check_allocations(check_target target, int graph_index, bool libraries)
{
    tc_graph *graph = check_graph(graph_index);
    check_run run;
    bool ok = check_open(&run, target, graph, 4, NULL, 0);
    float *gradients = malloc((size_t)graph->param_count * sizeof *gradients);
    float *logits = malloc((size_t)(4 * graph->classes) * sizeof *logits);
    int64_t before = 0, after = 0, alive = alloc_count(libraries);

    ok = ok && alive > 0; /* the counter counts */
    for (int i = 0; i < 6 && ok; i++) {
        if (i == 2)
            before = alloc_count(libraries);
        ok = whole_step(&run, gradients, logits);
    }
    after = alloc_count(libraries);
    free(gradients);
    free(logits);
    check_close(&run);
    tc_graph_free(graph);
    return verdict(ok && after == before && before >= alive,
                   "%s: %lld allocations in the four steps after the second%s",
                   check_graph_name(graph_index), (long long)(after - before),
                   libraries ? "" : ", but for those of libraries");
}
