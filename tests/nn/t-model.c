/* Networks by name: published sizes, shapes at several inputs, names of torchvision's kind. */
#include <config.h>

#include "nn/model.h"

#include "../tap.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What --describe says in its last line. */
static bool described(const tc_graph *graph, int64_t params, double gmacs, int convs)
{
    char *text = NULL, counts[80], work[32] = "";
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);

    snprintf(counts, sizeof counts, "convolutions %d, parameters %" PRId64 " in ", convs, params);
    if (gmacs > 0.0)
        snprintf(work, sizeof work, " %.3f GMAC ", gmacs);
    tc_graph_describe(graph, stream);
    fclose(stream);
    bool ok = strstr(text, counts) != NULL && strstr(text, work) != NULL;
    free(text);
    return ok;
}

static void sizes(tc_model_options options, int64_t params, double gmacs, int n_convs)
{
    tc_graph *graph = NULL;
    bool ok = tc_model_build(&options, &graph) == TC_OK;
    int convs = 0;

    for (int i = 0; ok && i < graph->n_nodes; i++)
        convs += graph->node[i].op == TC_OP_CONV;
    double found = ok ? 1e-9 * (double)tc_graph_macs(graph) : 0.0;
    tap_ok(ok && graph->param_count == params && (gmacs < 0.0 || fabs(found - gmacs) < 5e-4) &&
               convs == n_convs && graph->classes == options.classes &&
               described(graph, params, gmacs, n_convs),
           "%s%s%s%s: %lld parameters, %.3f GMAC, %d convolutions", options.name,
           options.stride_in_1x1 ? ", stride in the 1x1" : "", options.aux ? ", aux " : "",
           options.aux ? tc_aux_name(options.aux) : "", (long long)(ok ? graph->param_count : 0),
           found, convs);
    tc_graph_free(graph);
}

