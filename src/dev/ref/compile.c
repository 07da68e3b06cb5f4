/* Compile a graph: check the options, plan all memory, take it in one piece. */
#include <config.h>

#include "dev/ref/step.h"

#include <stdio.h>
#include <string.h>

static tc_status check(const tc_graph *graph, const tc_compile_options *options)
{
    const int64_t *bound = options->bound;
    int n = options->n_buckets;

    if (options->max_batch < 1)
        return tc_fail(TC_INVAL, "ref: a batch of %lld pictures", (long long)options->max_batch);
    if (n < 1 || bound == NULL) {
        if (options->training)
            return tc_fail(TC_INVAL, "ref: training needs at least one bucket, see "
                                     "tc_graph_buckets()");
        return TC_OK;
    }
    bool good = bound[0] == 0 && bound[n] == graph->param_count;
    for (int b = 0; b < n; b++)
        good = good && bound[b] <= bound[b + 1];
    return good ? TC_OK
                : tc_fail(TC_INVAL, "ref: the %d bucket bounds do not ascend from 0 to %lld", n,
                          (long long)graph->param_count);
}

/* When each tensor lives: node i's forward is turn i, its backward turn 2n-1-i. */
static void set_lives(tc_step *step)
{
    const tc_graph *graph = step->graph;
    int n = graph->n_nodes, logits = graph->node[graph->loss].in[0];
    ref_life *out = step->life, *grad = step->life + n;

    for (int i = 0; i < n; i++) {
        const tc_node *node = &graph->node[i];
        bool tensor = i > 0 && node->op != TC_OP_LOSS, wanted = node->weight >= 0;
        int64_t count = tensor ? step->max_batch * ref_size(step, i) : 0;
        out[i] = (ref_life){ .from = i, .to = i, .count = count };
        for (int j = 0; j < node->n_in; j++) {
            out[node->in[j]].to = i; /* the last one to use it, so far */
            wanted = wanted || grad[n - 1 - node->in[j]].count > 0;
        }
        grad[n - 1 - i].count = wanted && step->training ? count : 0;
    }
    for (int i = 0; i < n; i++) {
        grad[n - 1 - i].from = 2 * n - 1 - out[i].to;
        grad[n - 1 - i].to = 2 * n - 1 - i;
        if (step->training)
            out[i].to = 2 * n - 1 - i;
    }
    out[logits].to = 2 * n; /* the host may read them at any time */
}

static int64_t scratch_count(const tc_step *step)
{
    const tc_graph *graph = step->graph;
    int64_t most = 0;

    for (int i = 0; i < graph->n_nodes; i++) {
        const tc_node *node = &graph->node[i];
        int64_t count = 0;
        if (node->op == TC_OP_CONV)
            count = REF(conv_scratch)(graph, node);
        else if (node->op == TC_OP_FC)
            count = REF(fc_scratch)(graph, node, step->max_batch);
        most = count > most ? count : most;
    }
    return most;
}

static real *take(tc_step *step, int64_t count)
{
    return tc_arena_take(&step->arena, count, sizeof(real));
}

/* Cut the arena; run once to measure it and once for the pointers. */
static void lay_out(tc_step *step)
{
    const tc_graph *graph = step->graph;
    int n = graph->n_nodes;
    int64_t trained = step->training ? graph->param_count : 0;

    step->weights = take(step, graph->param_count);
    step->momentum = take(step, trained);
    step->gradients = take(step, trained);
    step->stats = take(step, graph->stat_count);
    step->dlogits = take(step, step->training ? step->max_batch * graph->classes : 0);
    step->scratch = take(step, scratch_count(step));
#ifdef REF_DOUBLE
    step->host_gradients = tc_arena_take(&step->arena, trained, sizeof(float));
#else
    step->host_gradients = step->gradients;
#endif
    for (int s = 0; s < TC_SLOTS; s++) {
        step->slot[s].images = take(step, step->max_batch * ref_size(step, 0));
        step->slot[s].labels = tc_arena_take(&step->arena, step->max_batch, sizeof(int32_t));
    }
    real *pool = take(step, step->pool_count);
    for (int i = 0; i < n; i++) {
        ref_node *state = &step->node[i];
        const ref_life *out = &step->life[i], *grad = &step->life[2 * n - 1 - i];
        if (pool != NULL && out->offset >= 0)
            state->out = pool + out->offset;
        if (pool != NULL && grad->offset >= 0)
            state->grad = pool + grad->offset;
        if (graph->node[i].op == TC_OP_MAX_POOL && step->training)
            state->winner =
                tc_arena_take(&step->arena, step->max_batch * ref_size(step, i), sizeof(int32_t));
        if (graph->node[i].op == TC_OP_BN) {
            state->mean = take(step, graph->node[i].c);
            state->invdev = take(step, graph->node[i].c);
        }
    }
}

