/* From a graph to a step: plan, primitives, one arena, pointers. */
#include <config.h>

#include "dev/onednn/onednn.h"

#include <stdio.h>
#include <string.h>

static tc_status check_options(const tc_graph *graph, const tc_compile_options *options)
{
    if (options->precision != TC_F32 && options->precision != TC_BF16)
        return tc_fail(TC_NOSUPPORT, "onednn computes in f32 or bf16; use --precision f32 or bf16,"
                                     " or another backend");
    if (options->precision == TC_BF16 && !dn_has_bf16())
        return tc_fail(TC_NOSUPPORT, "onednn: no bf16 on %s: it needs AVX-512; use --precision f32",
                       dn_isa_name());
    if (options->max_batch < 1)
        return tc_fail(TC_INVAL, "onednn: a batch of %lld pictures", (long long)options->max_batch);
    if (options->training && options->n_buckets < 1)
        return tc_fail(TC_INVAL, "onednn: training needs at least one bucket");
    for (int b = 0; b < options->n_buckets; b++)
        if (options->bound[b] > options->bound[b + 1])
            return tc_fail(TC_INVAL, "onednn: bucket bounds must ascend (bucket %d)", b);
    if (options->n_buckets > 0 &&
        (options->bound[0] != 0 || options->bound[options->n_buckets] != graph->param_count))
        return tc_fail(TC_INVAL, "onednn: buckets must cover the parameters 0..%lld",
                       (long long)graph->param_count);
    return TC_OK;
}

static void fill_lut(tc_step *step)
{
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < 256; v++)
            step->lut[c][v] =
                (float)((v / 255.0 - step->graph->mean[c]) / step->graph->deviation[c]);
}

/* The step with its plan and primitives, but without memory for tensors. */
static tc_status build(tc_dev *dev, const tc_graph *graph, const tc_compile_options *options,
                       tc_step **step_p)
{
    tc_step *step = NULL;
    tc_status status = check_options(graph, options);

    if (status == TC_OK)
        status = tc_alloc(1, sizeof *step, "onednn: step", &step);
    if (status != TC_OK)
        return status;
    step->dev = dev;
    step->graph = graph;
    step->batch = options->max_batch;
    step->training = options->training;
    step->type = options->precision;
    step->n_buckets = options->n_buckets;
    step->stale = true;
    status = tc_alloc(step->n_buckets + 1, sizeof *step->bound, "onednn: bounds", &step->bound);
    if (status == TC_OK)
        status = tc_alloc(step->n_buckets + 1, sizeof *step->bucket_op, "onednn: bounds",
                          &step->bucket_op);
    if (status == TC_OK)
        status = tc_alloc(graph->n_nodes, sizeof *step->value, "onednn: plan", &step->value);
    if (status == TC_OK)
        status = tc_alloc(graph->n_nodes, sizeof *step->op, "onednn: plan", &step->op);
    if (status == TC_OK && step->n_buckets > 0)
        memcpy(step->bound, options->bound, (size_t)(step->n_buckets + 1) * sizeof *step->bound);
    if (status == TC_OK)
        status = dn_plan_ops(step);
    if (status == TC_OK)
        status = dn_create_prims(step);
    if (status == TC_OK)
        status = dn_plan_buffers(step);
    if (status != TC_OK) {
        dn_step_free(step);
        return status;
    }
    fill_lut(step);
    *step_p = step;
    return TC_OK;
}

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Every primitive of an operation, for loops over them. */
#define PRIMS 8
static void prims_of(dn_op *op, dn_prim *list[PRIMS])
{
    dn_prim *all[PRIMS] = { &op->forward,   &op->back_data, &op->back_weights, &op->load_forward,
                            &op->load_back, &op->store,     &op->flatten,      &op->unflatten };
    memcpy(list, all, sizeof all);
}

/* What operations share, at the size of the largest. */
static void size_shared(tc_step *step)
{
    for (int i = 0; i < step->n_ops; i++) {
        dn_op *op = &step->op[i];
        dn_prim *list[PRIMS];
        prims_of(op, list);
        for (int k = 0; k < PRIMS; k++)
            step->scratch_bytes =
                max64(step->scratch_bytes, (int64_t)dn_arg_bytes(list[k], DNNL_ARG_SCRATCHPAD));
        step->w_grad_bytes =
            max64(step->w_grad_bytes, (int64_t)dn_arg_bytes(&op->store, DNNL_ARG_FROM));
        const dn_layout *in = &step->value[op->in[0]].layout;
        if (op->unflatten.desc != NULL)
            step->dx_flat_count = max64(step->dx_flat_count, in->n * in->c * in->h * in->w);
        int64_t sums = in->n * ((in->c + step->block - 1) / step->block) * step->block * 2;
        if (op->kind == TC_OP_BN)
            step->partial_count = max64(step->partial_count, sums);
    }
}