/* FACTS' table, and for the others the published definitions counted by hand. */
static void all_sizes(void)
{
    static const struct {
        tc_model_options model;
        int64_t params;
        double gmacs;
        int convs;
    } table[] = {
        { { .name = "resnet50", .classes = 1000 }, 25557032, 4.089, 53 },
        { { .name = "resnet50", .classes = 1000, .stride_in_1x1 = true }, 25557032, 3.858, 53 },
        { { .name = "googlenetbn", .classes = 1000 }, 16731144, 2.761, 71 },
        { { .name = "googlenetbn", .classes = 1000, .aux = TC_AUX_IDLE }, 19147888, 2.764, 72 },
        { { .name = "googlenetbn", .classes = 1000, .aux = TC_AUX_TRAIN }, 19147888, 2.764, 72 },
        { { .name = "resnet18", .classes = 1000 }, 11689512, 1.814, 20 },
        { { .name = "resnet34", .classes = 1000 }, 21797672, 3.664, 36 },
        { { .name = "resnet101", .classes = 1000 }, 44549160, 7.801, 104 },
        { { .name = "resnet152", .classes = 1000 }, 60192808, 11.514, 155 },
        { { .name = "resnet20", .classes = 10 }, 272474, -1.0, 21 },
        { { .name = "resnet32", .classes = 10 }, 466906, -1.0, 33 },
        { { .name = "resnet44", .classes = 10 }, 661338, -1.0, 45 },
        { { .name = "resnet56", .classes = 10 }, 855770, -1.0, 57 },
        { { .name = "resnet110", .classes = 10 }, 1730714, -1.0, 111 },
        { { .name = "resnet1202", .classes = 10 }, 19424026, -1.0, 1203 },
        { { .name = "linear", .classes = 10 }, 30730, -1.0, 0 },
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        sizes(table[i].model, table[i].params, table[i].gmacs, table[i].convs);
}

static void shapes(const char *name, int64_t size, int64_t c, int64_t h)
{
    tc_graph *graph = NULL;
    tc_model_options options = { .name = name, .classes = 7, .size = size };
    bool ok = tc_model_build(&options, &graph) == TC_OK;
    const tc_node *pool = ok ? &graph->node[graph->n_nodes - 3] : NULL;

    ok = ok && pool->op == TC_OP_GLOBAL_AVG && graph->node[0].h == size &&
         graph->node[pool->in[0]].c == c && graph->node[pool->in[0]].h == h &&
         graph->node[pool->in[0]].w == h && graph->node[graph->node[graph->loss].in[0]].c == 7;
    tap_ok(ok, "%s at %lld: the last map is (%lld,%lld,%lld)", name, (long long)size, (long long)c,
           (long long)h, (long long)h);
    tc_graph_free(graph);
}

/* Offsets without gaps, and the names that torchvision's state_dict has, in its order. */
static void names(void)
{
    static const char *const head[] = {
        "conv1.weight",
        "bn1.weight",
        "bn1.bias",
        "layer1.0.conv1.weight",
        "layer1.0.bn1.weight",
        "layer1.0.bn1.bias",
        "layer1.0.conv2.weight",
        "layer1.0.bn2.weight",
        "layer1.0.bn2.bias",
        "layer1.0.conv3.weight",
        "layer1.0.bn3.weight",
        "layer1.0.bn3.bias",
        "layer1.0.downsample.0.weight",
        "layer1.0.downsample.1.weight",
        "layer1.0.downsample.1.bias",
        "layer1.1.conv1.weight",
    };
    tc_graph *graph = NULL;
    bool ok =
        tc_model_build(&(tc_model_options){ .name = "resnet50", .classes = 1000 }, &graph) == TC_OK;
    int64_t offset = 0;
    int bad = 0, decaying = 0, gamma0 = 0;

    for (size_t i = 0; ok && i < sizeof head / sizeof head[0]; i++)
        bad += strcmp(graph->param[i].name, head[i]) != 0;
    for (int i = 0; ok && i < graph->n_params; i++) {
        const tc_param *p = &graph->param[i];
        bool bn = graph->node[p->node].op == TC_OP_BN;
        bad += p->offset != offset || p->decay == bn;
        offset += p->count;
        decaying += p->decay;
        gamma0 += bn && strstr(p->name, "bn3.weight") && p->value == 0.0;
    }
    tap_ok(ok && bad == 0 && offset == graph->param_count && graph->n_params == 161,
           "resnet50: torchvision's 161 names in order, no gaps");
    tap_ok(decaying == 55 && gamma0 == 16, "weight decay on 53 convolutions and the fc's two; "
                                           "gamma 0 in 16 last BNs");
    tap_ok(ok && strcmp(graph->param[159].name, "fc.weight") == 0 &&
               strcmp(graph->param[160].name, "fc.bias") == 0 && graph->n_stats == 53 &&
               strcmp(graph->stat[4].name, "layer1.0.downsample.1") == 0,
           "the fc comes last; 53 BNs");
    /* The stride stands in the 3x3. */
    int strided = 0;
    for (int i = 0; ok && i < graph->n_nodes; i++)
        strided += graph->node[i].op == TC_OP_CONV && graph->node[i].stride_h == 2 &&
                   graph->node[i].kh == 3;
    tap_ok(strided == 3, "three strided 3x3 convolutions");
    tc_graph_free(graph);
}

/* What node i reads, and that its operation is `op`; -1 and a count otherwise. */
static int back(const tc_graph *graph, int i, tc_op op, int *bad)
{
    if (i < 0 || graph->node[i].op != op) {
        ++*bad;
        return -1;
    }
    return graph->node[i].in[0];
}

static int find_node(const tc_graph *graph, const char *name)
{
    for (int i = 0; i < graph->n_nodes; i++)
        if (strcmp(graph->node[i].name, name) == 0)
            return i;
    return -1;
}

/* Every concat: widths and size of its inputs, by the public definition at 224. */
static void blocks(const tc_graph *graph)
{
    static const int64_t wanted[10][6] = {
        /* branches (0: none), out, size */
        { 64, 64, 96, 32, 256, 28 },     { 64, 96, 96, 64, 320, 28 },
        { 0, 160, 96, 320, 576, 28 },    { 224, 96, 128, 128, 576, 14 },
        { 192, 128, 128, 128, 576, 14 }, { 160, 160, 160, 96, 576, 14 },
        { 96, 192, 192, 96, 576, 14 },   { 0, 192, 256, 576, 1024, 14 },
        { 352, 320, 224, 128, 1024, 7 }, { 352, 320, 224, 128, 1024, 7 },
    };
    int n = 0, bad = 0;

    for (int i = 0; i < graph->n_nodes; i++) {
        const tc_node *node = &graph->node[i];
        if (node->op != TC_OP_CONCAT)
            continue;
        const int64_t *w = wanted[n < 10 ? n : 9];
        int branch = w[0] == 0;
        bad += node->c != w[4] || node->h != w[5] || node->n_in != 4 - branch;
        for (int k = 0; k < node->n_in; k++)
            bad += graph->node[node->in[k]].c != w[branch + k];
        n++;
    }
    tap_ok(n == 10 && bad == 0, "ten blocks of the published widths");
}

/* The order conv, ReLU, BN, ReLU inside, conv, BN, ReLU outside; biases, eps, start values, heads.
 */
static void googlenetbn(void)
{
    tc_graph *graph = NULL;
    tc_model_options model = { .name = "googlenetbn", .classes = 1000, .aux = TC_AUX_TRAIN };
    int bad = 0, inner = 0, outer = 0;

    if (!tap_ok(tc_model_build(&model, &graph) == TC_OK, "GoogLeNetBN with a head builds"))
        return;
    for (int i = 0; i < graph->n_nodes; i++) {
        const tc_node *node = &graph->node[i];
        if (node->op == TC_OP_BN) {
            bool inside = strncmp(node->name, "inception", 9) == 0;
            int from = node->in[0];
            if (inside)
                from = back(graph, from, TC_OP_RELU, &bad);
            back(graph, from, TC_OP_CONV, &bad);
            bad += graph->node[i + 1].op != TC_OP_RELU || graph->node[i + 1].in[0] != i ||
                   node->eps != 1e-3 || graph->param[node->weight].value != 1.0;
            inner += inside;
            outer += !inside;
        }
        if (node->op == TC_OP_CONV)
            bad += node->bias < 0 || !graph->param[node->bias].decay;
    }
    tap_ok(bad == 0 && inner == 66 && outer == 6,
           "66 times conv, ReLU, BN, ReLU inside, 6 times conv, BN, ReLU; biases, eps, gamma 1");
    blocks(graph);
    int pool_a = find_node(graph, "inception5a.branch4.1.conv");
    int pool_b = find_node(graph, "inception5b.branch4.1.conv");
    bad = 0;
    back(graph, back(graph, pool_a, TC_OP_CONV, &bad), TC_OP_AVG_POOL, &bad);
    back(graph, back(graph, pool_b, TC_OP_CONV, &bad), TC_OP_MAX_POOL, &bad);
    int aux = back(graph, find_node(graph, "aux.conv.conv"), TC_OP_CONV, &bad);
    bad += aux < 0 || graph->node[aux].h != 4 || graph->node[aux].c != 576;
    aux = back(graph, aux, TC_OP_AVG_POOL, &bad);
    bad += aux < 0 || graph->node[aux].op != TC_OP_CONCAT || graph->node[aux].h != 14 ||
           find_node(graph, "inception4e.branch2.0.conv") < aux;
    const tc_node *last = &graph->node[graph->n_nodes - 1];
    bad += last->op != TC_OP_LOSS || last->loss_weight != 0.3 || graph->loss == graph->n_nodes - 1;
    tap_ok(bad == 0, "pools of 5a and 5b; the head hangs on 4d and counts 0.3");
    tc_graph_free(graph);
}

static void refused(tc_model_options options, const char *word, const char *what)
{
    tc_graph *graph = NULL;
    tc_status status = tc_model_build(&options, &graph);

    tap_ok(status == TC_INVAL && graph == NULL && strstr(tc_error_detail(), word) != NULL, "%s: %s",
           what, tc_error_detail());
}

int main(void)
{
    all_sizes();
    shapes("resnet50", 224, 2048, 7);
    shapes("resnet50", 64, 2048, 2);
    shapes("resnet18", 96, 512, 3);
    shapes("resnet20", 32, 64, 8);
    shapes("resnet20", 64, 64, 16);
    shapes("resnet110", 33, 64, 9);
    shapes("googlenetbn", 224, 1024, 7);
    shapes("googlenetbn", 64, 1024, 2);
    shapes("googlenetbn", 97, 1024, 3);
    names();
    googlenetbn();
    refused((tc_model_options){ .name = "resnet51", .classes = 10 }, "resnet50 resnet101",
            "an unknown name lists the known");
    refused((tc_model_options){ .name = "resnet50", .classes = 1 }, "classes", "one class");
    refused((tc_model_options){ .name = "resnet50", .classes = 10, .size = 32 }, "64", "too small");
    refused((tc_model_options){ .name = "resnet20", .classes = 10, .size = -5 }, "32", "negative");
    refused((tc_model_options){ .name = "googlenetbn", .classes = 10, .size = 63 }, "64",
            "GoogLeNetBN too small");
    refused(
        (tc_model_options){ .name = "googlenetbn", .classes = 10, .size = 223, .aux = TC_AUX_IDLE },
        "224", "too small for an auxiliary head");
    refused((tc_model_options){ .name = "resnet50", .classes = 10, .aux = TC_AUX_TRAIN },
            "googlenetbn", "an auxiliary head where there is none");
    refused((tc_model_options){ .name = "resnet34", .classes = 10, .stride_in_1x1 = true },
            "bottleneck", "no 1x1 to stride in");
    tap_ok(tc_model_size("googlenetbn") == 224 && strcmp(tc_aux_name(1), "idle") == 0 &&
               tc_aux_name(3) == NULL && tc_aux_name(-1) == NULL,
           "words");
    tap_ok(tc_model_size("resnet152") == 224 && tc_model_size("resnet20") == 32 &&
               tc_model_size("linear") == 32 && tc_model_size("x") == 0,
           "input sizes by name");
    int n = 0;
    while (tc_model_name(n) != NULL)
        n++;
    tap_ok(n == 13 && tc_model_name(-1) == NULL, "13 names");
    return tap_done();
}
