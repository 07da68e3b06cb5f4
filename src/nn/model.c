#include <config.h>

#include "nn/model.h"

#include "nn/googlenetbn.h"

#include <stdio.h>
#include <string.h>

#define BN_EPS       1e-5
#define FC_DEVIATION 0.01
#define NAME_ROOM    (TC_NAME_MAX + 16) /* a block's name and a suffix; the graph checks the sum */

typedef enum { KIND_LINEAR, KIND_CIFAR, KIND_IMAGENET, KIND_GOOGLENETBN } kind;

typedef struct {
    const char *name;
    kind kind;
    bool bottleneck;
    int blocks[4]; /* residual blocks a stage; 0: no such stage */
} model;

static const model models[] = {
    { "resnet18", KIND_IMAGENET, false, { 2, 2, 2, 2 } },
    { "resnet34", KIND_IMAGENET, false, { 3, 4, 6, 3 } },
    { "resnet50", KIND_IMAGENET, true, { 3, 4, 6, 3 } },
    { "resnet101", KIND_IMAGENET, true, { 3, 4, 23, 3 } },
    { "resnet152", KIND_IMAGENET, true, { 3, 8, 36, 3 } },
    { "googlenetbn", KIND_GOOGLENETBN, false, { 0 } },
    { "resnet20", KIND_CIFAR, false, { 3, 3, 3 } },
    { "resnet32", KIND_CIFAR, false, { 5, 5, 5 } },
    { "resnet44", KIND_CIFAR, false, { 7, 7, 7 } },
    { "resnet56", KIND_CIFAR, false, { 9, 9, 9 } },
    { "resnet110", KIND_CIFAR, false, { 18, 18, 18 } },
    { "resnet1202", KIND_CIFAR, false, { 200, 200, 200 } },
    { "linear", KIND_LINEAR, false, { 0 } },
};

/* By kind: the model's own input size, the smallest that it takes, the width of its first stage. */
static const struct {
    int64_t size, least, width;
} kinds[] = {
    [KIND_LINEAR] = { 32, 1, 0 },
    [KIND_CIFAR] = { 32, 32, 16 },
    [KIND_IMAGENET] = { 224, 64, 64 },
    [KIND_GOOGLENETBN] = { 224, 64, 0 },
};

const char *tc_model_name(int i)
{
    return i >= 0 && i < (int)(sizeof models / sizeof models[0]) ? models[i].name : NULL;
}

const char *tc_aux_name(int i)
{
    static const char *const word[] = { "none", "idle", "train" };

    return i >= TC_AUX_NONE && i <= TC_AUX_TRAIN ? word[i] : NULL;
}

static const model *find_model(const char *name)
{
    for (int i = 0; tc_model_name(i) != NULL; i++)
        if (strcmp(models[i].name, name) == 0)
            return &models[i];
    return NULL;
}

int64_t tc_model_size(const char *name)
{
    const model *m = find_model(name);

    return m ? kinds[m->kind].size : 0;
}

/* A convolution without bias that keeps the size at stride 1, then BN. */
static int conv_bn(tc_graph *graph, int in, const char *conv, const char *bn, tc_conv_spec spec,
                   double gamma)
{
    spec.pad = spec.kernel / 2;
    spec.deviation = -1.0;
    return tc_graph_bn(graph, tc_graph_conv(graph, in, conv, spec), bn, gamma, BN_EPS);
}

/* The same inside a residual block: names "<block>.conv<i>" and "<block>.bn<i>". */
static int branch(tc_graph *graph, int in, const char *block, int i, tc_conv_spec spec,
                  double gamma)
{
    char conv[NAME_ROOM], bn[NAME_ROOM];

    snprintf(conv, sizeof conv, "%s.conv%d", block, i);
    snprintf(bn, sizeof bn, "%s.bn%d", block, i);
    return conv_bn(graph, in, conv, bn, spec, gamma);
}

/* What the residual blocks of a network have in common. */
typedef struct {
    bool bottleneck, stride_in_1x1;
} residual_kind;

/* One residual block; the last BN of its branch starts at gamma 0, so that it starts as the
 * identity (Goyal et al. 2017, section 5.1). */
