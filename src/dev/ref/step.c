/* The step of the reference backend: place, forward, backward, update, and the host's access. */
#include <config.h>

#include "dev/ref/step.h"

#include <string.h>

typedef void operation(tc_step *step, int i);

static const struct {
    operation *forward, *backward;
} operations[] = {
    [TC_OP_CONV] = { REF(conv_forward), REF(conv_backward) },
    [TC_OP_BN] = { REF(bn_forward), REF(bn_backward) },
    [TC_OP_RELU] = { REF(relu_forward), REF(relu_backward) },
    [TC_OP_ADD] = { REF(add_forward), REF(add_backward) },
    [TC_OP_MAX_POOL] = { REF(max_pool_forward), REF(max_pool_backward) },
    [TC_OP_AVG_POOL] = { REF(avg_pool_forward), REF(avg_pool_backward) },
    [TC_OP_GLOBAL_AVG] = { REF(global_avg_forward), REF(global_avg_backward) },
    [TC_OP_CONCAT] = { REF(concat_forward), REF(concat_backward) },
    [TC_OP_FC] = { REF(fc_forward), REF(fc_backward) },
    [TC_OP_LOSS] = { NULL, NULL }, /* see seed() */
};

static tc_status check_slot(const tc_step *step, int slot)
{
    if (slot < 0 || slot >= TC_SLOTS)
        return tc_fail(TC_INVAL, "ref: slot %d, there are %d", slot, TC_SLOTS);
    if (step->slot[slot].count == 0)
        return tc_fail(TC_INVAL, "ref: nothing has been placed in slot %d", slot);
    return TC_OK;
}

static tc_status place(tc_step *step, int slot, const tc_slice *slice)
{
    const tc_graph *graph = step->graph;
    int64_t places = graph->node[0].h * graph->node[0].w;

    if (slot < 0 || slot >= TC_SLOTS)
        return tc_fail(TC_INVAL, "ref: slot %d, there are %d", slot, TC_SLOTS);
    if (slice->count < 1 || slice->count > step->max_batch)
        return tc_fail(TC_INVAL, "ref: a slice of %lld pictures, the step takes 1 to %lld",
                       (long long)slice->count, (long long)step->max_batch);
    tc_status status = ref_check_labels(slice->count, graph->classes, slice->labels);
    if (status != TC_OK)
        return status;
    ref_slot *to = &step->slot[slot];
    to->count = slice->count;
    memcpy(to->labels, slice->labels, (size_t)slice->count * sizeof *to->labels);
    for (int64_t n = 0; n < slice->count; n++)
        for (int64_t c = 0; c < 3; c++) {
            const uint8_t *pixel = slice->images + n * places * 3 + c; /* (H,W,3) u8 */
            real *plane = to->images + (n * 3 + c) * places;
            double offset = slice->offset ? slice->offset[n * 3 + c] : 0.0;
            for (int64_t p = 0; p < places; p++)
                plane[p] =
                    (real)((pixel[p * 3] / 255.0 - graph->mean[c]) / graph->deviation[c] + offset);
        }
    if (step->current == slot)
        step->current = -1; /* what was to be differentiated is gone */
    return TC_OK;
}

/* Refuse batch statistics of a single value. */
static tc_status check_bn(const tc_step *step, int64_t count)
{
    for (int i = 0; i < step->graph->n_nodes; i++) {
        const tc_node *node = ref_at(step, i);
        if (node->op == TC_OP_BN && count * node->h * node->w < 2)
            return tc_fail(TC_INVAL,
                           "ref: %s: batch normalisation needs at least 2 values a channel in "
                           "training: take a larger batch per device",
                           node->name);
    }
    return TC_OK;
}

static tc_status forward(tc_step *step, int slot, tc_forward_mode mode)
{
    const tc_graph *graph = step->graph;
    tc_status status = check_slot(step, slot);

    if (status == TC_OK && mode == TC_FORWARD_TRAIN)
        status = check_bn(step, step->slot[slot].count);
    if (status != TC_OK)
        return status;
    step->current = slot;
    step->mode = mode;
    step->count = step->slot[slot].count;
    step->node[0].out = step->slot[slot].images;
    for (int i = 1; i < graph->n_nodes; i++)
        if (operations[graph->node[i].op].forward != NULL)
            operations[graph->node[i].op].forward(step, i);
    REF(cross_entropy)
    (step->count, graph->classes, ref_in(step, graph->loss, 0), step->slot[slot].labels, 0.0, NULL,
     &step->metrics);
    return TC_OK;
}

