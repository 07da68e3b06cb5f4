/* The table on every backend of this build, a real network without BN: devices, ranks and ways to
 * sum agree within rounding, and bit by bit where the order of the sums is the same. */
#include <config.h>

#include "../tap-mpi.h"
#include "fakes.h"
#include "rig.h"

#include "allreduce/allreduce.h"
#include "base/log.h"
#include "comm/comm.h"
#include "dev/dev.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    tc_comm *comm;
    const tc_backend *backend;
    tc_precision precision;
    bool exact;  /* its phases compute what its fused step computes, to the bit */
    double near; /* relative distance that rounding explains */
    rig r;
} bench;

static tc_graph *plain_graph(void)
{
    tc_conv_spec conv = {
        .out = 12, .kernel = 3, .stride = 1, .pad = 1, .bias = true, .deviation = -1
    };
    tc_graph *graph;
    int at;

    if (tc_graph_create("plain", FAKE_SIZE, FAKE_SIZE, &graph) != TC_OK)
        abort();
    at = tc_graph_relu(graph, tc_graph_conv(graph, 0, "conv1", conv));
    at = tc_graph_pool(graph, at, TC_OP_MAX_POOL, 2, 2, 0, false);
    conv.out = 20;
    at = tc_graph_relu(graph, tc_graph_conv(graph, at, "conv2", conv));
    at = tc_graph_pool(graph, at, TC_OP_AVG_POOL, 2, 2, 0, false);
    at = tc_graph_fc(graph, at, "fc", FAKE_CLASSES, 0.1);
    tc_graph_loss(graph, at, 1);
    if (tc_graph_finish(graph) != TC_OK)
        abort();
    return graph;
}

/* RIG_STEPS steps of the same RIG_BATCH pictures a step: weights, then momentum.
 * algorithm NULL: this rank alone. */
static float *run(bench *b, const char *kind, int devices, const char *algorithm, bool overlap)
{
    int ranks = algorithm ? tc_comm_size(b->comm) : 1, rank = algorithm ? tc_comm_rank(b->comm) : 0;
    tc_allreduce_options how = { .algorithm = algorithm, .arity = -1, .chunk = 512 };
    tc_table_options options = rig_options(&b->r, kind, devices, ranks);
    tc_allreduce *ctx = NULL;
    tc_metrics sum;

    if (algorithm && tc_allreduce_create(b->comm, &how, b->r.n, b->r.count, &ctx) != TC_OK)
        abort();
    options.backend = b->backend;
    options.precision = b->precision;
    options.global_batch = RIG_BATCH;
    options.allreduce = ctx;
    options.overlap = overlap;
    float *out = rig_run(&b->r, &options, rank, ranks, &sum);
    tc_allreduce_destroy(ctx);
    if (!out)
        abort();
    return out;
}

static double distance(const bench *b, const float *x, const float *want)
{
    double diff = 0, norm = 0;

    for (int64_t i = 0; i < 2 * b->r.graph->param_count; i++) {
        diff += ((double)x[i] - want[i]) * ((double)x[i] - want[i]);
        norm += (double)want[i] * want[i];
    }
    return sqrt(diff / norm);
}

static bool same(const bench *b, const float *x, const float *y)
{
    return memcmp(x, y, 2 * (size_t)b->r.graph->param_count * sizeof *x) == 0;
}

/* One rank: 1, 2, 3 devices; the two tables sum in the same order. */
static void test_alone(bench *b)
{
    const char *name = b->backend->name;
    float *one = run(b, "optimized", 1, NULL, false);
    float *start = calloc(2 * (size_t)b->r.graph->param_count, sizeof *start);

    if (!start)
        abort();
    tc_graph_init_weights(b->r.graph, 1, start);
    tap_ok_all(distance(b, start, one) > 1e-2, "%s: training moves the weights (%.3g)", name,
               distance(b, start, one));
    for (int devices = 1; devices < 4; devices++) {
        float *optimized = run(b, "optimized", devices, NULL, false);
        float *again = run(b, "optimized", devices, NULL, false);
        float *baseline = run(b, "baseline", devices, NULL, false);
        tap_ok_all(distance(b, optimized, one) <= b->near, "%s: %d devices equal one (%.2g)", name,
                   devices, distance(b, optimized, one));
        tap_ok_all(same(b, optimized, again), "%s: %d devices: twice the same bits", name, devices);
        tap_ok_all(b->exact ? same(b, baseline, optimized)
                            : distance(b, baseline, optimized) <= b->near,
                   "%s: baseline and optimized agree with %d devices (%.2g)", name, devices,
                   distance(b, baseline, optimized));
        free(optimized);
        free(again);
        free(baseline);
    }
    free(start);
    free(one);
}

