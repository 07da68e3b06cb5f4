/* Layouts, and the oneDNN primitives of every operation with their memory objects. */
#include <config.h>

#include "dev/onednn/onednn.h"

#include <string.h>

/* ---- Layouts ---- */

static dn_layout blocked(const tc_step *step, const tc_node *node)
{
    int64_t block = step->block, blocks = (node->c + block - 1) / block;

    return (dn_layout){ .type = TC_F32,
                        .n = step->batch,
                        .c = node->c,
                        .h = node->h,
                        .w = node->w,
                        .block = step->block,
                        .step_n = blocks * node->h * node->w * block,
                        .step_c = node->h * node->w * block,
                        .step_h = node->w * block,
                        .step_w = block };
}

static dn_layout plain(const tc_step *step, const tc_node *node)
{
    return (dn_layout){ .n = step->batch,
                        .c = node->c,
                        .h = node->h,
                        .w = node->w,
                        .block = 1,
                        .step_n = node->c * node->h * node->w,
                        .step_c = node->h * node->w,
                        .step_h = node->w,
                        .step_w = 1 };
}

static dn_window window_of(const tc_node *node, const dn_layout *src, const dn_layout *dst)
{
    return (dn_window){ .src = src,
                        .dst = dst,
                        .kh = node->kh,
                        .kw = node->kw,
                        .stride_h = node->stride_h,
                        .stride_w = node->stride_w,
                        .pad_h = node->pad_h,
                        .pad_w = node->pad_w,
                        .bias = node->op == TC_OP_CONV && node->bias >= 0 };
}

/* Let the first convolution say which block it likes; the input's layout if it reads that. */
static tc_status choose_block(tc_step *step, const tc_node *conv, dn_layout *input)
{
    const tc_node *node = step->graph->node;
    dn_layout src = plain(step, &node[conv->in[0]]), dst = plain(step, conv), found;
    dn_window window = window_of(conv, &src, &dst);
    dn_prim prim = { 0 };

    src.block = dst.block = 0;
    src.type = dst.type = step->type;
    tc_status status = dn_conv_forward(step->dev, &window, conv->name, &prim);
    if (step->type == TC_BF16)
        step->block = 16; /* also where oneDNN would like (N,H,W,C): AMX */
    else if (status == TC_OK && dn_arg_layout(&prim, DNNL_ARG_DST, &found) && found.block > 1)
        step->block = found.block;
    dn_prim_free(&prim);
    if (status != TC_OK || conv->in[0] != 0)
        return status;
    dst = blocked(step, conv);
    dst.type = step->type;
    status = dn_conv_forward(step->dev, &window, conv->name, &prim);
    if (status == TC_OK && dn_arg_layout(&prim, DNNL_ARG_SRC, &found))
        *input = found;
    dn_prim_free(&prim);
    return status;
}

/* In bf16 the head stays in f32, from the global average or the first fc to the loss: it is small,
 * and what the loss sees is exact. */
static tc_status choose_type(tc_step *step, int index)
{
    const tc_node *node = &step->graph->node[index];
    dn_layout *layout = &step->value[index].layout;
    int wide = 0;

    for (int k = 0; k < node->n_in; k++)
        wide += step->value[node->in[k]].layout.type == TC_F32;
    if (node->op == TC_OP_FC || (node->op == TC_OP_GLOBAL_AVG && wide == 0))
        return TC_OK; /* f32 */
    if (wide > 0 && wide == node->n_in &&
        (node->op == TC_OP_RELU || node->op == TC_OP_ADD || node->op == TC_OP_CONCAT ||
         node->op == TC_OP_LOSS))
        return TC_OK;
    if (wide > 0 || node->op == TC_OP_LOSS)
        return tc_fail(TC_NOSUPPORT,
                       "onednn: node %s (%s) in bf16: behind a global average or fc there may be"
                       " only fc, relu, add, concat and the loss; use --precision f32",
                       node->name, tc_op_name(node->op));
    layout->type = TC_BF16;
    return TC_OK;
}

