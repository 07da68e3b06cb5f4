/* Small networks, each around one operation. */
#include <config.h>

#include "dev-check.h"

#include "nn/model.h"

#include <stdio.h>
#include <string.h>

#define CLASSES 7

static int conv(tc_graph *graph, int in, int64_t out, int kernel, int stride, int pad, bool bias)
{
    char name[32];

    snprintf(name, sizeof name, "conv%d", graph->n_nodes);
    return tc_graph_conv(graph, in, name,
                         (tc_conv_spec){ .out = out,
                                         .kernel = kernel,
                                         .stride = stride,
                                         .pad = pad,
                                         .bias = bias,
                                         .deviation = -1.0 });
}

static int bn(tc_graph *graph, int in)
{
    char name[32];

    snprintf(name, sizeof name, "bn%d", graph->n_nodes);
    return tc_graph_bn(graph, in, name, 1.0, 1e-3);
}

/* fc and a loss: the end of every graph here. */
static void head(tc_graph *graph, int in, double weight)
{
    char name[32];

    snprintf(name, sizeof name, "fc%d", graph->n_nodes);
    tc_graph_loss(graph, tc_graph_fc(graph, in, name, CLASSES, 0.1), weight);
}

static void conv_bias(tc_graph *graph)
{
    head(graph, conv(graph, 0, 6, 3, 1, 1, true), 1.0);
}

static void conv_stride(tc_graph *graph)
{
    head(graph, conv(graph, conv(graph, 0, 5, 5, 2, 2, false), 9, 3, 2, 0, true), 1.0);
}

static void conv_point(tc_graph *graph)
{
    head(graph, conv(graph, conv(graph, 0, 8, 1, 1, 0, false), 5, 1, 2, 0, true), 1.0);
}

/* A 3x1 window with stride (2,1) and padding (1,0).  The builders make squares only, so the node
 * just made is changed before anything hangs on it: the graph allows it. */
static void conv_rectangle(tc_graph *graph)
{
    int in = conv(graph, 0, 4, 1, 1, 0, false);
    int i = conv(graph, in, 6, 1, 1, 0, false);
    tc_node *node = &graph->node[i];
    tc_param *param = &graph->param[node->weight];

    node->kh = 3;
    node->stride_h = 2;
    node->pad_h = 1;
    node->h = (node->h + 2 - 3) / 2 + 1;
    param->dims[2] = 3;
    graph->param_count += 2 * param->count;
    param->count *= 3;
    head(graph, i, 1.0);
}

static void bn_alone(tc_graph *graph)
{
    head(graph, bn(graph, 0), 1.0);
}

static void conv_bn(tc_graph *graph)
{
    head(graph, bn(graph, conv(graph, 0, 6, 3, 1, 1, false)), 1.0);
}

static void relu(tc_graph *graph)
{
    int x = tc_graph_relu(graph, conv(graph, 0, 6, 3, 1, 1, true));

    head(graph, tc_graph_relu(graph, conv(graph, x, 5, 3, 1, 1, true)), 1.0);
}

/* A value used three times, twice by one node. */
static void add(tc_graph *graph)
{
    int x = conv(graph, 0, 6, 3, 1, 1, true);
    int y = tc_graph_add(graph, x, x);

    head(graph, tc_graph_add(graph, conv(graph, x, 6, 3, 1, 1, false), y), 1.0);
}

static void max_pool(tc_graph *graph)
{
    int x = tc_graph_pool(graph, conv(graph, 0, 6, 3, 1, 1, true), TC_OP_MAX_POOL, 3, 2, 1, false);

    head(graph, tc_graph_pool(graph, x, TC_OP_MAX_POOL, 2, 2, 0, true), 1.0);
}

static void avg_pool(tc_graph *graph)
{
    int x = tc_graph_pool(graph, conv(graph, 0, 6, 3, 1, 1, true), TC_OP_AVG_POOL, 3, 1, 1, false);

    head(graph, tc_graph_pool(graph, x, TC_OP_AVG_POOL, 3, 2, 1, false), 1.0);
}

static void avg_pool_ceil(tc_graph *graph)
{
    int x = tc_graph_pool(graph, conv(graph, 0, 6, 3, 1, 1, true), TC_OP_AVG_POOL, 3, 2, 0, true);

    head(graph, tc_graph_pool(graph, x, TC_OP_AVG_POOL, 2, 3, 1, true), 1.0);
}

