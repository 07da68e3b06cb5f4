/* The gradients of ref in double against central differences, and its BN statistics against their
 * formula: what makes it the oracle.  At most 60 elements of a tensor; t-ref-slope-all: every one.
 */
#include <config.h>

#include "dev-check.h"

#include "base/rng.h"

#include "../tap.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP      1e-5
#define TOLERANCE 1e-6
#define BATCH     3
#ifndef ELEMENTS
#define ELEMENTS 60 /* of a tensor */
#endif

/* What is differentiated: the loss in training, or a fixed weighting of the logits. */
typedef enum { LOSS, LOGITS_TRAIN, LOGITS_EVAL } objective;

static const char *const objective_name[] = { "loss", "logits in training",
                                              "logits in evaluation" };

static tc_forward_mode mode_of(objective what)
{
    return what == LOGITS_EVAL ? TC_FORWARD_EVAL : TC_FORWARD_TRAIN;
}

/* Value of the objective at the present weights. */
static double value(check_run *run, objective what, const double *row)
{
    const tc_backend *b = run->target.backend;
    int64_t n = BATCH * run->graph->classes;
    double logits[64], sum = 0.0;
    tc_metrics m = { 0 };

    if (b->forward(run->step, 0, mode_of(what)) != TC_OK || b->metrics(run->step, &m) != TC_OK ||
        b->read(run->step, TC_VEC_LOGITS, 0, n, TC_F64, logits) != TC_OK)
        return NAN;
    if (what == LOSS)
        return m.loss;
    for (int64_t i = 0; i < n; i++)
        sum += row[i] * logits[i];
    return sum;
}

/* The backend's own gradient of the objective. */
static bool gradient(check_run *run, objective what, const double *row, double *out)
{
    const tc_backend *b = run->target.backend;
    tc_slice slice = check_slice(run, BATCH);
    bool ok = b->place(run->step, 0, &slice) == TC_OK;

    if (what == LOSS)
        ok = ok && b->train(run->step, 0, 1.0f, NULL) == TC_OK;
    else
        ok = ok && b->forward(run->step, 0, mode_of(what)) == TC_OK &&
             b->write(run->step, TC_VEC_DLOGITS, 0, BATCH * run->graph->classes, TC_F64, row) ==
                 TC_OK &&
             b->backward(run->step, 0, NULL) == TC_OK;
    return ok &&
           b->read(run->step, TC_VEC_GRADIENTS, 0, run->graph->param_count, TC_F64, out) == TC_OK &&
           check_reset(run);
}

/* Slope along one element. */
static double slope(check_run *run, objective what, const double *row, int64_t element)
{
    const tc_backend *b = run->target.backend;
    double start = run->weights[element], side[2];

    for (int s = 0; s < 2; s++) {
        double moved = start + (s ? -STEP : STEP);
        b->write(run->step, TC_VEC_WEIGHTS, element, 1, TC_F64, &moved);
        side[s] = value(run, what, row);
        /* Training moves the running statistics, which no training objective sees. */
    }
    b->write(run->step, TC_VEC_WEIGHTS, element, 1, TC_F64, &start);
    return (side[0] - side[1]) / (2.0 * STEP);
}

/* Every parameter, at places spread over it; the error of a tensor is relative to its largest
 * gradient, and a tensor that the objective does not see (a bias before BN) to a thousandth of the
 * net's. */
static void slopes(const tc_backend *ref, int graph_index, objective what)
{
    tc_graph *graph = check_graph(graph_index);
    check_target target = { .backend = ref, .precision = TC_F64 };
    check_run run;
    bool ok = check_open(&run, target, graph, BATCH, NULL, 0);
    double *g = malloc((size_t)graph->param_count * sizeof *g), row[64], all = 0.0, worst = 0.0;
    const char *where = "";
    int64_t checked = 0;
    tc_rng rng = tc_rng_make(9, TC_STREAM_TEST, 4, 0);

    for (int i = 0; i < 64; i++)
        row[i] = tc_rng_normal(&rng);
    ok = ok && gradient(&run, what, row, g);
    for (int64_t j = 0; j < graph->param_count && ok; j++)
        all = fabs(g[j]) > all ? fabs(g[j]) : all;
    for (int i = 0; i < graph->n_params && ok; i++) {
        const tc_param *p = &graph->param[i];
        double largest = 1e-3 * all, error = 0.0;
        int64_t n = p->count < ELEMENTS ? p->count : ELEMENTS;
        for (int64_t k = 0; k < n; k++) {
            int64_t j = p->offset + k * p->count / n;
            double d = fabs(g[j] - slope(&run, what, row, j));
            error = d <= error ? error : d;
            checked++;
            largest = fabs(g[j]) > largest ? fabs(g[j]) : largest;
        }
        if (!(error / largest <= worst)) {
            worst = error / largest;
            where = p->name;
        }
    }
    tap_ok(ok && all > 0.0 && worst < TOLERANCE, "%s, %s: %lld slopes within %.1e (worst: %s)",
           check_graph_name(graph_index), objective_name[what], (long long)checked, worst, where);
    free(g);
    check_close(&run);
    tc_graph_free(graph);
}

