/* Graphs: shapes, errors that are remembered, tables, buckets, first weights, description. */
#include <config.h>

#include "nn/graph.h"

#include "base/mem.h"
#include "nn/model.h"

#include "../tap.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static tc_graph *build(const char *name, int64_t classes, int64_t size)
{
    tc_graph *graph = NULL;
    tc_model_options options = { .name = name, .classes = classes, .size = size };

    tc_model_build(&options, &graph);
    return graph;
}

static int conv(tc_graph *graph, int in, const char *name, int64_t out, int kernel, int stride)
{
    return tc_graph_conv(graph, in, name,
                         (tc_conv_spec){ .out = out,
                                         .kernel = kernel,
                                         .stride = stride,
                                         .pad = kernel / 2,
                                         .bias = true,
                                         .deviation = -1.0 });
}

/* One block of GoogLeNetBN's kind with four branches, ceil pools and an idle second head. */
static void inception(void)
{
    tc_graph *graph = NULL;
    bool ok = tc_graph_create("inception", 65, 64, &graph) == TC_OK;
    int x = tc_graph_pool(graph, 0, TC_OP_MAX_POOL, 3, 2, 0, true);

    ok = ok && graph->node[x].h == 32 && graph->node[x].w == 32;
    int a = conv(graph, x, "a", 8, 1, 1);
    int b = tc_graph_bn(graph, conv(graph, conv(graph, x, "b1", 4, 1, 1), "b3", 12, 3, 1), "bb",
                        1.0, 1e-3);
    int c = tc_graph_pool(graph, x, TC_OP_AVG_POOL, 3, 1, 1, false);
    int d = tc_graph_concat(graph, (int[]){ a, b, c, x }, 4);
    ok = ok && d > 0 && graph->node[d].c == 8 + 12 + 3 + 3 && graph->node[d].h == 32;
    int y = tc_graph_pool(graph, d, TC_OP_AVG_POOL, 5, 3, 0, true);
    ok = ok && graph->node[y].h == 10;
    int idle = tc_graph_loss(graph, tc_graph_fc(graph, y, "aux", 10, 0.01), 0.0);
    int loss = tc_graph_loss(
        graph, tc_graph_fc(graph, tc_graph_global_avg(graph, d), "fc", 10, 0.01), 1.0);
    tap_ok(ok && tc_graph_finish(graph) == TC_OK && idle > 0 && graph->loss == loss &&
               graph->classes == 10,
           "an inception block with two heads builds");
    int *uses = calloc((size_t)graph->n_nodes, sizeof *uses);
    tc_graph_uses(graph, uses);
    tap_ok(uses[x] == 4 && uses[d] == 2 && uses[0] == 1 && uses[loss] == 0, "uses are counted");
    free(uses);
    tc_graph_free(graph);
}

