#include <config.h>

#include "nn/graph.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BN_MOMENTUM 0.1

/* The public graph, and the text of its first error: the thread's own text may be overwritten
 * before tc_graph_finish() reports. */
typedef struct {
    tc_graph graph;
    char error[512];
} graph_full;

static const char *const op_name[] = {
    [TC_OP_INPUT] = "input",
    [TC_OP_CONV] = "conv",
    [TC_OP_BN] = "bn",
    [TC_OP_RELU] = "relu",
    [TC_OP_ADD] = "add",
    [TC_OP_MAX_POOL] = "max_pool",
    [TC_OP_AVG_POOL] = "avg_pool",
    [TC_OP_GLOBAL_AVG] = "global_avg",
    [TC_OP_CONCAT] = "concat",
    [TC_OP_FC] = "fc",
    [TC_OP_LOSS] = "loss",
};

const char *tc_op_name(tc_op op)
{
    return op_name[op];
}

/* Remember the first error; always -1, so that builders can `return spoil(…)`. */
__attribute__((format(printf, 3, 4))) static int spoil(tc_graph *graph, tc_status status,
                                                       const char *fmt, ...)
{
    graph_full *full = (graph_full *)graph;
    char text[sizeof full->error];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (graph->status == TC_OK) {
        graph->status = tc_fail(status, "%s: %s", graph->name, text);
        snprintf(full->error, sizeof full->error, "%s", tc_error_detail());
    }
    return -1;
}

/* Make room for one more element of a table of the graph. */
static int reserve(tc_graph *graph, void *table_p, int n, int *cap, size_t size)
{
    void *table;

    if (n < *cap)
        return 0;
    memcpy(&table, table_p, sizeof table);
    int more = *cap ? 2 * *cap : 64;
    table = realloc(table, (size_t)more * size);
    if (table == NULL)
        return spoil(graph, TC_NOMEM, "a table of %d entries was refused", more);
    memcpy(table_p, &table, sizeof table);
    *cap = more;
    return 0;
}

static int set_name(tc_graph *graph, char name[TC_NAME_MAX], const char *stem, const char *suffix)
{
    int bytes = snprintf(name, TC_NAME_MAX, "%s%s", stem, suffix);

    if (bytes >= TC_NAME_MAX || stem[0] == '\0')
        return spoil(graph, TC_INVAL, "the name '%s%s' must have 1 to %d bytes", stem, suffix,
                     TC_NAME_MAX - 1);
    return 0;
}

/* Append a node after checking its inputs; name NULL: the operation and the node's number. */
static int add_node(tc_graph *graph, tc_node node, const char *name)
{
    char made[TC_NAME_MAX];
    int index = graph->n_nodes;

    if (graph->status != TC_OK)
        return -1;
    if (name == NULL) {
        snprintf(made, sizeof made, "%s%d", op_name[node.op], index);
        name = made;
    }
    for (int i = 0; i < node.n_in; i++)
        if (node.in[i] < 0 || node.in[i] >= index)
            return spoil(graph, TC_INVAL, "node %s: input %d is no earlier node", name, node.in[i]);
    if (set_name(graph, node.name, name, "") != 0 ||
        reserve(graph, &graph->node, index, &graph->node_cap, sizeof *graph->node) != 0)
        return -1;
    if (node.c < 1 || node.h < 1 || node.w < 1)
        return spoil(graph, TC_INVAL, "node %s: its shape would be (%lld,%lld,%lld)", name,
                     (long long)node.c, (long long)node.h, (long long)node.w);
    graph->node[index] = node;
    graph->n_nodes++;
    return index;
}

/* A node of one input with its input's shape; op decides the rest.  A bad input is left for
 * add_node() to report. */
static tc_node node_like(const tc_graph *graph, tc_op op, int in)
{
    tc_node node = { .op = op, .n_in = 1, .in = { in }, .weight = -1, .bias = -1, .stat = -1 };

    if (in >= 0 && in < graph->n_nodes) {
        node.c = graph->node[in].c;
        node.h = graph->node[in].h;
        node.w = graph->node[in].w;
    }
    return node;
}

