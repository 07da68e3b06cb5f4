/*
 * Which nodes become one operation, and where every tensor lies.
 *
 * Fused: BN + ReLU, BN + ADD + ReLU (the end of a residual block), ADD + ReLU, and the ReLU alone
 * works in place where nobody else reads its input.  Backward runs the operations in reverse; its
 * buffers are handed on as soon as they are free, the smallest that fits first.
 */
#include <config.h>

#include "dev/onednn/onednn.h"

/* ---- Operations ---- */

static bool only_use(const tc_step *step, int node)
{
    return step->value[node].uses == 1;
}

/* The BN that can be computed with the addition at node `add`: the later one of two. */
static int fusable_bn(const tc_step *step, int add)
{
    const tc_node *node = step->graph->node;
    int best = -1;

    for (int k = 0; k < node[add].n_in; k++) {
        int in = node[add].in[k];
        if (node[in].op == TC_OP_BN && only_use(step, in) && in > best)
            best = in;
    }
    return best;
}

/* Where a ReLU's input can be computed with it, mark the nodes that vanish and describe the op. */
static void fuse_relu(tc_step *step, int relu, dn_op *op)
{
    const tc_node *node = step->graph->node;
    int in = node[relu].in[0];

    *op = (dn_op){ .kind = TC_OP_RELU,
                   .node = &node[relu],
                   .out = relu,
                   .n_in = 1,
                   .in = { in },
                   .residual = -1 };
    if (!only_use(step, in))
        return;
    if (node[in].op == TC_OP_BN) {
        *op = (dn_op){ .kind = TC_OP_BN,
                       .node = &node[in],
                       .out = relu,
                       .relu = true,
                       .n_in = 1,
                       .in = { node[in].in[0] },
                       .residual = -1 };
        step->value[in].exists = false;
    } else if (node[in].op == TC_OP_ADD) {
        int bn = fusable_bn(step, in), a = node[in].in[0], b = node[in].in[1];
        step->value[in].exists = false;
        if (bn < 0) {
            *op = (dn_op){ .kind = TC_OP_ADD,
                           .node = &node[in],
                           .out = relu,
                           .relu = true,
                           .n_in = 2,
                           .in = { a, b },
                           .residual = -1 };
            return;
        }
        *op = (dn_op){ .kind = TC_OP_BN,
                       .node = &node[bn],
                       .out = relu,
                       .relu = true,
                       .n_in = 1,
                       .in = { node[bn].in[0] },
                       .residual = a == bn ? b : a };
        step->value[bn].exists = false;
    }
}

tc_status dn_plan_ops(tc_step *step)
{
    const tc_graph *graph = step->graph;
    dn_op *fused = NULL;
    tc_status status = tc_alloc(graph->n_nodes, sizeof *fused, "onednn: plan", &fused);

    if (status != TC_OK)
        return status;
    for (int i = 0; i < graph->n_nodes; i++) {
        step->value[i].exists = true;
        step->value[i].buffer = -1;
        for (int k = 0; k < graph->node[i].n_in; k++)
            step->value[graph->node[i].in[k]].uses++;
    }
    for (int i = 0; i < graph->n_nodes; i++)
        if (graph->node[i].op == TC_OP_RELU)
            fuse_relu(step, i, &fused[i]);
    for (int i = 0; i < graph->n_nodes; i++) {
        const tc_node *node = &graph->node[i];
        dn_value *value = &step->value[i];
        value->needs_grad = node->weight >= 0;
        for (int k = 0; k < node->n_in; k++)
            value->needs_grad |= step->value[node->in[k]].needs_grad;
        if (node->op == TC_OP_INPUT || !value->exists)
            continue;
        dn_op *op = &step->op[step->n_ops++];
        if (node->op == TC_OP_RELU) {
            *op = fused[i];
        } else {
            *op = (dn_op){
                .kind = node->op, .node = node, .out = i, .n_in = node->n_in, .residual = -1
            };
            for (int k = 0; k < node->n_in; k++)
                op->in[k] = node->in[k];
        }
        if (i == graph->loss)
            step->main_loss = step->n_ops - 1;
    }
    tc_free(fused);
    return TC_OK;
}

/* ---- Buffers ---- */