static tc_status choose_layouts(tc_step *step)
{
    const tc_graph *graph = step->graph;
    const tc_node *conv = NULL;
    dn_layout input = plain(step, &graph->node[0]);
    bool only_conv = true, only_fc = true;
    tc_status status = TC_OK;

    for (int i = graph->n_nodes - 1; i >= 0; i--) {
        const tc_node *node = &graph->node[i];
        if (node->op == TC_OP_CONV)
            conv = node;
        for (int k = 0; k < node->n_in; k++) {
            only_conv &= node->in[k] != 0 || node->op == TC_OP_CONV;
            only_fc &= node->in[k] != 0 || node->op == TC_OP_FC;
        }
    }
    step->block = strncmp(dn_isa_name(), "avx512", 6) == 0 ? 16 : 8;
    if (conv != NULL)
        status = choose_block(step, conv, &input);
    if (status != TC_OK)
        return status;
    step->lanes = dn_lanes_of(step->dev->kernels, step->block, step->type);
    for (int i = 0; i < graph->n_nodes; i++) {
        dn_value *value = &step->value[i];
        value->layout = blocked(step, &graph->node[i]);
        if (i == 0 && only_conv)
            value->layout = input;
        else if (i == 0 && only_fc)
            value->layout = plain(step, &graph->node[0]);
        else if (step->type == TC_BF16 && status == TC_OK)
            status = choose_type(step, i);
        const dn_layout *l = &value->layout;
        int64_t blocks = (l->c + l->block - 1) / l->block;
        value->count = l->n * blocks * l->block * l->h * l->w;
        value->bytes = value->count * dn_size(l->type);
    }
    return status;
}

/* ---- Creation ---- */

static tc_status create_conv(tc_step *step, dn_op *op)
{
    const tc_node *node = op->node;
    const char *name = node->name;
    dn_window window =
        window_of(node, &step->value[op->in[0]].layout, &step->value[op->out].layout);
    const int64_t *dims = step->graph->param[node->weight].dims;

    tc_status status = dn_conv_forward(step->dev, &window, name, &op->forward);
    if (status == TC_OK)
        status = dn_weights_reorder(step->dev, dims, &op->forward, DNNL_ARG_WEIGHTS, false, name,
                                    &op->load_forward);
    if (status != TC_OK || !step->training)
        return status;
    status = dn_conv_backward_weights(step->dev, &window, &op->forward, name, &op->back_weights);
    if (status == TC_OK)
        status = dn_weights_reorder(step->dev, dims, &op->back_weights, DNNL_ARG_DIFF_WEIGHTS, true,
                                    name, &op->store);
    if (status != TC_OK || !step->value[op->in[0]].needs_grad)
        return status;
    status = dn_conv_backward_data(step->dev, &window, &op->forward, name, &op->back_data);
    if (status == TC_OK)
        status = dn_weights_reorder(step->dev, dims, &op->back_data, DNNL_ARG_WEIGHTS, false, name,
                                    &op->load_back);
    return status;
}

/* Is every picture of this layout one run of floats in (C,H,W) order? */
static bool is_flat(const dn_layout *l)
{
    if (l->type != TC_F32)
        return false;
    if (l->h * l->w == 1)
        return l->block > 1 || l->step_c == 1;
    return l->block == 1 && l->step_w == 1 && l->step_h == l->w && l->step_c == l->h * l->w;
}

static tc_status create_fc(tc_step *step, dn_op *op)
{
    const tc_node *node = op->node;
    const dn_value *in = &step->value[op->in[0]], *out = &step->value[op->out];
    int64_t n = step->batch, k = in->layout.c * in->layout.h * in->layout.w, m = node->c;
    bool flat = is_flat(&in->layout);
    dn_layout flat_layout = plain(step, &step->graph->node[op->in[0]]);
    dn_matrix x = { n, k, flat ? in->layout.step_n : k, 1 };
    dn_matrix w = { m, k, k, 1 }, w_t = { k, m, 1, k };
    dn_matrix y = { n, m, out->layout.step_n, 1 }, y_t = { m, n, 1, out->layout.step_n };

    tc_status status =
        dn_matmul(step->dev, &x, &w_t, node->bias >= 0, &y, node->name, &op->forward);
    if (status == TC_OK && !flat)
        status = dn_reorder(step->dev, &in->layout, &flat_layout, node->name, &op->flatten);
    if (status != TC_OK || !step->training)
        return status;
    status = dn_matmul(step->dev, &y_t, &x, false, &w, node->name, &op->back_weights);
    if (status != TC_OK || !in->needs_grad)
        return status;
    status = dn_matmul(step->dev, &y, &w, false, &x, node->name, &op->back_data);
    if (status == TC_OK && !flat)
        status = dn_reorder(step->dev, &flat_layout, &in->layout, node->name, &op->unflatten);
    return status;
}