/* Append a parameter at the end of the flat vector; returns its index or -1. */
static int add_param(tc_graph *graph, int node, const char *suffix, tc_param param)
{
    int index = graph->n_params;

    if (graph->status != TC_OK ||
        set_name(graph, param.name, graph->node[node].name, suffix) != 0 ||
        reserve(graph, &graph->param, index, &graph->param_cap, sizeof *graph->param) != 0)
        return -1;
    param.node = node;
    param.offset = graph->param_count;
    param.count = 1;
    for (int i = 0; i < param.n_dims; i++)
        if (__builtin_mul_overflow(param.count, param.dims[i], &param.count))
            return spoil(graph, TC_INVAL, "parameter %s is too large", param.name);
    if (__builtin_add_overflow(param.offset, param.count, &graph->param_count))
        return spoil(graph, TC_INVAL, "parameter %s is too large", param.name);
    graph->param[index] = param;
    graph->n_params++;
    return index;
}

tc_status tc_graph_create(const char *name, int64_t h, int64_t w, tc_graph **graph_p)
{
    static const double mean[3] = { 0.485, 0.456, 0.406 };
    static const double deviation[3] = { 0.229, 0.224, 0.225 };
    graph_full *full;

    if (h < 1 || w < 1)
        return tc_fail(TC_INVAL, "%s: an input of %lld x %lld pixels", name, (long long)h,
                       (long long)w);
    full = calloc(1, sizeof *full);
    if (full == NULL)
        return tc_fail(TC_NOMEM, "%s: no memory for the graph", name);
    tc_graph *graph = &full->graph;
    snprintf(graph->name, sizeof graph->name, "%s", name);
    graph->loss = -1;
    memcpy(graph->mean, mean, sizeof mean);
    memcpy(graph->deviation, deviation, sizeof deviation);
    tc_node input = node_like(graph, TC_OP_INPUT, -1);
    input.n_in = 0;
    input.c = 3;
    input.h = h;
    input.w = w;
    add_node(graph, input, "input");
    tc_status status = graph->status;
    if (status == TC_OK)
        *graph_p = graph;
    else
        tc_graph_free(graph);
    return status;
}

/* Windows that fit into a padded edge.  With ceil the last one may hang over the far edge, but it
 * must start inside the picture or its near padding (PyTorch's rule). */
static int64_t windows(int64_t size, int kernel, int stride, int pad, bool ceil)
{
    int64_t room = size + 2 * (int64_t)pad - kernel;

    if (room < 0)
        return 0;
    int64_t n = (room + (ceil ? stride - 1 : 0)) / stride + 1;
    return ceil && (n - 1) * stride >= size + pad ? n - 1 : n;
}

static void set_window(tc_node *node, int kernel, int stride, int pad, bool ceil)
{
    node->kh = node->kw = kernel;
    node->stride_h = node->stride_w = stride;
    node->pad_h = node->pad_w = pad;
    node->ceil = ceil;
    node->h = windows(node->h, kernel, stride, pad, ceil);
    node->w = windows(node->w, kernel, stride, pad, ceil);
}

int tc_graph_conv(tc_graph *graph, int in, const char *name, tc_conv_spec spec)
{
    tc_node node = node_like(graph, TC_OP_CONV, in);
    int64_t in_channels = node.c;
    int k = spec.kernel;

    if (k < 1 || spec.stride < 1 || spec.pad < 0)
        return spoil(graph, TC_INVAL, "node %s: kernel %d, stride %d, padding %d", name, k,
                     spec.stride, spec.pad);
    set_window(&node, k, spec.stride, spec.pad, false);
    node.c = spec.out;
    int index = add_node(graph, node, name);
    if (index < 0)
        return -1;
    double fan_out = (double)k * k * (double)spec.out;
    int weight = add_param(
        graph, index, ".weight",
        (tc_param){ .n_dims = 4,
                    .dims = { spec.out, in_channels, k, k },
                    .decay = true,
                    .init = TC_INIT_NORMAL,
                    .value = spec.deviation < 0.0 ? sqrt(2.0 / fan_out) : spec.deviation });
    int bias = !spec.bias
                   ? -1
                   : add_param(graph, index, ".bias",
                               (tc_param){ .n_dims = 1, .dims = { spec.out }, .decay = true });
    graph->node[index].weight = weight;
    graph->node[index].bias = bias;
    return graph->status == TC_OK ? index : -1;
}