static void metrics(tc_step *step, tc_metrics *metrics_p)
{
    *metrics_p = step->metrics;
}

/* Zero the gradient of node i's output before the first of its users adds to it. */
static void raise_grad(tc_step *step, int i)
{
    ref_node *state = &step->node[i];

    if (state->grad == NULL || state->born)
        return;
    memset(state->grad, 0, (size_t)(step->count * ref_size(step, i)) * sizeof(real));
    state->born = true;
}

/* Where the gradients come from. */
typedef struct {
    bool dlogits; /* the host's DLOGITS, for the main loss alone; else every weighted loss */
    double scale;
} origin;

/* Start the gradient at the loss node i. */
static void seed(tc_step *step, int i, origin from)
{
    const tc_node *node = ref_at(step, i);
    real *grad = ref_in_grad(step, i, 0);
    int64_t classes = step->graph->classes;

    if (grad == NULL || (from.dlogits ? i != step->graph->loss : node->loss_weight == 0.0))
        return;
    if (!from.dlogits)
        REF(cross_entropy)
    (step->count, classes, ref_in(step, i, 0), step->slot[step->current].labels,
     from.scale * node->loss_weight, step->dlogits, NULL);
    raise_grad(step, node->in[0]);
    for (int64_t p = 0; p < step->count * classes; p++)
        grad[p] += step->dlogits[p];
}

/* Bring gradients [from, to) to where the host sees them, if that is another place. */
static void show_gradients(tc_step *step, int64_t from, int64_t to)
{
    if ((void *)step->host_gradients == (void *)step->gradients)
        return;
    for (int64_t p = from; p < to; p++)
        step->host_gradients[p] = (float)step->gradients[p];
}

static void deliver(tc_step *step, int b, const tc_step_events *events)
{
    show_gradients(step, step->bound[b], step->bound[b + 1]);
    if (events != NULL && events->bucket != NULL)
        events->bucket(events->arg, b);
}

/* Backward from the last node to the first; buckets are handed out as they become complete. */
static void propagate(tc_step *step, origin from, const tc_step_events *events)
{
    const tc_graph *graph = step->graph;
    int next = step->n_buckets - 1;

    memset(step->gradients, 0, (size_t)graph->param_count * sizeof(real));
    for (int i = 0; i < graph->n_nodes; i++)
        step->node[i].born = false;
    for (int i = graph->n_nodes - 1; i >= 0; i--) {
        const tc_node *node = &graph->node[i];
        if (node->op == TC_OP_LOSS) {
            seed(step, i, from);
        } else if (step->node[i].born) {
            for (int j = 0; j < node->n_in; j++)
                raise_grad(step, node->in[j]);
            operations[node->op].backward(step, i);
        }
        while (next >= 0 && step->bucket_node[next] >= i)
            deliver(step, next--, events);
    }
    /* Gradients have taken the place of activations: a second backward would be wrong. */
    step->current = -1;
}

static tc_status backward(tc_step *step, int slot, const tc_step_events *events)
{
    tc_status status = check_slot(step, slot);

    if (status != TC_OK)
        return status;
    if (!step->training)
        return tc_fail(TC_INVAL, "ref: this step was compiled without training");
    if (step->current != slot)
        return tc_fail(TC_INVAL, "ref: backward of slot %d without a forward of it just before",
                       slot);
    propagate(step, (origin){ .dlogits = true }, events);
    return TC_OK;
}

static tc_status train(tc_step *step, int slot, float scale, const tc_step_events *events)
{
    if (!step->training)
        return tc_fail(TC_INVAL, "ref: this step was compiled without training");
    tc_status status = forward(step, slot, TC_FORWARD_TRAIN);
    if (status == TC_OK)
        propagate(step, (origin){ .scale = scale }, events);
    return status;
}

static float *host_gradients(tc_step *step)
{
    return step->host_gradients;
}