static tc_status create(tc_step *step, dn_op *op)
{
    if (op->kind == TC_OP_CONV)
        return create_conv(step, op);
    if (op->kind == TC_OP_FC)
        return create_fc(step, op);
    if (op->kind == TC_OP_MAX_POOL && op->node->kh * op->node->kw > UINT8_MAX + 1)
        return tc_fail(TC_NOSUPPORT, "onednn: max pool %s: a window of %d x %d is above 256 values",
                       op->node->name, op->node->kh, op->node->kw);
    return TC_OK;
}

tc_status dn_create_prims(tc_step *step)
{
    tc_status status = choose_layouts(step);

    for (int i = 0; i < step->n_ops && status == TC_OK; i++)
        status = create(step, &step->op[i]);
    return status;
}

/* ---- Binding ---- */

static tc_status bind_value(tc_step *step, dn_prim *prim, int arg, int node)
{
    void *const ptr[TC_SLOTS] = { step->slot[0].input, step->slot[1].input };

    if (node == 0)
        return dn_bind_input(step->dev, prim, arg, ptr);
    return dn_bind(step->dev, prim, arg, step->value[node].data);
}

/* A list of arguments for one primitive, ended by arg 0. */
typedef struct {
    int arg;
    void *ptr;
} binding;

static tc_status bind_all(tc_step *step, dn_prim *prim, const binding *list)
{
    tc_status status = TC_OK;

    for (; list->arg != 0 && status == TC_OK; list++)
        if (list->ptr != NULL)
            status = dn_bind(step->dev, prim, list->arg, list->ptr);
    if (status == TC_OK && dn_arg_bytes(prim, DNNL_ARG_SCRATCHPAD) > 0)
        status = dn_bind(step->dev, prim, DNNL_ARG_SCRATCHPAD, step->scratch);
    return status;
}

static void *grad_data(const tc_step *step, int buffer)
{
    return buffer < 0 ? NULL : step->buffer[buffer].data;
}

static void *param_data(const tc_step *step, float *flat, int param)
{
    return param < 0 || flat == NULL ? NULL : flat + step->graph->param[param].offset;
}