static int buffer_new(tc_step *step, int64_t bytes)
{
    int best = -1, largest = -1;

    for (int i = 0; i < step->n_buffers; i++) {
        const dn_buffer *b = &step->buffer[i];
        if (b->refs > 0)
            continue;
        if (b->bytes >= bytes &&
            (best < 0 || b->bytes < step->buffer[best].bytes ||
             (b->bytes == step->buffer[best].bytes && b->freed > step->buffer[best].freed)))
            best = i;
        if (largest < 0 || b->bytes > step->buffer[largest].bytes)
            largest = i;
    }
    if (best < 0)
        best = largest >= 0 ? largest : step->n_buffers++; /* a free one grows before a new one */
    dn_buffer *b = &step->buffer[best];
    if (b->bytes < bytes)
        b->bytes = bytes;
    b->refs = 1;
    return best;
}

static void buffer_release(tc_step *step, int id)
{
    if (id >= 0 && --step->buffer[id].refs == 0)
        step->buffer[id].freed = ++step->plan_clock;
}

/* A gradient of node's output arrives in buffer id, which the caller's reference goes with. */
static dn_sum contribute(tc_step *step, int node, int id)
{
    int old = step->grad[node], dst;

    if (old < 0) {
        step->grad[node] = id;
        return (dn_sum){ -1, -1, -1 };
    }
    if (step->buffer[id].refs == 1)
        dst = id;
    else if (step->buffer[old].refs == 1)
        dst = old;
    else
        dst = buffer_new(step, step->value[node].bytes);
    dn_sum sum = { dst, old, id };
    if (dst != id)
        buffer_release(step, id);
    if (dst != old)
        buffer_release(step, old);
    step->grad[node] = dst;
    return sum;
}

/* Take the gradient of the op's output over for in-place work, or a new buffer if others hold it.
 */
static int in_place(tc_step *step, const dn_op *op)
{
    if (step->buffer[op->dy].refs == 1)
        return op->dy;
    int id = buffer_new(step, step->value[op->out].bytes);
    buffer_release(step, op->dy); /* the op reads it before anyone writes there again */
    return id;
}

/* The same buffer is the gradient of both inputs. */
static void plan_add(tc_step *step, dn_op *op)
{
    int wanted = 0;

    op->dz = op->relu ? in_place(step, op) : op->dy;
    for (int k = 0; k < op->n_in; k++)
        wanted += step->value[op->in[k]].needs_grad;
    step->buffer[op->dz].refs += wanted;
    for (int k = 0; k < op->n_in; k++)
        if (step->value[op->in[k]].needs_grad)
            op->sum[k] = contribute(step, op->in[k], op->dz);
    buffer_release(step, op->dz);
}

static void plan_bn(tc_step *step, dn_op *op)
{
    bool pass_on = op->residual >= 0 && step->value[op->residual].needs_grad;
    int in = op->in[0];

    op->dz = op->residual >= 0 ? in_place(step, op) : op->dy;
    if (step->value[in].needs_grad) {
        if (pass_on)
            op->dx[0] = buffer_new(step, step->value[in].bytes);
        else
            op->dx[0] = op->residual >= 0 ? op->dz : in_place(step, op);
    } else if (!pass_on) { /* BN right on the input: only gamma and beta */
        buffer_release(step, op->dz);
    }
    if (pass_on)
        op->sum[0] = contribute(step, op->residual, op->dz);
    if (op->dx[0] >= 0)
        op->sum[1] = contribute(step, in, op->dx[0]);
}

/* Operations that write every input's gradient into memory of its own. */
static void plan_apart(tc_step *step, dn_op *op)
{
    for (int k = 0; k < op->n_in; k++)
        if (step->value[op->in[k]].needs_grad)
            op->dx[k] = buffer_new(step, step->value[op->in[k]].bytes);
    for (int k = 0; k < op->n_in; k++)
        if (op->dx[k] >= 0)
            op->sum[k] = contribute(step, op->in[k], op->dx[k]);
    buffer_release(step, op->dy);
}

/* Nothing wanted yet; and the losses' gradients, which are written before the backward starts (or
 * by the host) and so may share memory with nothing in it. */
static void plan_sources(tc_step *step)
{
    for (int i = 0; i < step->n_ops; i++) {
        dn_op *op = &step->op[i];
        op->dy = op->dz = -1;
        for (int k = 0; k < TC_NODE_INPUTS; k++)
            op->dx[k] = -1;
        for (int k = 0; k <= TC_NODE_INPUTS; k++)
            op->sum[k] = (dn_sum){ -1, -1, -1 };
        op->live = op->kind == TC_OP_LOSS && op->node->loss_weight > 0 &&
                   step->value[op->in[0]].needs_grad;
        if (op->live) {
            op->dx[0] = buffer_new(step, step->value[op->in[0]].bytes);
            step->buffer[op->dx[0]].refs++; /* for good: never handed on */
        }
    }
}

