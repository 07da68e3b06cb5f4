/*
 * Every kind of layer, and every way in which onednn fuses or shares them, against `ref` in double:
 * loss, logits, gradients, running statistics and updated weights of train(); then the phases in
 * EVAL mode on part of a batch.
 */
#include <config.h>

#include "dev/dev.h"
#include "nn/model.h"

#include "../tap.h"
#include "onednn-pair.h"
#include <math.h>
#include <string.h>

#define CLASSES 7

static int conv(tc_graph *g, int in, const char *name, int64_t out, int kernel, int stride, int pad,
                bool bias)
{
    return tc_graph_conv(g, in, name, (tc_conv_spec){ out, kernel, stride, pad, bias, 0.15 });
}

static int bn(tc_graph *g, int in, const char *name)
{
    return tc_graph_bn(g, in, name, 0.8, 1e-5);
}

static int head(tc_graph *g, int in)
{
    return tc_graph_fc(g, tc_graph_global_avg(g, in), "fc", CLASSES, 0.2);
}

/* Each builds from the input (node 0) to the logits. */

static int linear(tc_graph *g)
{
    return tc_graph_fc(g, 0, "fc", CLASSES, 0.02);
}

static int conv_plain(tc_graph *g)
{
    return head(g, conv(g, 0, "conv", 16, 3, 1, 1, false));
}

static int conv_odd(tc_graph *g) /* channels that fill no block, biases, strides, large kernels */
{
    int x = conv(g, 0, "a", 10, 7, 2, 3, true);
    x = conv(g, x, "b", 20, 5, 1, 2, true);
    x = conv(g, x, "c", 33, 1, 2, 0, true);
    return head(g, conv(g, x, "d", 5, 2, 1, 0, true));
}

static int conv_twice(tc_graph *g) /* the input and a node with two readers each */
{
    int a = conv(g, 0, "a", 16, 3, 1, 1, false), b = conv(g, 0, "b", 16, 1, 1, 0, true);
    int c = tc_graph_add(g, a, b);
    return head(g, tc_graph_add(g, conv(g, c, "c", 12, 3, 1, 1, false),
                                conv(g, c, "d", 12, 1, 1, 0, false)));
}

static int bn_plain(tc_graph *g)
{
    return head(g, bn(g, conv(g, 0, "conv", 24, 3, 1, 1, false), "bn"));
}

static int bn_relu(tc_graph *g)
{
    int x = tc_graph_relu(g, bn(g, conv(g, 0, "a", 10, 3, 1, 1, false), "bn1"));
    return head(g, tc_graph_relu(g, bn(g, conv(g, x, "b", 40, 3, 2, 1, false), "bn2")));
}

static int bn_shared(tc_graph *g) /* the BN's output has two readers: nothing may be fused */
{
    int x = bn(g, conv(g, 0, "a", 16, 3, 1, 1, false), "bn");
    return head(g, tc_graph_add(g, tc_graph_relu(g, x), x));
}

static int relu_chain(tc_graph *g) /* conv, ReLU, BN, ReLU as in GoogLeNetBN */
{
    int x = tc_graph_relu(g, conv(g, 0, "a", 16, 3, 1, 1, true));
    x = tc_graph_relu(g, bn(g, x, "bn"));
    x = tc_graph_relu(g, tc_graph_relu(g, x));
    return head(g, x);
}

static int residual_identity(tc_graph *g)
{
    int x = tc_graph_relu(g, bn(g, conv(g, 0, "stem", 16, 3, 1, 1, false), "bn0"));
    for (int i = 0; i < 2; i++) {
        int y = tc_graph_relu(
            g, bn(g, conv(g, x, i ? "c" : "a", 16, 3, 1, 1, false), i ? "bn3" : "bn1"));
        y = bn(g, conv(g, y, i ? "d" : "b", 16, 3, 1, 1, false), i ? "bn4" : "bn2");
        x = tc_graph_relu(g, tc_graph_add(g, i ? x : y, i ? y : x));
    }
    return head(g, x);
}