/* A net of two weighted heads: its gradient is the sum of the nets that have one of them. */
static tc_graph *two_heads(double first, double second)
{
    tc_graph *graph = NULL;

    tc_graph_create("two heads", 7, 6, &graph);
    int x = tc_graph_relu(
        graph,
        tc_graph_conv(
            graph, 0, "stem",
            (tc_conv_spec){ .out = 5, .kernel = 3, .stride = 1, .pad = 1, .deviation = -1.0 }));
    tc_graph_loss(graph, tc_graph_fc(graph, tc_graph_global_avg(graph, x), "fc1", 4, 0.5), first);
    tc_graph_loss(graph, tc_graph_fc(graph, x, "fc2", 4, 0.1), second);
    return tc_graph_finish(graph) == TC_OK ? graph : NULL;
}

static void heads(const tc_backend *ref)
{
    static const double weight[3][2] = { { 1.0, 0.3 }, { 1.0, 0.0 }, { 0.0, 1.0 } };
    check_target target = { .backend = ref, .precision = TC_F64 };
    double g[3][1100], worst = 0.0, largest = 0.0, idle = 0.0;
    bool ok = true;

    for (int k = 0; k < 3; k++) {
        tc_graph *graph = two_heads(weight[k][0], weight[k][1]);
        check_run run = { .target = target };
        ok = graph != NULL && graph->param_count <= 1100 &&
             check_open(&run, target, graph, BATCH, NULL, 0) && gradient(&run, LOSS, NULL, g[k]) &&
             ok;
        for (int64_t j = 0; ok && k == 2 && j < graph->param_count; j++) {
            double d = fabs(g[0][j] - g[1][j] - 0.3 * g[2][j]);
            worst = d <= worst ? worst : d;
            largest = fabs(g[0][j]) > largest ? fabs(g[0][j]) : largest;
        }
        for (int i = 0; ok && k == 1 && i < graph->n_params; i++)
            for (int64_t j = 0;
                 !strncmp(graph->param[i].name, "fc2", 3) && j < graph->param[i].count; j++)
                idle += fabs(g[1][graph->param[i].offset + j]);
        check_close(&run);
        tc_graph_free(graph);
    }
    tap_ok(ok && largest > 0.0 && worst < 1e-6 * largest && idle == 0.0,
           "two heads: the weighted sum of each alone (%.1e); a head of weight 0 gets none",
           worst / largest);
}

/* Mean, unbiased variance and output of one BN over pictures that are known. */
static void bn_formula(const tc_backend *ref)
{
    tc_graph *graph = NULL;
    check_target target = { .backend = ref, .precision = TC_F64 };
    check_run run;
    double stats[6], worst = 0.0;
    const int64_t places = 5 * 4, n = BATCH * places;

    tc_graph_create("bn", 5, 4, &graph);
    tc_graph_loss(graph, tc_graph_fc(graph, tc_graph_bn(graph, 0, "bn", 1.0, 1e-5), "fc", 3, 0.1),
                  1.0);
    bool ok = tc_graph_finish(graph) == TC_OK && check_open(&run, target, graph, BATCH, NULL, 0);
    tc_slice slice = check_slice(&run, BATCH);
    ok = ok && run.target.backend->place(run.step, 0, &slice) == TC_OK &&
         ref->forward(run.step, 0, TC_FORWARD_TRAIN) == TC_OK &&
         ref->read(run.step, TC_VEC_STATS, 0, 6, TC_F64, stats) == TC_OK;
    for (int c = 0; c < 3; c++) {
        double sum = 0.0, square = 0.0, x[BATCH * 5 * 4];
        for (int64_t i = 0; i < n; i++) {
            x[i] = (run.images[i * 3 + c] / 255.0 - graph->mean[c]) / graph->deviation[c] +
                   run.offset[i / places * 3 + c];
            sum += x[i];
        }
        for (int64_t i = 0; i < n; i++)
            square += (x[i] - sum / (double)n) * (x[i] - sum / (double)n);
        double mean = 0.9 * run.stats[c] + 0.1 * sum / (double)n;
        double variance = 0.9 * run.stats[3 + c] + 0.1 * square / (double)(n - 1);
        double d = fabs(stats[c] - mean) + fabs(stats[3 + c] - variance);
        worst = d <= worst ? worst : d;
    }
    tap_ok(ok && worst < 1e-12, "running mean and unbiased variance as by hand (%.1e)", worst);
    double before[6];
    memcpy(before, stats, sizeof stats);
    ok = ok && ref->forward(run.step, 0, TC_FORWARD_EVAL) == TC_OK &&
         ref->read(run.step, TC_VEC_STATS, 0, 6, TC_F64, stats) == TC_OK;
    tap_ok(ok && memcmp(before, stats, sizeof stats) == 0, "evaluation leaves them alone");
    check_close(&run);
    tc_graph_free(graph);
}

int main(void)
{
    const tc_backend *ref = NULL;

    if (!tap_ok(tc_backend_find("ref", &ref) == TC_OK, "ref is here"))
        return tap_done();
    for (int i = 0; check_graph_name(i) != NULL; i++)
        for (objective what = LOSS; what <= LOGITS_EVAL; what++)
            if (what != LOSS || i != check_graph_find("heads")) /* metrics: the main loss */
                slopes(ref, i, what);
    heads(ref);
    bn_formula(ref);
    return tap_done();
}