static void plan_backward(tc_step *step, dn_op *op)
{
    if (op->kind == TC_OP_LOSS) {
        if (op->live)
            op->sum[0] = contribute(step, op->in[0], op->dx[0]);
        return;
    }
    op->dy = step->grad[op->out];
    op->live = op->dy >= 0;
    if (!op->live)
        return;
    if (op->kind == TC_OP_ADD) {
        plan_add(step, op);
    } else if (op->kind == TC_OP_BN) {
        plan_bn(step, op);
    } else if (op->kind == TC_OP_RELU) {
        op->dx[0] = in_place(step, op);
        op->sum[0] = contribute(step, op->in[0], op->dx[0]);
    } else {
        plan_apart(step, op);
    }
}

/* A bucket is final after the last operation, in backward order, that writes one of its parameters.
 */
static void plan_buckets(tc_step *step)
{
    for (int b = 0; b < step->n_buckets; b++)
        step->bucket_op[b] = step->n_ops;
    for (int i = 0; i < step->n_ops; i++) {
        const dn_op *op = &step->op[i];
        int which[2] = { op->node->weight, op->node->bias };
        for (int k = 0; k < 2 && op->live; k++) {
            if (which[k] < 0)
                continue;
            const tc_param *param = &step->graph->param[which[k]];
            for (int b = 0; b < step->n_buckets; b++)
                if (param->offset < step->bound[b + 1] &&
                    param->offset + param->count > step->bound[b] && i < step->bucket_op[b])
                    step->bucket_op[b] = i;
        }
    }
}

/* May the ReLU overwrite its input?  Not where backward masks by that value. */
static bool relu_in_place(const tc_step *step, int index)
{
    const dn_op *op = &step->op[index];

    if (op->kind != TC_OP_RELU || op->in[0] == 0 || !only_use(step, op->in[0]))
        return false;
    for (int j = 0; j < index && step->training; j++)
        if (step->op[j].out == op->in[0])
            return !step->op[j].relu && step->op[j].kind != TC_OP_RELU;
    return true;
}

/* One reader of a node's output is done; without a backward its memory is free after the last. */
static void read_done(tc_step *step, int node, int *left)
{
    if (node != 0 && --left[node] == 0)
        buffer_release(step, step->value[node].buffer);
}

static void plan_forward(tc_step *step, int *left)
{
    for (int i = 0; i < step->n_ops; i++) {
        const dn_op *op = &step->op[i];
        for (int k = 0; k < op->n_in; k++)
            left[op->in[k]]++;
        if (op->residual >= 0)
            left[op->residual]++;
    }
    for (int i = 0; i < step->n_ops; i++) {
        const dn_op *op = &step->op[i];
        dn_value *out = &step->value[op->out];
        if (op->kind == TC_OP_LOSS)
            continue; /* writes no tensor, and the logits stay */
        if (relu_in_place(step, i)) {
            out->buffer = step->value[op->in[0]].buffer;
            step->buffer[out->buffer].refs++;
        } else {
            out->buffer = buffer_new(step, out->bytes);
        }
        for (int k = 0; k < op->n_in && !step->training; k++)
            read_done(step, op->in[k], left);
        if (op->residual >= 0 && !step->training)
            read_done(step, op->residual, left);
    }
}

tc_status dn_plan_buffers(tc_step *step)
{
    int64_t cap = (int64_t)step->n_ops * (TC_NODE_INPUTS + 4) + 16;
    tc_status status = tc_alloc(cap, sizeof *step->buffer, "onednn: plan", &step->buffer);

    if (status == TC_OK)
        status = tc_alloc(step->graph->n_nodes, sizeof *step->grad, "onednn: plan", &step->grad);
    if (status != TC_OK)
        return status;
    plan_forward(step, step->grad); /* zeroed: serves as its counters first */
    if (!step->training)
        return TC_OK;
    for (int i = 0; i < step->graph->n_nodes; i++)
        step->grad[i] = -1;
    plan_sources(step);
    for (int i = step->n_ops - 1; i >= 0; i--)
        plan_backward(step, &step->op[i]);
    plan_buckets(step);
    return TC_OK;
}