/* ref alone: computing in double changes rounding, and nothing else. */
static void test_double(bench *b)
{
    const char *name = b->backend->name;
    float *one = run(b, "optimized", 2, NULL, false);

    b->precision = TC_F64;
    float *in_double = run(b, "optimized", 2, NULL, false);
    b->precision = TC_F32;
    tap_ok_all(distance(b, in_double, one) <= 1e-5 && !same(b, in_double, one),
               "%s: computing in double agrees (%.2g)", name, distance(b, in_double, one));
    free(in_double);
    free(one);
}

static void test_ranks(bench *b)
{
    const char *name = b->backend->name;
    int ranks = tc_comm_size(b->comm);
    float *together = run(b, "optimized", ranks, NULL, false);
    float *on = run(b, "optimized", 1, "multicolor", true);
    float *off = run(b, "optimized", 1, "multicolor", false);
    float *mpi = run(b, "optimized", 1, "mpi", false);
    float *torch = run(b, "baseline", 1, "mpi", false);
    float *more = run(b, "optimized", 2, "multicolor", true);
    float *more_off = run(b, "optimized", 2, "multicolor", false);

    tap_ok_all(distance(b, on, together) <= b->near,
               "%s: %d ranks of one device equal one rank of %d (%.2g%s)", name, ranks, ranks,
               distance(b, on, together), same(b, on, together) ? ", the same bits" : "");
    tap_ok_all(same(b, on, off), "%s: overlap on and off: the same bits", name);
    tap_ok_all(same(b, more, more_off), "%s: the same with 2 devices a rank", name);
    tap_ok_all(distance(b, more, together) <= b->near, "%s: 2 devices a rank equal one (%.2g)",
               name, distance(b, more, together));
    tap_ok_all(distance(b, mpi, on) <= b->near, "%s: mpi equals multicolor (%.2g)", name,
               distance(b, mpi, on));
    tap_ok_all(distance(b, torch, mpi) <= b->near, "%s: baseline equals optimized (%.2g)", name,
               distance(b, torch, mpi));
    free(together);
    free(on);
    free(off);
    free(mpi);
    free(torch);
    free(more);
    free(more_off);
}

int main(int argc, char **argv)
{
    bench b;

    if (tc_comm_init(&argc, &argv, &b.comm) != TC_OK)
        return 1;
    tc_log_set_level(TC_LOG_WARN);
    fake_reset();
    b.precision = TC_F32;
    rig_graph(&b.r, plain_graph(), 100);
    b.r.sgd = (tc_sgd){ .lr = 0.05f, .momentum = 0.9f, .weight_decay = 1e-4f, .nesterov = true };
    for (int i = 0; (b.backend = tc_backend_at(i)) != NULL; i++) {
        int count = 0;
        b.exact = strcmp(b.backend->name, "ref") == 0;
        b.near = b.exact ? 1e-6 : 1e-5;
        if (b.backend->probe(&count) != TC_OK || count < 1) {
            if (tc_comm_rank(b.comm) == 0)
                tap_skip(b.backend->name, tc_error_detail());
        } else if (tc_comm_size(b.comm) > 1) {
            test_ranks(&b);
        } else {
            test_alone(&b);
            if (b.exact)
                test_double(&b);
        }
    }
    rig_free_graph(&b.r);
    if (tc_comm_rank(b.comm) == 0)
        tap_done();
    return tc_exit(b.comm, TC_OK);
}