static int residual_projection(tc_graph *g)
{
    int x = tc_graph_relu(g, bn(g, conv(g, 0, "stem", 16, 3, 1, 1, false), "bn0"));
    int y = tc_graph_relu(g, bn(g, conv(g, x, "a", 24, 3, 2, 1, false), "bn1"));
    y = bn(g, conv(g, y, "b", 24, 3, 1, 1, false), "bn2");
    int s = bn(g, conv(g, x, "s", 24, 1, 2, 0, false), "bns");
    return head(g, tc_graph_relu(g, tc_graph_add(g, y, s)));
}

static int add_odd(tc_graph *g) /* a node plus itself, BN(x) + x, add + ReLU without a BN */
{
    int x = conv(g, 0, "a", 16, 3, 1, 1, false);
    x = tc_graph_add(g, x, x);
    x = tc_graph_relu(g, tc_graph_add(g, bn(g, x, "bn1"), x));
    int y = conv(g, x, "b", 16, 3, 1, 1, false);
    x = tc_graph_relu(g, tc_graph_add(g, y, x));
    return head(g, tc_graph_add(g, tc_graph_relu(g, x), bn(g, x, "bn2")));
}

static int max_pools(tc_graph *g)
{
    int x = tc_graph_relu(g, bn(g, conv(g, 0, "a", 18, 3, 1, 1, false), "bn"));
    x = tc_graph_pool(g, x, TC_OP_MAX_POOL, 3, 2, 0, true);
    x = tc_graph_pool(g, conv(g, x, "b", 16, 1, 1, 0, true), TC_OP_MAX_POOL, 3, 1, 1, false);
    return head(g, tc_graph_pool(g, x, TC_OP_MAX_POOL, 2, 2, 0, false));
}

static int avg_pools(tc_graph *g)
{
    int x = conv(g, 0, "a", 18, 3, 1, 1, false);
    x = tc_graph_pool(g, x, TC_OP_AVG_POOL, 3, 1, 1, false);
    x = tc_graph_pool(g, x, TC_OP_AVG_POOL, 3, 2, 1, true);
    x = tc_graph_pool(g, conv(g, x, "b", 16, 1, 1, 0, true), TC_OP_AVG_POOL, 5, 3, 0, true);
    return head(g, tc_graph_pool(g, x, TC_OP_AVG_POOL, 2, 1, 0, false));
}

static int concat_of(tc_graph *g, const int *channels)
{
    int x = tc_graph_relu(g, bn(g, conv(g, 0, "stem", 16, 3, 1, 1, false), "bn0")), in[4];
    in[0] = conv(g, x, "a", channels[0], 1, 1, 0, true);
    in[1] = tc_graph_relu(g, conv(g, x, "b", channels[1], 3, 1, 1, true));
    in[2] = tc_graph_relu(g, bn(g,
                                conv(g, tc_graph_pool(g, x, TC_OP_AVG_POOL, 3, 1, 1, false), "c",
                                     channels[2], 1, 1, 0, true),
                                "bn1"));
    in[3] = tc_graph_pool(g, x, TC_OP_MAX_POOL, 3, 1, 1, false);
    x = tc_graph_concat(g, in, 4);
    return head(g, tc_graph_relu(g, bn(g, conv(g, x, "d", 24, 3, 2, 1, false), "bn2")));
}

static int concat_whole(tc_graph *g)
{
    return concat_of(g, (const int[]){ 16, 32, 16 });
}

static int concat_ragged(tc_graph *g)
{
    return concat_of(g, (const int[]){ 5, 17, 10 });
}

static int on_input(tc_graph *g) /* what else can read the pictures */
{
    int in[3] = { tc_graph_relu(g, 0),
                  tc_graph_pool(g, bn(g, 0, "bn"), TC_OP_AVG_POOL, 3, 1, 1, false),
                  tc_graph_pool(g, 0, TC_OP_MAX_POOL, 3, 1, 1, false) };
    int x = tc_graph_concat(g, in, 3);
    x = tc_graph_add(g, conv(g, x, "a", 3, 3, 1, 1, true), 0);
    return tc_graph_fc(g, x, "fc", CLASSES, 0.05);
}