static tc_status update(tc_step *step, int b, const float *sum, const tc_sgd *sgd)
{
    const tc_graph *graph = step->graph;

    if (!step->training || b < 0 || b >= step->n_buckets)
        return tc_fail(TC_INVAL, "ref: update of bucket %d; there are %d", b,
                       step->training ? step->n_buckets : 0);
    for (int i = 0; i < graph->n_params; i++) {
        const tc_param *param = &graph->param[i];
        int64_t lo = param->offset, hi = param->offset + param->count;
        lo = lo < step->bound[b] ? step->bound[b] : lo;
        hi = hi > step->bound[b + 1] ? step->bound[b + 1] : hi;
        real lr = sgd->lr, momentum = sgd->momentum, decay = param->decay ? sgd->weight_decay : 0;
        for (int64_t p = lo; p < hi; p++) {
            real d = sum[p] + decay * step->weights[p];
            real v = momentum * step->momentum[p] + d;
            step->momentum[p] = v;
            step->weights[p] -= lr * (sgd->nesterov ? d + momentum * v : v);
        }
    }
    return TC_OK;
}

/* The memory of a vector's elements [offset, offset+count), for reading or writing as `type`. */
static tc_status find(tc_step *step, tc_vector vec, int64_t offset, int64_t count,
                      tc_precision type, real **data_p)
{
    const tc_graph *graph = step->graph;
    int64_t trained = step->training ? graph->param_count : 0;
    const struct {
        const char *name;
        real *data;
        int64_t count;
    } table[] = {
        [TC_VEC_WEIGHTS] = { "weights", step->weights, graph->param_count },
        [TC_VEC_GRADIENTS] = { "gradients", step->gradients, trained },
        [TC_VEC_MOMENTUM] = { "momentum", step->momentum, trained },
        [TC_VEC_STATS] = { "statistics", step->stats, graph->stat_count },
        [TC_VEC_LOGITS] = { "logits", ref_in(step, graph->loss, 0),
                            step->max_batch * graph->classes },
        [TC_VEC_DLOGITS] = { "dlogits", step->dlogits,
                             step->training ? step->max_batch * graph->classes : 0 },
    };

    if ((unsigned)vec >= sizeof table / sizeof table[0])
        return tc_fail(TC_INVAL, "ref: no vector has the number %d", (int)vec);
    if (offset < 0 || count < 0 || offset > table[vec].count || count > table[vec].count - offset)
        return tc_fail(TC_INVAL, "ref: %s: elements %lld to %lld of %lld", table[vec].name,
                       (long long)offset, (long long)offset + count - 1,
                       (long long)table[vec].count);
    if (type != TC_F32 && type != REAL_PRECISION)
        return tc_fail(TC_NOSUPPORT, "ref: %s as %s", table[vec].name, ref_precision(type));
    *data_p = table[vec].data + offset;
    return TC_OK;
}

static tc_status read_vector(tc_step *step, tc_vector vec, int64_t offset, int64_t count,
                             tc_precision type, void *out)
{
    real *data;

    if (vec == TC_VEC_DLOGITS)
        return tc_fail(TC_INVAL, "ref: dlogits are write only");
    tc_status status = find(step, vec, offset, count, type, &data);
    if (status != TC_OK)
        return status;
    for (int64_t p = 0; p < count; p++)
        if (type == TC_F32)
            ((float *)out)[p] = (float)data[p];
        else
            ((double *)out)[p] = data[p];
    return TC_OK;
}

static tc_status write_vector(tc_step *step, tc_vector vec, int64_t offset, int64_t count,
                              tc_precision type, const void *in)
{
    real *data;

    if (vec == TC_VEC_LOGITS)
        return tc_fail(TC_INVAL, "ref: logits are read only");
    tc_status status = find(step, vec, offset, count, type, &data);
    if (status != TC_OK)
        return status;
    for (int64_t p = 0; p < count; p++)
        data[p] = type == TC_F32 ? (real)((const float *)in)[p] : (real)((const double *)in)[p];
    if (vec == TC_VEC_GRADIENTS)
        show_gradients(step, offset, offset + count);
    return TC_OK;
}

static const char *choices(tc_step *step)
{
    return step->choices;
}

static tc_status compile(const tc_graph *graph, const tc_compile_options *options, int threads,
                         tc_step **step_p)
{
    tc_status status = REF(compile)(graph, options, threads, step_p);

    if (status == TC_OK)
        (*step_p)->head.engine = &REF(engine);
    return status;
}

const ref_engine REF(engine) = {
    .estimate = REF(estimate),
    .compile = compile,
    .step_free = REF(step_free),
    .place = place,
    .forward = forward,
    .metrics = metrics,
    .backward = backward,
    .train = train,
    .host_gradients = host_gradients,
    .update = update,
    .read = read_vector,
    .write = write_vector,
    .choices = choices,
};
