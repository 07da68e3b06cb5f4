/* Networks by name: published sizes, shapes at several inputs, names of torchvision's kind. */
#include <config.h>

#include "nn/model.h"

#include "../tap.h"
#include <math.h>
#include <string.h>

static void sizes(const char *name, int64_t classes, int64_t params, double gmacs, int n_convs)
{
    tc_graph *graph = NULL;
    tc_model_options options = { .name = name, .classes = classes };
    bool ok = tc_model_build(&options, &graph) == TC_OK;
    int convs = 0;

    for (int i = 0; ok && i < graph->n_nodes; i++)
        convs += graph->node[i].op == TC_OP_CONV;
    double found = ok ? 1e-9 * (double)tc_graph_macs(graph) : 0.0;
    tap_ok(ok && graph->param_count == params && (gmacs < 0.0 || fabs(found - gmacs) < 5e-4) &&
               convs == n_convs && graph->classes == classes,
           "%s: %lld parameters, %.3f GMAC, %d convolutions", name,
           (long long)(ok ? graph->param_count : 0), found, convs);
    tc_graph_free(graph);
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

static void refused(tc_model_options options, const char *word, const char *what)
{
    tc_graph *graph = NULL;
    tc_status status = tc_model_build(&options, &graph);

    tap_ok(status == TC_INVAL && graph == NULL && strstr(tc_error_detail(), word) != NULL, "%s: %s",
           what, tc_error_detail());
}

int main(void)
{
    sizes("resnet50", 1000, 25557032, 4.089, 53);
    sizes("resnet18", 1000, 11689512, 1.814, 20);
    sizes("resnet34", 1000, 21797672, 3.664, 36);
    sizes("resnet101", 1000, 44549160, 7.801, 104);
    sizes("resnet152", 1000, 60192808, 11.514, 155);
    sizes("resnet20", 10, 272474, -1.0, 21);
    sizes("resnet56", 10, 855770, -1.0, 57);
    sizes("linear", 10, 30730, -1.0, 0);
    shapes("resnet50", 224, 2048, 7);
    shapes("resnet50", 64, 2048, 2);
    shapes("resnet18", 96, 512, 3);
    shapes("resnet20", 32, 64, 8);
    shapes("resnet20", 64, 64, 16);
    shapes("resnet110", 33, 64, 9);
    names();
    refused((tc_model_options){ .name = "resnet51", .classes = 10 }, "resnet50 resnet101",
            "an unknown name lists the known");
    refused((tc_model_options){ .name = "resnet50", .classes = 1 }, "classes", "one class");
    refused((tc_model_options){ .name = "resnet50", .classes = 10, .size = 32 }, "64", "too small");
    refused((tc_model_options){ .name = "resnet20", .classes = 10, .size = -5 }, "32", "negative");
    tap_ok(tc_model_size("resnet152") == 224 && tc_model_size("resnet20") == 32 &&
               tc_model_size("linear") == 32 && tc_model_size("x") == 0,
           "input sizes by name");
    int n = 0;
    while (tc_model_name(n) != NULL)
        n++;
    tap_ok(n == 11 && tc_model_name(-1) == NULL, "11 names");
    return tap_done();
}
