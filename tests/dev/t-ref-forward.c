/* ref's logits in double against the operations written down as their definitions, one output
 * element at a time: slopes alone would not notice a wrong function with its right derivative. */
#include <config.h>

#include "dev-check.h"

#include "../tap.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 3

/* All outputs of a graph: value(i, n, c, y, x) of node i for picture n. */
typedef struct {
    const check_run *run;
    double **out; /* (n_nodes) of (BATCH,C,H,W) */
    bool train;
} network;

static double *place(const network *net, int i, int64_t n, int64_t c, int64_t y, int64_t x)
{
    const tc_node *node = &net->run->graph->node[i];

    return &net->out[i][((n * node->c + c) * node->h + y) * node->w + x];
}

static double weight(const network *net, int param, int64_t element)
{
    return param < 0 ? 0.0 : net->run->weights[net->run->graph->param[param].offset + element];
}

static double pixel(const network *net, int64_t n, int64_t c, int64_t y, int64_t x)
{
    const tc_graph *graph = net->run->graph;
    const check_run *run = net->run;
    int64_t h = graph->node[0].h, w = graph->node[0].w;
    double value = run->images[((n * h + y) * w + x) * 3 + c] / 255.0;

    return (value - graph->mean[c]) / graph->deviation[c] + run->offset[n * 3 + c];
}

static double conv_at(const network *net, const tc_node *node, int64_t n, int64_t c, int64_t y,
                      int64_t x)
{
    const tc_node *in = &net->run->graph->node[node->in[0]];
    double sum = weight(net, node->bias, node->bias < 0 ? 0 : c);

    for (int64_t ci = 0; ci < in->c; ci++)
        for (int64_t ky = 0; ky < node->kh; ky++)
            for (int64_t kx = 0; kx < node->kw; kx++) {
                int64_t iy = y * node->stride_h + ky - node->pad_h;
                int64_t ix = x * node->stride_w + kx - node->pad_w;
                if (iy >= 0 && iy < in->h && ix >= 0 && ix < in->w)
                    sum += *place(net, node->in[0], n, ci, iy, ix) *
                           weight(net, node->weight,
                                  ((c * in->c + ci) * node->kh + ky) * node->kw + kx);
            }
    return sum;
}

/* A place of the padding counts as 0 in an average; one beyond the padding does not count. */
static double pool_at(const network *net, const tc_node *node, int64_t n, int64_t c, int64_t y,
                      int64_t x)
{
    const tc_node *in = &net->run->graph->node[node->in[0]];
    double sum = 0.0, largest = -INFINITY;
    int64_t area = 0;

    for (int64_t ky = 0; ky < node->kh; ky++)
        for (int64_t kx = 0; kx < node->kw; kx++) {
            int64_t iy = y * node->stride_h + ky - node->pad_h;
            int64_t ix = x * node->stride_w + kx - node->pad_w;
            if (iy >= in->h + node->pad_h || ix >= in->w + node->pad_w)
                continue;
            area++;
            if (iy < 0 || iy >= in->h || ix < 0 || ix >= in->w)
                continue;
            double value = *place(net, node->in[0], n, c, iy, ix);
            sum += value;
            largest = value > largest ? value : largest;
        }
    return node->op == TC_OP_MAX_POOL ? largest : sum / (double)area;
}

static double bn_at(const network *net, const tc_node *node, int64_t n, int64_t c, int64_t y,
                    int64_t x)
{
    const tc_stat *stat = &net->run->graph->stat[node->stat];
    double mean = net->run->stats[stat->offset + c];
    double variance = net->run->stats[stat->offset + stat->channels + c];
    double count = (double)(BATCH * node->h * node->w);

    if (net->train) {
        mean = variance = 0.0;
        for (int64_t p = 0; p < BATCH; p++)
            for (int64_t q = 0; q < node->h * node->w; q++)
                mean += *place(net, node->in[0], p, c, q / node->w, q % node->w) / count;
        for (int64_t p = 0; p < BATCH; p++)
            for (int64_t q = 0; q < node->h * node->w; q++)
                variance +=
                    pow(*place(net, node->in[0], p, c, q / node->w, q % node->w) - mean, 2.0) /
                    count;
    }
    return (*place(net, node->in[0], n, c, y, x) - mean) / sqrt(variance + node->eps) *
               weight(net, node->weight, c) +
           weight(net, node->bias, c);
}

static double fc_at(const network *net, const tc_node *node, int64_t n, int64_t c)
{
    const tc_node *in = &net->run->graph->node[node->in[0]];
    int64_t features = in->c * in->h * in->w;
    double sum = weight(net, node->bias, c);

    for (int64_t f = 0; f < features; f++)
        sum += weight(net, node->weight, c * features + f) *
               *place(net, node->in[0], n, f / (in->h * in->w), f / in->w % in->h, f % in->w);
    return sum;
}

