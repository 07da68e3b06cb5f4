/* What is read off a finished graph: uses, first weights, totals, description, buckets. */
#include <config.h>

#include "nn/graph.h"

#include "base/mem.h"
#include "base/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void tc_graph_uses(const tc_graph *graph, int *uses)
{
    memset(uses, 0, (size_t)graph->n_nodes * sizeof *uses);
    for (int i = 0; i < graph->n_nodes; i++)
        for (int j = 0; j < graph->node[i].n_in; j++)
            uses[graph->node[i].in[j]]++;
}

void tc_graph_init_weights(const tc_graph *graph, uint64_t seed, float *flat)
{
    for (int i = 0; i < graph->n_params; i++) {
        const tc_param *param = &graph->param[i];
        tc_rng rng = tc_rng_make(seed, TC_STREAM_WEIGHTS, (uint64_t)i, 0);
        for (int64_t j = 0; j < param->count; j++) {
            double value = param->value;
            if (param->init == TC_INIT_NORMAL)
                value *= tc_rng_normal(&rng);
            flat[param->offset + j] = (float)value;
        }
    }
}

void tc_graph_init_stats(const tc_graph *graph, float *flat)
{
    for (int i = 0; i < graph->n_stats; i++) {
        const tc_stat *stat = &graph->stat[i];
        for (int64_t j = 0; j < stat->channels; j++) {
            flat[stat->offset + j] = 0.0f;
            flat[stat->offset + stat->channels + j] = 1.0f;
        }
    }
}

/* Multiply-adds of one node; each weight acts once for every place of the output. */
static int64_t node_macs(const tc_graph *graph, const tc_node *node)
{
    if (node->op != TC_OP_CONV && node->op != TC_OP_FC)
        return 0;
    return graph->param[node->weight].count * node->h * node->w;
}

int64_t tc_graph_macs(const tc_graph *graph)
{
    int64_t macs = 0;

    for (int i = 0; i < graph->n_nodes; i++)
        macs += node_macs(graph, &graph->node[i]);
    return macs;
}

static int64_t node_params(const tc_graph *graph, const tc_node *node)
{
    return (node->weight < 0 ? 0 : graph->param[node->weight].count) +
           (node->bias < 0 ? 0 : graph->param[node->bias].count);
}

static void describe_node(const tc_graph *graph, int i, FILE *out)
{
    const tc_node *node = &graph->node[i];
    char in[64] = "", shape[48], window[64] = "";
    size_t used = 0;

    for (int j = 0; j < node->n_in && used < sizeof in; j++)
        used += (size_t)snprintf(in + used, sizeof in - used, "%s%d", j ? "," : "", node->in[j]);
    snprintf(shape, sizeof shape, "%" PRId64 "x%" PRId64 "x%" PRId64, node->c, node->h, node->w);
    if (node->kh > 0)
        snprintf(window, sizeof window, "%dx%d/%d,%d pad %d,%d%s", node->kh, node->kw,
                 node->stride_h, node->stride_w, node->pad_h, node->pad_w,
                 node->ceil ? " ceil" : "");
    else if (node->op == TC_OP_LOSS)
        snprintf(window, sizeof window, "weight %g", node->loss_weight);
    fprintf(out, "%4d  %-10s  %-27s  %-15s  %-13s  %-18s  %10" PRId64 "  %8.2f\n", i,
            tc_op_name(node->op), node->name, in, shape, window, node_params(graph, node),
            1e-6 * (double)node_macs(graph, node));
}

void tc_graph_describe(const tc_graph *graph, void *stream)
{
    FILE *out = stream;
    int convs = 0;

    fprintf(out, "%s: input %" PRId64 "x%" PRId64 "x%" PRId64 ", %" PRId64 " classes\n\n",
            graph->name, graph->node[0].c, graph->node[0].h, graph->node[0].w, graph->classes);
    fprintf(out, "%4s  %-10s  %-27s  %-15s  %-13s  %-18s  %10s  %8s\n", "node", "operation", "name",
            "inputs", "output CxHxW", "window", "parameters", "MMAC");
    for (int i = 0; i < graph->n_nodes; i++)
        describe_node(graph, i, out);

    fprintf(out, "\n%-40s  %-18s  %10s  %s\n", "parameter", "shape", "offset", "decay");
    for (int i = 0; i < graph->n_params; i++) {
        const tc_param *param = &graph->param[i];
        char shape[96];
        size_t used = 0;
        for (int j = 0; j < param->n_dims && used < sizeof shape; j++)
            used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%" PRId64, j ? "x" : "",
                                     param->dims[j]);
        fprintf(out, "%-40s  %-18s  %10" PRId64 "  %s\n", param->name, shape, param->offset,
                param->decay ? "yes" : "no");
    }
    for (int i = 0; i < graph->n_nodes; i++)
        convs += graph->node[i].op == TC_OP_CONV;
    fprintf(out,
            "\nnodes %d, convolutions %d, parameters %" PRId64 " in %d tensors, gradients %.1f MB "
            "in fp32, BN statistics %" PRId64 ", %.3f GMAC a picture forward\n",
            graph->n_nodes, convs, graph->param_count, graph->n_params,
            4e-6 * (double)graph->param_count, graph->stat_count,
            1e-9 * (double)tc_graph_macs(graph));
}

tc_status tc_graph_buckets(const tc_graph *graph, int64_t bytes, int64_t **bound_p, int *n_p)
{
    int64_t *bound, end = graph->param_count;
    int n = 0;
    tc_status status =
        tc_alloc((int64_t)graph->n_params + 2, sizeof *bound, "bucket bounds", &bound);

    if (status != TC_OK)
        return status;
    /* From the end, into the table's head in descending order: param_count, …; turned afterwards.
     */
    bound[0] = end;
    for (int i = graph->n_params - 1; i > 0 && bytes > 0; i--) {
        int64_t offset = graph->param[i].offset;
        if ((end - offset) * (int64_t)sizeof(float) >= bytes) {
            bound[++n] = end = offset;
        }
    }
    /* What is left in front is a bucket of its own if it is large enough (or the only one). */
    if (n == 0 || end * (int64_t)sizeof(float) >= bytes)
        n++;
    bound[n] = 0;
    for (int i = 0; i < n - i; i++) {
        int64_t swap = bound[i];
        bound[i] = bound[n - i];
        bound[n - i] = swap;
    }
    *bound_p = bound;
    *n_p = n;
    return TC_OK;
}