static void global_avg(tc_graph *graph)
{
    head(graph, tc_graph_global_avg(graph, conv(graph, 0, 12, 3, 1, 1, true)), 1.0);
}

static void concat(tc_graph *graph)
{
    int x = conv(graph, 0, 6, 3, 1, 1, true);
    int a = conv(graph, x, 3, 1, 1, 0, true), b = conv(graph, x, 5, 3, 1, 1, true);

    head(graph, tc_graph_concat(graph, (int[]){ a, x, b, a }, 4), 1.0);
}

static void fc_fc(tc_graph *graph)
{
    head(graph, tc_graph_relu(graph, tc_graph_fc(graph, 0, "hidden", 20, 0.1)), 1.0);
}

/* A head that counts 0.3 and one that counts nothing beside the main one. */
static void heads(tc_graph *graph)
{
    int x = tc_graph_relu(graph, conv(graph, 0, 6, 3, 2, 1, true));

    head(graph, conv(graph, x, 4, 3, 2, 1, true), 0.3);
    head(graph, conv(graph, x, 4, 3, 2, 1, false), 0.0);
    head(graph, conv(graph, x, 5, 3, 1, 1, true), 1.0);
}

/* A residual block with projection, a pool with padding, four branches, a strided end. */
static void mixed(tc_graph *graph)
{
    int x = tc_graph_relu(graph, bn(graph, conv(graph, 0, 8, 5, 1, 2, false)));
    x = tc_graph_pool(graph, x, TC_OP_MAX_POOL, 3, 2, 1, true);
    int y =
        bn(graph, conv(graph, tc_graph_relu(graph, bn(graph, conv(graph, x, 6, 3, 1, 1, false))),
                       12, 3, 1, 1, true));
    int shortcut = bn(graph, conv(graph, x, 12, 1, 1, 0, false));
    x = tc_graph_relu(graph, tc_graph_add(graph, y, shortcut));
    int a = tc_graph_relu(graph, bn(graph, tc_graph_relu(graph, conv(graph, x, 5, 1, 1, 0, true))));
    int b = tc_graph_pool(graph, x, TC_OP_AVG_POOL, 3, 1, 1, false);
    int c = tc_graph_pool(graph, x, TC_OP_MAX_POOL, 3, 1, 1, false);
    x = tc_graph_concat(graph, (int[]){ a, b, conv(graph, c, 4, 1, 1, 0, true), x }, 4);
    x = tc_graph_relu(graph, bn(graph, conv(graph, x, 16, 2, 2, 0, true)));
    head(graph, tc_graph_global_avg(graph, x), 1.0);
}

static const struct {
    const char *name;
    void (*build)(tc_graph *graph);
    int64_t h, w;
} graphs[] = {
    { "conv", conv_bias, 9, 8 },
    { "strided conv", conv_stride, 12, 13 },
    { "1x1 conv", conv_point, 9, 8 },
    { "3x1 conv", conv_rectangle, 9, 8 },
    { "bn of the input", bn_alone, 5, 6 },
    { "conv bn", conv_bn, 9, 8 },
    { "relu", relu, 9, 8 },
    { "add", add, 6, 7 },
    { "max pool", max_pool, 11, 10 },
    { "avg pool", avg_pool, 11, 10 },
    { "avg pool, ceil", avg_pool_ceil, 12, 10 },
    { "global avg", global_avg, 9, 8 },
    { "concat", concat, 6, 7 },
    { "fc fc", fc_fc, 5, 4 },
    { "heads", heads, 9, 8 },
    { "mixed", mixed, 17, 14 },
};

const char *check_graph_name(int i)
{
    return i >= 0 && i < (int)(sizeof graphs / sizeof graphs[0]) ? graphs[i].name : NULL;
}

int check_graph_find(const char *name)
{
    int i = 0;

    while (check_graph_name(i) != NULL && strcmp(graphs[i].name, name) != 0)
        i++;
    return i;
}

tc_graph *check_graph(int i)
{
    tc_graph *graph = NULL;

    if (check_graph_name(i) == NULL ||
        tc_graph_create(graphs[i].name, graphs[i].h, graphs[i].w, &graph) != TC_OK)
        return NULL;
    graphs[i].build(graph);
    if (tc_graph_finish(graph) != TC_OK) {
        tc_graph_free(graph);
        return NULL;
    }
    return graph;
}