static tc_status bind_conv(tc_step *step, dn_op *op)
{
    const tc_node *node = op->node;
    void *weights = param_data(step, step->weights, node->weight);
    void *dw = param_data(step, step->gradients, node->weight);
    void *w_fwd = op->load_forward.desc ? (void *)op->w_forward : weights;
    void *w_back = op->load_back.desc ? (void *)op->w_back : weights;
    void *dw_made = op->store.desc ? (void *)step->w_grad : dw;
    void *dy = grad_data(step, op->dy);

    tc_status status = bind_value(step, &op->forward, DNNL_ARG_SRC, op->in[0]);
    if (status == TC_OK)
        status =
            bind_all(step, &op->forward,
                     (binding[]){ { DNNL_ARG_WEIGHTS, w_fwd },
                                  { DNNL_ARG_DST, step->value[op->out].data },
                                  { DNNL_ARG_BIAS, param_data(step, step->weights, node->bias) },
                                  { 0, NULL } });
    if (status == TC_OK)
        status = bind_all(
            step, &op->load_forward,
            (binding[]){ { DNNL_ARG_FROM, weights }, { DNNL_ARG_TO, op->w_forward }, { 0, NULL } });
    if (status == TC_OK)
        status = bind_all(
            step, &op->load_back,
            (binding[]){ { DNNL_ARG_FROM, weights }, { DNNL_ARG_TO, op->w_back }, { 0, NULL } });
    if (status != TC_OK || !op->live)
        return status;
    status = bind_value(step, &op->back_weights, DNNL_ARG_SRC, op->in[0]);
    if (status == TC_OK)
        status = bind_all(
            step, &op->back_weights,
            (binding[]){ { DNNL_ARG_DIFF_DST, dy },
                         { DNNL_ARG_DIFF_WEIGHTS, dw_made },
                         { DNNL_ARG_DIFF_BIAS, param_data(step, step->gradients, node->bias) },
                         { 0, NULL } });
    if (status == TC_OK)
        status = bind_all(
            step, &op->store,
            (binding[]){ { DNNL_ARG_FROM, step->w_grad }, { DNNL_ARG_TO, dw }, { 0, NULL } });
    if (status == TC_OK && op->dx[0] >= 0)
        status = bind_all(step, &op->back_data,
                          (binding[]){ { DNNL_ARG_DIFF_DST, dy },
                                       { DNNL_ARG_WEIGHTS, w_back },
                                       { DNNL_ARG_DIFF_SRC, grad_data(step, op->dx[0]) },
                                       { 0, NULL } });
    return status;
}

static tc_status bind_fc(tc_step *step, dn_op *op)
{
    const tc_node *node = op->node;
    bool flat = op->flat == NULL;
    void *weights = param_data(step, step->weights, node->weight);
    void *dy = grad_data(step, op->dy), *dx = grad_data(step, op->dx[0]);
    tc_status status;

    if (flat) {
        status = bind_value(step, &op->forward, DNNL_ARG_SRC, op->in[0]);
    } else {
        status = bind_value(step, &op->flatten, DNNL_ARG_FROM, op->in[0]);
        if (status == TC_OK)
            status =
                bind_all(step, &op->flatten, (binding[]){ { DNNL_ARG_TO, op->flat }, { 0, NULL } });
        if (status == TC_OK)
            status = dn_bind(step->dev, &op->forward, DNNL_ARG_SRC, op->flat);
    }
    if (status == TC_OK)
        status =
            bind_all(step, &op->forward,
                     (binding[]){ { DNNL_ARG_WEIGHTS, weights },
                                  { DNNL_ARG_DST, step->value[op->out].data },
                                  { DNNL_ARG_BIAS, param_data(step, step->weights, node->bias) },
                                  { 0, NULL } });
    if (status != TC_OK || !op->live)
        return status;
    if (flat)
        status = bind_value(step, &op->back_weights, DNNL_ARG_WEIGHTS, op->in[0]);
    else
        status = dn_bind(step->dev, &op->back_weights, DNNL_ARG_WEIGHTS, op->flat);
    if (status == TC_OK)
        status =
            bind_all(step, &op->back_weights,
                     (binding[]){ { DNNL_ARG_SRC, dy },
                                  { DNNL_ARG_DST, param_data(step, step->gradients, node->weight) },
                                  { 0, NULL } });
    if (status == TC_OK && dx != NULL)
        status = bind_all(step, &op->back_data,
                          (binding[]){ { DNNL_ARG_SRC, dy },
                                       { DNNL_ARG_WEIGHTS, weights },
                                       { DNNL_ARG_DST, flat ? dx : step->dx_flat },
                                       { 0, NULL } });
    if (status == TC_OK && dx != NULL)
        status = bind_all(
            step, &op->unflatten,
            (binding[]){ { DNNL_ARG_FROM, step->dx_flat }, { DNNL_ARG_TO, dx }, { 0, NULL } });
    return status;
}

tc_status dn_bind_prims(tc_step *step)
{
    tc_status status = TC_OK;

    for (int i = 0; i < step->n_ops && status == TC_OK; i++) {
        dn_op *op = &step->op[i];
        if (op->kind == TC_OP_CONV)
            status = bind_conv(step, op);
        else if (op->kind == TC_OP_FC)
            status = bind_fc(step, op);
    }
    return status;
}