static double average_at(const network *net, const tc_node *node, int64_t n, int64_t c)
{
    const tc_node *in = &net->run->graph->node[node->in[0]];
    double sum = 0.0;

    for (int64_t q = 0; q < in->h * in->w; q++)
        sum += *place(net, node->in[0], n, c, q / in->w, q % in->w);
    return sum / (double)(in->h * in->w);
}

static double concat_at(const network *net, const tc_node *node, int64_t n, int64_t c, int64_t y,
                        int64_t x)
{
    int j = 0;

    while (c >= net->run->graph->node[node->in[j]].c)
        c -= net->run->graph->node[node->in[j++]].c;
    return *place(net, node->in[j], n, c, y, x);
}

static double value_at(const network *net, int i, int64_t n, int64_t c, int64_t y, int64_t x)
{
    const tc_node *node = &net->run->graph->node[i];

    switch (node->op) {
    case TC_OP_INPUT:
        return pixel(net, n, c, y, x);
    case TC_OP_CONV:
        return conv_at(net, node, n, c, y, x);
    case TC_OP_BN:
        return bn_at(net, node, n, c, y, x);
    case TC_OP_RELU:
        return fmax(*place(net, node->in[0], n, c, y, x), 0.0);
    case TC_OP_ADD:
        return *place(net, node->in[0], n, c, y, x) + *place(net, node->in[1], n, c, y, x);
    case TC_OP_MAX_POOL:
    case TC_OP_AVG_POOL:
        return pool_at(net, node, n, c, y, x);
    case TC_OP_GLOBAL_AVG:
        return average_at(net, node, n, c);
    case TC_OP_CONCAT:
        return concat_at(net, node, n, c, y, x);
    case TC_OP_FC:
        return fc_at(net, node, n, c);
    case TC_OP_LOSS:
        break;
    }
    return 0.0;
}

/* Fill net->out node by node. */
static void evaluate(const network *net)
{
    const tc_graph *graph = net->run->graph;

    for (int i = 0; i < graph->n_nodes; i++) {
        const tc_node *node = &graph->node[i];
        for (int64_t k = 0; k < BATCH * node->c * node->h * node->w; k++)
            net->out[i][k] =
                value_at(net, i, k / (node->c * node->h * node->w),
                         k / (node->h * node->w) % node->c, k / node->w % node->h, k % node->w);
    }
}

static double error_of(check_run *run, double **out, bool train)
{
    const tc_backend *b = run->target.backend;
    int64_t count = BATCH * run->graph->classes;
    double logits[64], worst = 0.0;
    network net = { .run = run, .out = out, .train = train };
    tc_slice slice = check_slice(run, BATCH);
    tc_forward_mode mode = train ? TC_FORWARD_TRAIN : TC_FORWARD_EVAL;

    evaluate(&net);
    if (!check_reset(run) || b->place(run->step, 0, &slice) != TC_OK ||
        b->forward(run->step, 0, mode) != TC_OK ||
        b->read(run->step, TC_VEC_LOGITS, 0, count, TC_F64, logits) != TC_OK)
        return NAN;
    for (int64_t k = 0; k < count; k++) {
        double d = fabs(logits[k] - out[run->graph->node[run->graph->loss].in[0]][k]);
        worst = d <= worst ? worst : d;
    }
    return worst;
}

int main(void)
{
    check_target target = { .precision = TC_F64 };

    if (!tap_ok(tc_backend_find("ref", &target.backend) == TC_OK, "ref is here"))
        return tap_done();
    for (int g = 0; check_graph_name(g) != NULL; g++) {
        tc_graph *graph = check_graph(g);
        double **out = calloc((size_t)graph->n_nodes, sizeof *out);
        check_run run;
        bool ok = check_open(&run, target, graph, BATCH, NULL, 0);
        for (int i = 0; i < graph->n_nodes; i++)
            out[i] =
                calloc((size_t)(BATCH * graph->node[i].c * graph->node[i].h * graph->node[i].w),
                       sizeof **out);
        double train = ok ? error_of(&run, out, true) : NAN;
        double eval = ok ? error_of(&run, out, false) : NAN;
        tap_ok(train < 1e-12 && eval < 1e-12,
               "%s: logits as defined, training %.1e, evaluation %.1e", check_graph_name(g), train,
               eval);
        for (int i = 0; i < graph->n_nodes; i++)
            free(out[i]);
        free(out);
        check_close(&run);
        tc_graph_free(graph);
    }
    return tap_done();
}