static int fc_chain(tc_graph *g)
{
    int x = tc_graph_pool(g, conv(g, 0, "a", 10, 3, 2, 1, true), TC_OP_MAX_POOL, 2, 2, 0, false);
    x = tc_graph_relu(g, tc_graph_fc(g, x, "fc1", 50, 0.1));
    return tc_graph_fc(g, x, "fc2", CLASSES, 0.2);
}

static int two_losses(tc_graph *g)
{
    int x = tc_graph_relu(g, bn(g, conv(g, 0, "a", 16, 3, 1, 1, false), "bn"));
    int y = tc_graph_global_avg(g, conv(g, x, "aux", 8, 1, 1, 0, true));
    tc_graph_loss(g, tc_graph_fc(g, y, "auxfc", CLASSES, 0.2), 0.3);
    return head(g, conv(g, x, "b", 16, 3, 1, 1, false));
}

static int idle_head(tc_graph *g) /* a loss of weight 0: its branch gets no gradient */
{
    int x = tc_graph_relu(g, bn(g, conv(g, 0, "a", 16, 3, 1, 1, false), "bn"));
    int y = tc_graph_global_avg(g, bn(g, conv(g, x, "aux", 8, 1, 1, 0, true), "auxbn"));
    tc_graph_loss(g, tc_graph_fc(g, y, "auxfc", CLASSES, 0.2), 0);
    return head(g, conv(g, x, "b", 16, 3, 1, 1, false));
}

static const struct {
    const char *name;
    int (*build)(tc_graph *g);
    int64_t h, w;
} cases[] = {
    { "linear", linear, 9, 11 },
    { "convolution", conv_plain, 12, 12 },
    { "convolutions of odd shapes", conv_odd, 23, 19 },
    { "two readers", conv_twice, 9, 9 },
    { "BN", bn_plain, 12, 12 },
    { "BN + ReLU", bn_relu, 13, 11 },
    { "BN with two readers", bn_shared, 8, 8 },
    { "conv, ReLU, BN, ReLU", relu_chain, 10, 10 },
    { "residual block", residual_identity, 12, 12 },
    { "residual block with projection", residual_projection, 12, 12 },
    { "unusual sums", add_odd, 8, 8 },
    { "max pools", max_pools, 20, 17 },
    { "average pools", avg_pools, 22, 21 },
    { "concatenation of whole blocks", concat_whole, 9, 9 },
    { "concatenation of ragged channels", concat_ragged, 9, 9 },
    { "layers on the pictures", on_input, 7, 7 },
    { "fc on a map, fc on fc", fc_chain, 16, 16 },
    { "a second loss", two_losses, 8, 8 },
    { "an idle head", idle_head, 8, 8 },
};
#define N_CASES ((int)(sizeof cases / sizeof *cases))

#define TOLERANCE 2e-5

static tc_status build(int i, tc_graph **graph_p)
{
    tc_graph *graph = NULL;
    tc_status status = tc_graph_create(cases[i].name, cases[i].h, cases[i].w, &graph);

    if (status != TC_OK)
        return status;
    tc_graph_loss(graph, cases[i].build(graph), 1);
    status = tc_graph_finish(graph);
    if (status == TC_OK)
        *graph_p = graph;
    else
        tc_graph_free(graph);
    return status;
}

/* bf16 keeps 8 bits: each activation is off by up to 2^-9, and ReLUs near 0 go the other way. */
#define LOOSE_FORWARD  2e-2
#define LOOSE_BACKWARD 1e-1

static bool within(pair_error e, tc_precision precision)
{
    if (precision == TC_BF16)
        return e.loss < LOOSE_FORWARD && e.logits < LOOSE_FORWARD &&
               e.gradients < LOOSE_BACKWARD && e.stats < LOOSE_FORWARD && e.weights < LOOSE_FORWARD;
    return e.loss < TOLERANCE && e.logits < TOLERANCE && e.gradients < TOLERANCE &&
           e.stats < TOLERANCE && e.weights < TOLERANCE;
}