/* PyTorch's output sizes of pools, by hand. */
static void pool_sizes(void)
{
    static const struct {
        int64_t in;
        int kernel, stride, pad;
        bool ceil;
        int64_t out;
    } cases[] = {
        { 112, 3, 2, 0, true, 56 }, { 112, 3, 2, 1, false, 56 }, { 56, 3, 2, 0, true, 28 },
        { 7, 2, 2, 0, true, 4 },    { 7, 2, 2, 0, false, 3 },    { 6, 3, 3, 1, true, 3 },
        { 5, 2, 2, 1, true, 3 },    { 4, 2, 3, 1, true, 2 },     { 3, 3, 1, 0, false, 1 },
        { 14, 5, 3, 0, true, 4 },   { 28, 3, 1, 1, false, 28 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tc_graph *graph = NULL;
        tc_graph_create("pool", cases[i].in, cases[i].in, &graph);
        int x = tc_graph_pool(graph, 0, TC_OP_MAX_POOL, cases[i].kernel, cases[i].stride,
                              cases[i].pad, cases[i].ceil);
        tap_ok(x == 1 && graph->node[1].h == cases[i].out, "pool %d/%d pad %d%s of %lld gives %lld",
               cases[i].kernel, cases[i].stride, cases[i].pad, cases[i].ceil ? " ceil" : "",
               (long long)cases[i].in, (long long)graph->node[1].h);
        tc_graph_free(graph);
    }
}

/* Add the faulty node of one kind; returns what the builder goes on with. */
static int add_wrong(tc_graph *graph, int which)
{
    int x = 0;

    switch (which) {
    case 0:
        x = conv(graph, 0, "stem", 4, 11, 1);
        x = tc_graph_conv(graph, x, "big", (tc_conv_spec){ .out = 4, .kernel = 9, .stride = 1 });
        break;
    case 1:
        x = tc_graph_add(graph, 0, conv(graph, 0, "four", 4, 3, 1));
        break;
    case 2:
        x = tc_graph_relu(graph, 17);
        break;
    case 3:
        x = tc_graph_pool(graph, 0, TC_OP_MAX_POOL, 3, 2, 2, false);
        break;
    case 4:
        x = tc_graph_concat(graph, (int[]){ 0, conv(graph, 0, "half", 4, 3, 2) }, 2);
        break;
    case 5:
        x = conv(graph, conv(graph, 0, "twin", 4, 3, 1), "twin", 4, 3, 1);
        break;
    case 6:
        x = tc_graph_loss(graph, 0, 1.0);
        break;
    case 7:
        tc_graph_loss(graph, tc_graph_fc(graph, x, "one", 4, 0.1), 1.0);
        break;
    case 8:
        x = conv(graph, 0, "none", 0, 3, 1);
        break;
    case 9:
        x = tc_graph_bn(graph, 0, "a.name.of.more.than.sixty-three.bytes.does.not.fit.in.a.node",
                        1.0, 1e-5);
        break;
    case 10:
        x = tc_graph_bn(graph, 0, "flat", 1.0, 0.0);
        break;
    case 11:
        tc_graph_loss(graph, tc_graph_fc(graph, 0, "two", 5, 0.1), 0.0);
        break;
    case 12:
        x = -1; /* as if an error had been there */
        break;
    }
    return x;
}

/* Build one wrong graph; the first error is reported by finish(), with its text. */
static void wrong(int which, const char *word, const char *what)
{
    tc_graph *graph = NULL;

    tc_graph_create("wrong", 8, 8, &graph);
    int x = add_wrong(graph, which);
    x = tc_graph_relu(graph, x); /* builders go on without looking */
    if (which < 11)
        tc_graph_loss(graph, tc_graph_fc(graph, which == 7 ? 0 : x, "head", 4, 0.1), 1.0);
    tc_fail(TC_IO, "another failure in between");
    tc_status status = tc_graph_finish(graph);
    tap_ok(status == TC_INVAL && strstr(tc_error_detail(), word) != NULL, "%s: %s", what,
           tc_error_detail());
    tc_graph_free(graph);
}

static void buckets(const char *model, int64_t bytes)
{
    tc_graph *graph = build(model, 10, 0);
    int64_t *bound = NULL;
    int n = 0, on_edge = 0, large = 0;
    bool ok = tc_graph_buckets(graph, bytes, &bound, &n) == TC_OK && n >= 1 && bound[0] == 0 &&
              bound[n] == graph->param_count;

    for (int b = 0; b < n && ok; b++) {
        bool edge = false;
        for (int i = 0; i < graph->n_params; i++)
            edge = edge || graph->param[i].offset == bound[b];
        on_edge += edge;
        large += bound[b + 1] > bound[b] && (bound[b + 1] - bound[b]) * 4 >= bytes;
        /* No cut too many: without its first parameter a bucket (but 0) would be too small. */
        for (int i = 0; i < graph->n_params && b > 0; i++)
            if (graph->param[i].offset == bound[b])
                ok = ok && (bound[b + 1] - bound[b] - graph->param[i].count) * 4 < bytes;
    }
    bool one = bytes == 0 || graph->param_count * 4 < bytes;
    tap_ok(ok && on_edge == n && (one ? n == 1 : large == n),
           "%s in buckets of %lld bytes: %d, whole parameters, each large enough", model,
           (long long)bytes, n);
    tc_free(bound);
    tc_graph_free(graph);
}

static void first_weights(void)
{
    tc_graph *graph = build("resnet18", 100, 64);
    size_t bytes = (size_t)graph->param_count * sizeof(float);
    float *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes);
    float *stats = malloc((size_t)graph->stat_count * sizeof *stats);
    int normal = 0, fixed = 0, zero_gamma = 0;
    double worst = 0.0;

    tc_graph_init_weights(graph, 42, a);
    tc_graph_init_weights(graph, 42, b);
    tc_graph_init_weights(graph, 43, c);
    tap_ok(memcmp(a, b, bytes) == 0 && memcmp(a, c, bytes) != 0,
           "weights depend on the seed alone");
    for (int i = 0; i < graph->n_params; i++) {
        const tc_param *p = &graph->param[i];
        double sum = 0.0, square = 0.0;
        for (int64_t j = p->offset; j < p->offset + p->count; j++) {
            sum += a[j];
            square += (double)a[j] * a[j];
        }
        double mean = sum / (double)p->count, deviation = sqrt(square / (double)p->count);
        if (p->init == TC_INIT_NORMAL) {
            double expected =
                p->n_dims == 2 ? 0.01 : sqrt(2.0 / (double)(p->dims[2] * p->dims[3] * p->dims[0]));
            /* In units of the standard error of a deviation estimated from count values. */
            double error = fabs(deviation / expected - 1.0) * sqrt(2.0 * (double)p->count);
            worst = error > worst ? error : worst;
            normal += fabs(mean) < 4.5 * expected / sqrt((double)p->count);
        } else {
            fixed += square == 0.0 || (mean == 1.0 && square == (double)p->count);
            zero_gamma += square == 0.0 && strstr(p->name, "bn2.weight") != NULL;
        }
    }
    tap_ok(normal == 21 && worst < 4.5,
           "21 normal tensors: mean 0, deviations as said (worst %.1f sigma)", worst);
    tap_ok(fixed == graph->n_params - 21 && zero_gamma == 8,
           "the other %d constant, gamma 0 in 8 last BNs", fixed);
    tc_graph_init_stats(graph, stats);
    bool ok = true;
    for (int i = 0; i < graph->n_stats; i++)
        for (int64_t j = 0; j < graph->stat[i].channels; j++)
            ok = ok && stats[graph->stat[i].offset + j] == 0.0f &&
                 stats[graph->stat[i].offset + graph->stat[i].channels + j] == 1.0f;
    tap_ok(ok && graph->stat_count == 9600, "statistics start at mean 0, variance 1");
    free(a);
    free(b);
    free(c);
    free(stats);
    tc_graph_free(graph);
}