int tc_graph_bn(tc_graph *graph, int in, const char *name, double gamma, double eps)
{
    tc_node node = node_like(graph, TC_OP_BN, in);

    if (!(eps > 0.0))
        return spoil(graph, TC_INVAL, "node %s: eps %g must be above 0", name, eps);
    node.eps = eps;
    node.momentum = BN_MOMENTUM;
    node.stat = graph->n_stats;
    int index = add_node(graph, node, name);
    if (index < 0 ||
        reserve(graph, &graph->stat, graph->n_stats, &graph->stat_cap, sizeof *graph->stat) != 0)
        return -1;
    tc_stat *stat = &graph->stat[graph->n_stats++];
    *stat = (tc_stat){ .node = index, .offset = graph->stat_count, .channels = node.c };
    memcpy(stat->name, graph->node[index].name, sizeof stat->name);
    graph->stat_count += 2 * node.c;
    int weight = add_param(graph, index, ".weight",
                           (tc_param){ .n_dims = 1, .dims = { node.c }, .value = gamma });
    int bias = add_param(graph, index, ".bias", (tc_param){ .n_dims = 1, .dims = { node.c } });
    graph->node[index].weight = weight;
    graph->node[index].bias = bias;
    return graph->status == TC_OK ? index : -1;
}

int tc_graph_relu(tc_graph *graph, int in)
{
    return add_node(graph, node_like(graph, TC_OP_RELU, in), NULL);
}

int tc_graph_add(tc_graph *graph, int a, int b)
{
    tc_node node = node_like(graph, TC_OP_ADD, a), other = node_like(graph, TC_OP_ADD, b);

    node.n_in = 2;
    node.in[1] = b;
    if (other.c != 0 && (node.c != other.c || node.h != other.h || node.w != other.w))
        return spoil(graph, TC_INVAL, "node add%d: (%lld,%lld,%lld) plus (%lld,%lld,%lld)",
                     graph->n_nodes, (long long)node.c, (long long)node.h, (long long)node.w,
                     (long long)other.c, (long long)other.h, (long long)other.w);
    return add_node(graph, node, NULL);
}

int tc_graph_pool(tc_graph *graph, int in, tc_op op, int kernel, int stride, int pad, bool ceil)
{
    if (op != TC_OP_MAX_POOL && op != TC_OP_AVG_POOL)
        return spoil(graph, TC_INVAL, "node %d: operation %d is no pool", graph->n_nodes, (int)op);
    tc_node node = node_like(graph, op, in);
    /* More padding than half a window could leave a window without a picture element. */
    if (kernel < 1 || stride < 1 || pad < 0 || pad > kernel / 2)
        return spoil(graph, TC_INVAL, "node %s%d: window %d, stride %d, padding %d", op_name[op],
                     graph->n_nodes, kernel, stride, pad);
    set_window(&node, kernel, stride, pad, ceil);
    return add_node(graph, node, NULL);
}

int tc_graph_global_avg(tc_graph *graph, int in)
{
    tc_node node = node_like(graph, TC_OP_GLOBAL_AVG, in);

    node.h = node.w = 1;
    return add_node(graph, node, NULL);
}

