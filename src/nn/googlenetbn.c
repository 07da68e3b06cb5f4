#include <config.h>

#include "nn/googlenetbn.h"

#include <stdio.h>

#define BN_EPS       1e-3
#define FC_DEVIATION 0.01
#define NAME_ROOM    (TC_NAME_MAX + 8) /* a unit's name and a suffix; the graph checks the sum */
#define AUX_WEIGHT   0.3 /* of the loss of an auxiliary head that trains (Szegedy et al. 2014) */

/* One block of four branches, concatenated: 1x1; 1x1, 3x3; 1x1, 3x3, 3x3; pool, 1x1. */
typedef struct {
    const char *name;
    int64_t point;     /* 0: no such branch */
    int64_t single[2]; /* width before the 3x3, and its own */
    int64_t twice[2];  /* width before the two 3x3, and theirs */
    tc_op pool;
    int64_t projection; /* 1x1 after the pool; 0: the pool's output passes */
    int64_t reduction;  /* width of a 2x2 stride 2 after the block, or 0 */
    const char *reduction_name;
} block;

static const block blocks[] = {
    { "inception3a", 64, { 64, 64 }, { 64, 96 }, TC_OP_AVG_POOL, 32, 0, NULL },
    { "inception3b", 64, { 64, 96 }, { 64, 96 }, TC_OP_AVG_POOL, 64, 0, NULL },
    { "inception3c", 0, { 128, 160 }, { 64, 96 }, TC_OP_MAX_POOL, 0, 576, "reduce3" },
    { "inception4a", 224, { 64, 96 }, { 96, 128 }, TC_OP_AVG_POOL, 128, 0, NULL },
    { "inception4b", 192, { 96, 128 }, { 96, 128 }, TC_OP_AVG_POOL, 128, 0, NULL },
    { "inception4c", 160, { 128, 160 }, { 128, 160 }, TC_OP_AVG_POOL, 96, 0, NULL },
    { "inception4d", 96, { 128, 192 }, { 160, 192 }, TC_OP_AVG_POOL, 96, 0, NULL },
    { "inception4e", 0, { 128, 192 }, { 192, 256 }, TC_OP_MAX_POOL, 0, 1024, "reduce4" },
    { "inception5a", 352, { 192, 320 }, { 160, 224 }, TC_OP_AVG_POOL, 128, 0, NULL },
    { "inception5b", 352, { 192, 320 }, { 192, 224 }, TC_OP_MAX_POOL, 128, 0, NULL },
};

#define N_BLOCKS  ((int)(sizeof blocks / sizeof blocks[0]))
#define AUX_BLOCK 6 /* the auxiliary head hangs on 4d */

static int conv(tc_graph *graph, int in, const char *unit, int64_t out, int kernel, int stride)
{
    char name[NAME_ROOM];

    snprintf(name, sizeof name, "%s.conv", unit);
    return tc_graph_conv(graph, in, name,
                         (tc_conv_spec){ .out = out,
                                         .kernel = kernel,
                                         .stride = stride,
                                         .pad = kernel % 2 ? kernel / 2 : 0,
                                         .bias = true,
                                         .deviation = -1.0 });
}

static int bn_relu(tc_graph *graph, int in, const char *unit)
{
    char name[NAME_ROOM];

    snprintf(name, sizeof name, "%s.bn", unit);
    return tc_graph_relu(graph, tc_graph_bn(graph, in, name, 1.0, BN_EPS));
}

/* conv, BN, ReLU: stem, grid reductions, auxiliary head. */
static int outer(tc_graph *graph, int in, const char *unit, int64_t out, int kernel, int stride)
{
    return bn_relu(graph, conv(graph, in, unit, out, kernel, stride), unit);
}

/* conv, ReLU, BN, ReLU: part `part` of a branch of a block; -1: its only one. */
static int inner(tc_graph *graph, int in, const char *name, int branch, int part, int64_t out,
                 int kernel)
{
    char unit[TC_NAME_MAX];

    if (part < 0)
        snprintf(unit, sizeof unit, "%s.branch%d", name, branch);
    else
        snprintf(unit, sizeof unit, "%s.branch%d.%d", name, branch, part);
    return bn_relu(graph, tc_graph_relu(graph, conv(graph, in, unit, out, kernel, 1)), unit);
}

static int inception(tc_graph *graph, int in, const block *b)
{
    int end[4], n = 0, x;

    if (b->point > 0)
        end[n++] = inner(graph, in, b->name, 1, -1, b->point, 1);
    x = inner(graph, in, b->name, 2, 0, b->single[0], 1);
    end[n++] = inner(graph, x, b->name, 2, 1, b->single[1], 3);
    x = inner(graph, in, b->name, 3, 0, b->twice[0], 1);
    x = inner(graph, x, b->name, 3, 1, b->twice[1], 3);
    end[n++] = inner(graph, x, b->name, 3, 2, b->twice[1], 3);
    x = tc_graph_pool(graph, in, b->pool, 3, 1, 1, true);
    if (b->projection > 0)
        x = inner(graph, x, b->name, 4, 1, b->projection, 1);
    end[n++] = x;
    x = tc_graph_concat(graph, end, n);
    if (b->reduction > 0)
        x = outer(graph, x, b->reduction_name, b->reduction, 2, 2);
    return x;
}

static void aux_head(tc_graph *graph, int in, int64_t classes, double weight)
{
    int x = tc_graph_pool(graph, in, TC_OP_AVG_POOL, 5, 3, 0, true);

    x = outer(graph, x, "aux.conv", 128, 1, 1);
    x = tc_graph_relu(graph, tc_graph_fc(graph, x, "aux.fc1", 768, FC_DEVIATION));
    x = tc_graph_fc(graph, x, "aux.fc2", classes, FC_DEVIATION);
    tc_graph_loss(graph, x, weight);
}

void tc_googlenetbn_build(tc_graph *graph, int64_t classes, tc_aux aux)
{
    int x = outer(graph, 0, "conv1", 64, 7, 2), aux_in = -1;

    x = tc_graph_pool(graph, x, TC_OP_MAX_POOL, 3, 2, 0, true);
    x = outer(graph, x, "conv2", 64, 1, 1);
    x = outer(graph, x, "conv3", 192, 3, 1);
    x = tc_graph_pool(graph, x, TC_OP_MAX_POOL, 3, 2, 0, true);
    for (int i = 0; i < N_BLOCKS; i++) {
        x = inception(graph, x, &blocks[i]);
        if (i == AUX_BLOCK)
            aux_in = x;
    }
    x = tc_graph_fc(graph, tc_graph_global_avg(graph, x), "fc", classes, FC_DEVIATION);
    tc_graph_loss(graph, x, 1.0);
    /* Behind the main branch, as in Torch's flattened parameters: its gradients come first. */
    if (aux != TC_AUX_NONE)
        aux_head(graph, aux_in, classes, aux == TC_AUX_TRAIN ? AUX_WEIGHT : 0.0);
}