static void description(void)
{
    tc_graph *graph = build("resnet50", 1000, 0);
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);

    tc_graph_describe(graph, stream);
    fclose(stream);
    tap_ok(strstr(text, "4.089 GMAC") && strstr(text, "25557032") && strstr(text, "102.2 MB") &&
               strstr(text, "layer3.0.downsample.1.weight") && strstr(text, "2048x7x7"),
           "--describe tells resnet50's size");
    free(text);
    tc_graph_free(graph);
}

int main(void)
{
    tc_graph *graph = NULL;

    tap_ok(tc_graph_create("empty", 0, 5, &graph) == TC_INVAL && graph == NULL, "no empty input");
    inception();
    pool_sizes();
    wrong(0, "big", "a kernel larger than its input");
    wrong(1, "add", "unlike summands");
    wrong(2, "17", "an input that is no node");
    wrong(3, "padding 2", "too much padding");
    wrong(4, "concat", "unlike neighbours");
    wrong(5, "twin", "one name twice");
    wrong(6, "loss", "logits with pixels");
    wrong(7, "2 losses", "two main losses");
    wrong(8, "none", "no channels");
    wrong(9, "name", "a long name");
    wrong(10, "eps", "BN without eps");
    wrong(11, "0 losses", "no main loss");
    wrong(12, "-1", "-1 without an earlier error");
    buckets("resnet20", 0);
    buckets("resnet20", 1);
    buckets("resnet20", 100000);
    buckets("resnet20", 1 << 30);
    buckets("resnet50", 4 << 20);
    buckets("linear", 4096);
    first_weights();
    description();
    tc_graph_free(NULL);
    return tap_done();
}