/* Copy the bounds; find the node whose backward completes each bucket: its first one's, since
 * backward goes from the last.  An empty bucket is complete from the start. */
static void set_buckets(tc_step *step, const tc_compile_options *options)
{
    const tc_graph *graph = step->graph;

    if (step->n_buckets > 0)
        memcpy(step->bound, options->bound, ((size_t)step->n_buckets + 1) * sizeof *step->bound);
    for (int b = 0; b < step->n_buckets; b++) {
        step->bucket_node[b] = graph->n_nodes;
        for (int p = graph->n_params - 1; p >= 0; p--)
            if (graph->param[p].offset < step->bound[b + 1] &&
                graph->param[p].offset + graph->param[p].count > step->bound[b] &&
                graph->param[p].node < step->bucket_node[b])
                step->bucket_node[b] = graph->param[p].node;
    }
}

/* A step without its memory, which is measured in arena.used. */
static tc_status plan(const tc_graph *graph, const tc_compile_options *options, tc_step **step_p)
{
    tc_step *step = NULL;
    int n = graph->n_nodes;
    tc_status status = check(graph, options);

    if (status == TC_OK)
        status = tc_alloc(1, sizeof *step, "ref: step", &step);
    if (status != TC_OK)
        return status;
    step->graph = graph;
    step->max_batch = options->max_batch;
    step->training = options->training;
    step->n_buckets = options->n_buckets < 1 || options->bound == NULL ? 0 : options->n_buckets;
    step->current = -1;
    status = tc_alloc(n, sizeof *step->node, "ref: nodes", &step->node);
    if (status == TC_OK)
        status = tc_alloc(2 * (int64_t)n, sizeof *step->life, "ref: lives", &step->life);
    if (status == TC_OK)
        status = tc_alloc(step->n_buckets + 1, sizeof *step->bound, "ref: bounds", &step->bound);
    if (status == TC_OK)
        status = tc_alloc(step->n_buckets + 1, sizeof *step->bucket_node, "ref: buckets",
                          &step->bucket_node);
    if (status != TC_OK) {
        REF(step_free)(step);
        return status;
    }
    set_buckets(step, options);
    set_lives(step);
    step->pool_count = ref_plan(step->life, 2 * n);
    lay_out(step);
    *step_p = step;
    return TC_OK;
}

tc_status REF(estimate)(const tc_graph *graph, const tc_compile_options *options, uint64_t *bytes_p)
{
    tc_step *step = NULL;
    tc_status status = plan(graph, options, &step);

    if (status == TC_OK)
        *bytes_p = step->arena.used;
    REF(step_free)(step);
    return status;
}

tc_status REF(compile)(const tc_graph *graph, const tc_compile_options *options, int threads,
                       tc_step **step_p)
{
    tc_step *step = NULL;
    tc_status status = plan(graph, options, &step);

    if (status == TC_OK)
        status = tc_arena_alloc(&step->arena, "ref: weights, activations and gradients");
    if (status != TC_OK) {
        REF(step_free)(step);
        return status;
    }
    lay_out(step);
    tc_free(step->life);
    step->life = NULL;
    for (int i = 0; i < graph->n_stats; i++) {
        const tc_stat *stat = &graph->stat[i];
        for (int64_t c = 0; c < stat->channels; c++)
            step->stats[stat->offset + stat->channels + c] = 1;
    }
    snprintf(step->choices, sizeof step->choices,
             "ref: plain C, %s, NCHW, im2col and a blocked product, 1 of %d threads used",
             ref_precision(REAL_PRECISION), threads);
    *step_p = step;
    return TC_OK;
}

void REF(step_free)(tc_step *step)
{
    if (step == NULL)
        return;
    tc_arena_free(&step->arena);
    tc_free(step->node);
    tc_free(step->life);
    tc_free(step->bound);
    tc_free(step->bucket_node);
    tc_free(step);
}