static void take_op(tc_step *step, dn_op *op)
{
    tc_arena *arena = &step->arena;
    const dn_layout *in = &step->value[op->in[0]].layout;
    int64_t channels = (in->c + step->block - 1) / step->block * step->block;

    if (op->load_forward.desc != NULL)
        op->w_forward =
            tc_arena_take(arena, (int64_t)dn_arg_bytes(&op->load_forward, DNNL_ARG_TO), 1);
    if (op->load_back.desc != NULL)
        op->w_back = tc_arena_take(arena, (int64_t)dn_arg_bytes(&op->load_back, DNNL_ARG_TO), 1);
    if (op->flatten.desc != NULL)
        op->flat = tc_arena_take(arena, in->n * in->c * in->h * in->w, sizeof(float));
    if (op->kind == TC_OP_MAX_POOL && step->training)
        op->which = tc_arena_take(arena, step->value[op->out].count, 1);
    if (op->kind == TC_OP_BN) {
        float **part[] = {
            &op->mean, &op->inv_std, &op->scale, &op->shift, &op->p, &op->q, &op->r
        };
        for (int i = 0; i < 7; i++)
            *part[i] = tc_arena_take(arena, channels, sizeof(float));
    }
}

/* All memory of the step; run once to add it up and once for the pointers. */
static void take_all(tc_step *step)
{
    tc_arena *arena = &step->arena;
    const tc_graph *graph = step->graph;
    int64_t params = graph->param_count;

    step->weights = tc_arena_take(arena, params, sizeof(float));
    step->stats = tc_arena_take(arena, graph->stat_count, sizeof(float));
    if (step->training) {
        step->momentum = tc_arena_take(arena, params, sizeof(float));
        step->gradients = tc_arena_take(arena, params, sizeof(float));
    }
    for (int i = 0; i < TC_SLOTS; i++) {
        step->slot[i].input = tc_arena_take(arena, step->value[0].bytes, 1);
        step->slot[i].labels = tc_arena_take(arena, step->batch, sizeof(int32_t));
    }
    for (int i = 0; i < step->n_ops; i++)
        take_op(step, &step->op[i]);
    for (int i = 0; i < step->n_buffers; i++)
        step->buffer[i].data = tc_arena_take(arena, step->buffer[i].bytes, 1);
    step->w_grad = tc_arena_take(arena, step->w_grad_bytes, 1);
    step->dx_flat = tc_arena_take(arena, step->dx_flat_count, sizeof(float));
    step->partial = tc_arena_take(arena, step->partial_count, sizeof(double));
    step->scratch = tc_arena_take(arena, step->scratch_bytes, 1);
}

tc_status dn_estimate(tc_dev *dev, const tc_graph *graph, const tc_compile_options *options,
                      uint64_t *bytes_p)
{
    tc_step *step = NULL;
    tc_status status = build(dev, graph, options, &step);

    if (status != TC_OK)
        return status;
    size_shared(step);
    take_all(step);
    *bytes_p = step->arena.used;
    dn_step_free(step);
    return TC_OK;
}

static void describe(tc_step *step)
{
    const dnnl_version_t *version = dnnl_version();
    const dn_layout *in = &step->value[0].layout;

    snprintf(step->choices, sizeof step->choices,
             "oneDNN %d.%d.%d, %s, own kernels %s, %s, activations nChw%dc, input %s, %d thread%s, "
             "%.1f MiB",
             version->major, version->minor, version->patch, dn_isa_name(),
             step->dev->kernels->name, step->type == TC_BF16 ? "bf16" : "f32", step->block,
             in->block > 1     ? "blocked"
             : in->step_c == 1 ? "nhwc"
                               : "nchw",
             step->dev->threads, step->dev->threads == 1 ? "" : "s",
             (double)step->arena.size / (1 << 20));
}

tc_status dn_compile(tc_dev *dev, const tc_graph *graph, const tc_compile_options *options,
                     tc_step **step_p)
{
    tc_step *step = NULL;
    tc_status status = build(dev, graph, options, &step);

    if (status != TC_OK)
        return status;
    size_shared(step);
    take_all(step);
    status = tc_arena_alloc(&step->arena, "onednn: weights and activations");
    if (status == TC_OK) {
        take_all(step);
        for (int i = 1; i < graph->n_nodes; i++)
            if (step->value[i].buffer >= 0)
                step->value[i].data = step->buffer[step->value[i].buffer].data;
        for (int i = 0; i < graph->n_stats; i++)
            for (int64_t c = 0; c < graph->stat[i].channels; c++)
                step->stats[graph->stat[i].offset + graph->stat[i].channels + c] = 1;
        for (int i = 0; i < TC_SLOTS; i++)
            memset(step->slot[i].labels, 0xff, (size_t)step->batch * sizeof(int32_t)); /* -1 */
        status = dn_bind_prims(step);
    }
    if (status != TC_OK) {
        dn_step_free(step);
        return status;
    }
    describe(step);
    *step_p = step;
    return TC_OK;
}

void dn_step_free(tc_step *step)
{
    if (step == NULL)
        return;
    for (int i = 0; i < step->n_ops; i++) {
        dn_prim *list[PRIMS];
        prims_of(&step->op[i], list);
        for (int k = 0; k < PRIMS; k++)
            dn_prim_free(list[k]);
    }
    tc_arena_free(&step->arena);
    tc_free(step->grad);
    tc_free(step->buffer);
    tc_free(step->op);
    tc_free(step->value);
    tc_free(step->bucket_op);
    tc_free(step->bound);
    tc_free(step);
}