static int residual(tc_graph *graph, int in, const char *block, residual_kind how, int64_t width,
                    int stride)
{
    int64_t out = how.bottleneck ? 4 * width : width;
    int x, shortcut = in;

    if (how.bottleneck) {
        int first = how.stride_in_1x1 ? stride : 1;
        x = branch(graph, in, block, 1,
                   (tc_conv_spec){ .out = width, .kernel = 1, .stride = first }, 1.0);
        x = tc_graph_relu(graph, x);
        x = branch(graph, x, block, 2,
                   (tc_conv_spec){ .out = width, .kernel = 3, .stride = stride / first }, 1.0);
        x = tc_graph_relu(graph, x);
        x = branch(graph, x, block, 3, (tc_conv_spec){ .out = out, .kernel = 1, .stride = 1 }, 0.0);
    } else {
        x = branch(graph, in, block, 1,
                   (tc_conv_spec){ .out = width, .kernel = 3, .stride = stride }, 1.0);
        x = tc_graph_relu(graph, x);
        x = branch(graph, x, block, 2, (tc_conv_spec){ .out = out, .kernel = 3, .stride = 1 }, 0.0);
    }
    if (in >= 0 && (stride != 1 || graph->node[in].c != out)) {
        char conv[NAME_ROOM], bn[NAME_ROOM];
        snprintf(conv, sizeof conv, "%s.downsample.0", block);
        snprintf(bn, sizeof bn, "%s.downsample.1", block);
        shortcut = conv_bn(graph, in, conv, bn,
                           (tc_conv_spec){ .out = out, .kernel = 1, .stride = stride }, 1.0);
    }
    return tc_graph_relu(graph, tc_graph_add(graph, x, shortcut));
}

/* Stem and residual stages: everything before the classifier. */
static int features(tc_graph *graph, const model *m, bool stride_in_1x1)
{
    residual_kind residuals = { m->bottleneck, stride_in_1x1 };
    bool imagenet = m->kind == KIND_IMAGENET;
    int64_t width = kinds[m->kind].width;
    int x = conv_bn(
        graph, 0, "conv1", "bn1",
        (tc_conv_spec){ .out = width, .kernel = imagenet ? 7 : 3, .stride = imagenet ? 2 : 1 },
        1.0);

    x = tc_graph_relu(graph, x);
    if (imagenet)
        x = tc_graph_pool(graph, x, TC_OP_MAX_POOL, 3, 2, 1, false);
    for (int stage = 0; stage < 4 && m->blocks[stage] > 0; stage++)
        for (int i = 0; i < m->blocks[stage]; i++) {
            char block[TC_NAME_MAX];
            snprintf(block, sizeof block, "layer%d.%d", stage + 1, i);
            x = residual(graph, x, block, residuals, width << stage, stage > 0 && i == 0 ? 2 : 1);
        }
    return tc_graph_global_avg(graph, x);
}

static tc_status unknown(const char *name)
{
    char list[256] = "";

    for (int i = 0; tc_model_name(i) != NULL; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, " %s", models[i].name);
    }
    return tc_fail(TC_INVAL, "model '%s' is not known; the models are:%s", name, list);
}

static tc_status check(const model *m, const tc_model_options *o, int64_t size)
{
    int64_t least = kinds[m->kind].least;

    if (o->classes < 2)
        return tc_fail(TC_INVAL, "model %s: %lld classes, at least 2 are needed", m->name,
                       (long long)o->classes);
    if (size < least)
        return tc_fail(TC_INVAL, "model %s: input size %lld, the smallest is %lld", m->name,
                       (long long)size, (long long)least);
    if (o->stride_in_1x1 && !m->bottleneck)
        return tc_fail(TC_INVAL, "model %s has no bottlenecks whose stride could stand in the 1x1",
                       m->name);
    if (o->aux != TC_AUX_NONE && m->kind != KIND_GOOGLENETBN)
        return tc_fail(TC_INVAL, "model %s has no auxiliary head; only googlenetbn has", m->name);
    if (o->aux != TC_AUX_NONE && size < TC_GOOGLENETBN_AUX_SIZE)
        return tc_fail(TC_INVAL,
                       "model %s: input size %lld, with an auxiliary head the smallest is %d; "
                       "without one (aux none) it is %lld",
                       m->name, (long long)size, TC_GOOGLENETBN_AUX_SIZE, (long long)least);
    return TC_OK;
}

tc_status tc_model_build(const tc_model_options *options, tc_graph **graph_p)
{
    const model *m = find_model(options->name);
    tc_graph *graph = NULL;

    if (m == NULL)
        return unknown(options->name);
    int64_t size = options->size ? options->size : kinds[m->kind].size;
    tc_status status = check(m, options, size);
    if (status == TC_OK)
        status = tc_graph_create(m->name, size, size, &graph);
    if (status != TC_OK)
        return status;
    if (m->kind == KIND_GOOGLENETBN) {
        tc_googlenetbn_build(graph, options->classes, options->aux);
    } else {
        int x = m->kind == KIND_LINEAR ? 0 : features(graph, m, options->stride_in_1x1);
        x = tc_graph_fc(graph, x, "fc", options->classes, FC_DEVIATION);
        tc_graph_loss(graph, x, 1.0);
    }
    status = tc_graph_finish(graph);
    if (status == TC_OK)
        *graph_p = graph;
    else
        tc_graph_free(graph);
    return status;
}