int tc_graph_concat(tc_graph *graph, const int *in, int n_in)
{
    if (n_in < 1 || n_in > TC_NODE_INPUTS)
        return spoil(graph, TC_INVAL, "node concat%d: %d inputs, 1 to %d can be", graph->n_nodes,
                     n_in, TC_NODE_INPUTS);
    tc_node node = node_like(graph, TC_OP_CONCAT, in[0]);
    node.n_in = n_in;
    for (int i = 1; i < n_in; i++) {
        tc_node other = node_like(graph, TC_OP_CONCAT, in[i]);
        node.in[i] = in[i];
        node.c += other.c;
        if (other.c != 0 && (node.h != other.h || node.w != other.w))
            return spoil(graph, TC_INVAL, "node concat%d: %lldx%lld beside %lldx%lld",
                         graph->n_nodes, (long long)node.h, (long long)node.w, (long long)other.h,
                         (long long)other.w);
    }
    return add_node(graph, node, NULL);
}

int tc_graph_fc(tc_graph *graph, int in, const char *name, int64_t out, double deviation)
{
    tc_node node = node_like(graph, TC_OP_FC, in);
    int64_t features = node.c * node.h * node.w;

    if (!(deviation >= 0.0))
        return spoil(graph, TC_INVAL, "node %s: deviation %g must not be negative", name,
                     deviation);
    node.c = out;
    node.h = node.w = 1;
    int index = add_node(graph, node, name);
    if (index < 0)
        return -1;
    int weight = add_param(graph, index, ".weight",
                           (tc_param){ .n_dims = 2,
                                       .dims = { out, features },
                                       .decay = true,
                                       .init = TC_INIT_NORMAL,
                                       .value = deviation });
    int bias =
        add_param(graph, index, ".bias", (tc_param){ .n_dims = 1, .dims = { out }, .decay = true });
    graph->node[index].weight = weight;
    graph->node[index].bias = bias;
    return graph->status == TC_OK ? index : -1;
}

int tc_graph_loss(tc_graph *graph, int in, double weight)
{
    tc_node node = node_like(graph, TC_OP_LOSS, in);

    if (node.h > 1 || node.w > 1 || node.c == 1 || !(weight >= 0.0))
        return spoil(graph, TC_INVAL, "node loss%d: logits (%lld,%lld,%lld), weight %g",
                     graph->n_nodes, (long long)node.c, (long long)node.h, (long long)node.w,
                     weight);
    node.c = 1;
    node.h = node.w = 1;
    node.loss_weight = weight;
    return add_node(graph, node, NULL);
}

/* Find the main loss; all losses share the labels, so they must agree on the classes. */
static void find_loss(tc_graph *graph)
{
    int n = 0;

    for (int i = 0; i < graph->n_nodes; i++) {
        const tc_node *node = &graph->node[i];
        if (node->op != TC_OP_LOSS)
            continue;
        if (node->loss_weight == 1.0) {
            graph->loss = i;
            n++;
        }
        if (graph->classes != 0 && graph->classes != graph->node[node->in[0]].c)
            spoil(graph, TC_INVAL, "node %s: %lld classes, an earlier loss has %lld", node->name,
                  (long long)graph->node[node->in[0]].c, (long long)graph->classes);
        graph->classes = graph->node[node->in[0]].c;
    }
    if (n != 1)
        spoil(graph, TC_INVAL, "%d losses of weight 1, exactly one must be", n);
}

tc_status tc_graph_finish(tc_graph *graph)
{
    if (graph->status == TC_OK)
        find_loss(graph);
    for (int i = 0; i < graph->n_params && graph->status == TC_OK; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(graph->param[i].name, graph->param[j].name) == 0)
                spoil(graph, TC_INVAL, "two parameters are named %s", graph->param[i].name);
    if (graph->status != TC_OK)
        return tc_fail(graph->status, "%s", ((graph_full *)graph)->error);
    return TC_OK;
}

void tc_graph_free(tc_graph *graph)
{
    if (graph == NULL)
        return;
    free(graph->node);
    free(graph->param);
    free(graph->stat);
    free(graph);
}