/* A weight that is not a number must show in the loss, whatever lies between them: a ReLU or a pool
   that drops a NaN would hide a diverged run.  Leaves the step spoilt. */
static bool spreads_nan(const pair_data *data, const pair_side *dut, tc_forward_mode mode)
{
    const tc_backend *b = dut->backend;
    tc_slice slice = pair_slice(data, data->batch);
    float nan = NAN;
    tc_metrics m = { 0 };

    return b->write(dut->step, TC_VEC_WEIGHTS, 0, 1, TC_F32, &nan) == TC_OK &&
           b->place(dut->step, 0, &slice) == TC_OK && b->forward(dut->step, 0, mode) == TC_OK &&
           b->metrics(dut->step, &m) == TC_OK && !isfinite(m.loss) && m.top1 < data->batch;
}

/* train(), then the phases in both modes, with data drawn from a seed; e: the errors. */
static tc_status compare(const tc_graph *graph, uint64_t seed, int threads, tc_precision precision,
                         pair_error e[3], bool *nan_shows)
{
    pair_data data = { 0 };
    pair_side ref = { 0 }, dut = { 0 };

    tc_status status = pair_data_make(graph, 5, seed, &data);
    if (status == TC_OK)
        status = pair_open("ref", TC_F64, &data, 1, &ref);
    if (status == TC_OK)
        status = pair_open("onednn", precision, &data, threads, &dut);
    if (status == TC_OK)
        status = pair_train(&data, &ref, &dut, &e[0]);
    if (status == TC_OK)
        status = pair_phases(&data, &ref, &dut, TC_FORWARD_TRAIN, 5, &e[1]);
    if (status == TC_OK)
        status = pair_phases(&data, &ref, &dut, TC_FORWARD_EVAL, 3, &e[2]);
    *nan_shows = status == TC_OK && spreads_nan(&data, &dut, TC_FORWARD_EVAL) &&
                 spreads_nan(&data, &dut, TC_FORWARD_TRAIN);
    pair_close(&ref);
    pair_close(&dut);
    pair_data_free(&data);
    return status;
}

static void check(int i, int threads, tc_precision precision)
{
    static const char *const what[3] = { "train", "phases, TRAIN mode", "phases, EVAL, 3 of 5" };
    tc_graph *graph = NULL;
    pair_error e[3] = { 0 };
    bool good = false, nan_shows = false;
    tc_status status = build(i, &graph);

    /* About one draw in a hundred has a value so near 0 that float and double disagree on its ReLU;
       then all gradients differ by one element's share.  A wrong layer fails every draw. */
    for (int draw = 0; draw < 2 && status == TC_OK && !good; draw++) {
        memset(e, 0, sizeof e);
        status = compare(graph, 100 + (uint64_t)(i + draw * N_CASES), threads, precision, e,
                         &nan_shows);
        good = within(e[0], precision) && within(e[1], precision) && within(e[2], precision);
        if (!good)
            printf("# %s: gradients differ by %.1e\n", cases[i].name, e[0].gradients);
    }
    for (int k = 0; k < 3; k++)
        tap_ok(status == TC_OK && within(e[k], precision),
               "%s, %s, %s: loss %.1e logits %.1e gradients %.1e statistics %.1e weights %.1e%s",
               cases[i].name, tc_precision_name(precision), what[k], e[k].loss,
               e[k].logits, e[k].gradients, e[k].stats,
               e[k].weights, status == TC_OK ? "" : tc_error_detail());
    tap_ok(nan_shows, "%s: a weight that is not a number shows in the loss", cases[i].name);
    tc_graph_free(graph);
}

int main(void)
{
    for (int i = 0; i < N_CASES; i++) {
        check(i, i % 3 == 2 ? 3 : 1, TC_F32);
        check(i, i % 3 == 1 ? 3 : 1, TC_BF16);
    }
    return tap_done();
}
