/* One operation, forward and backward. */
#include <config.h>

#include "dev/onednn/onednn.h"

#include <string.h>

#define CHUNK ((int64_t)16384) /* elements that one thread takes at a time */

void dn_parallel(const tc_dev *dev, int64_t count, void (*work)(void *ctx, int64_t i), void *ctx)
{
    if (dev->threads == 1 || count == 1) { /* OpenMP would allocate a team */
        for (int64_t i = 0; i < count; i++)
            work(ctx, i);
        return;
    }
#pragma omp parallel for num_threads(dev->threads) schedule(static)
    for (int64_t i = 0; i < count; i++)
        work(ctx, i);
}

/* ---- Element by element ---- */

typedef struct {
    void (*two)(const void *a, const void *b, void *y, int64_t count);
    void (*one)(const void *a, void *y, int64_t count);
    const void *a, *b;
    void *y;
    int64_t count, size; /* elements; bytes of one */
} flat_job;

static void flat_work(void *ctx, int64_t i)
{
    const flat_job *job = ctx;
    int64_t first = i * CHUNK, n = job->count - first < CHUNK ? job->count - first : CHUNK;
    int64_t at = first * job->size;

    if (job->two != NULL)
        job->two((const char *)job->a + at, (const char *)job->b + at, (char *)job->y + at, n);
    else
        job->one((const char *)job->a + at, (char *)job->y + at, n);
}

static void flat_run(const tc_step *step, const dn_value *like, flat_job job)
{
    job.count = like->count;
    job.size = dn_size(like->layout.type);
    dn_parallel(step->dev, (job.count + CHUNK - 1) / CHUNK, flat_work, &job);
}

static const dn_lanes *lanes_of(const tc_step *step, const dn_value *value)
{
    return dn_lanes_of(step->dev->kernels, step->block, value->layout.type);
}

/* ---- Plane by plane ---- */

typedef struct {
    const dn_lanes *lanes;
    const char *from;
    char *to;
    int64_t pixels, step_from, step_to; /* bytes from plane to plane */
    uint8_t *which;                     /* max pool: see dn_lanes */
    int64_t step_which;
    dn_pool_shape shape;
} plane_job;

static void average_work(void *ctx, int64_t i)
{
    const plane_job *job = ctx;

    job->lanes->average(job->from + i * job->step_from, job->pixels,
                        (float *)(void *)(job->to + i * job->step_to));
}

static void spread_work(void *ctx, int64_t i)
{
    const plane_job *job = ctx;

    job->lanes->spread((const float *)(const void *)(job->from + i * job->step_from), job->pixels,
                       job->to + i * job->step_to);
}

static void avg_pool_work(void *ctx, int64_t i)
{
    const plane_job *job = ctx;

    job->lanes->avg_pool(job->from + i * job->step_from, job->to + i * job->step_to, &job->shape);
}

static void avg_pool_back_work(void *ctx, int64_t i)
{
    const plane_job *job = ctx;

    job->lanes->avg_pool_back(job->from + i * job->step_from, job->to + i * job->step_to,
                              &job->shape);
}

static void max_pool_work(void *ctx, int64_t i)
{
    const plane_job *job = ctx;

    job->lanes->max_pool(job->from + i * job->step_from, job->to + i * job->step_to,
                         job->which == NULL ? NULL : job->which + i * job->step_which, &job->shape);
}

static void max_pool_back_work(void *ctx, int64_t i)
{
    const plane_job *job = ctx;

    job->lanes->max_pool_back(job->from + i * job->step_from, job->which + i * job->step_which,
                              job->to + i * job->step_to, &job->shape);
}

/* Pools and the global average: forward where dy is NULL. */
static void pool_run(tc_step *step, const dn_op *op, const void *dy, void *dx)
{
    const dn_value *in = &step->value[op->in[0]], *out = &step->value[op->out];
    const tc_node *node = op->node;
    int64_t planes = in->layout.step_n / in->layout.step_c * step->batch;
    plane_job job = { .lanes = lanes_of(step, in),
                      .pixels = in->layout.h * in->layout.w,
                      .from = in->data,
                      .to = out->data,
                      .step_from = in->layout.step_c * dn_size(in->layout.type),
                      .step_to = out->layout.step_c * dn_size(out->layout.type),
                      .step_which = out->layout.step_c };

    job.shape = (dn_pool_shape){ .h = in->layout.h,
                                 .w = in->layout.w,
                                 .out_h = out->layout.h,
                                 .out_w = out->layout.w,
                                 .kh = node->kh,
                                 .kw = node->kw,
                                 .stride_h = node->stride_h,
                                 .stride_w = node->stride_w,
                                 .pad_h = node->pad_h,
                                 .pad_w = node->pad_w };
    if (dy != NULL) {
        job.from = dy;
        job.to = dx;
        int64_t swap = job.step_from;
        job.step_from = job.step_to;
        job.step_to = swap;
    }
    job.which = op->which;
    void (*work)(void *, int64_t) = dy ? avg_pool_back_work : avg_pool_work;
    if (op->kind == TC_OP_GLOBAL_AVG)
        work = dy ? spread_work : average_work;
    else if (op->kind == TC_OP_MAX_POOL)
        work = dy ? max_pool_back_work : max_pool_work;
    dn_parallel(step->dev, planes, work, &job);
}

/* ---- Concatenation ---- */

/* Copy channels [from, from + count) of one picture in layout `a` to channels [to, …) in `b`. */
static void copy_channels(const char *a, const dn_layout *la, int64_t from, char *b,
                          const dn_layout *lb, int64_t to, int64_t count)
{
    int64_t block = la->block, pixels = la->h * la->w, size = dn_size(la->type);

    for (int64_t c = 0; c < count;) {
        const char *s = a + ((from + c) / block * la->step_c + (from + c) % block) * size;
        char *d = b + ((to + c) / block * lb->step_c + (to + c) % block) * size;
        if ((from + c) % block == 0 && (to + c) % block == 0 && count - c >= block) {
            memcpy(d, s, (size_t)(pixels * block * size));
            c += block;
            continue;
        }
        for (int64_t i = 0; i < pixels; i++)
            memcpy(d + i * block * size, s + i * block * size, (size_t)size);
        c++;
    }
}

/* The channels between c and the end of its block. */
static void zero_padding(char *picture, const dn_layout *l)
{
    int64_t size = dn_size(l->type);

    for (int64_t c = l->c; c % l->block != 0; c++) {
        char *d = picture + (c / l->block * l->step_c + c % l->block) * size;
        for (int64_t i = 0; i < l->h * l->w; i++)
            memset(d + i * l->block * size, 0, (size_t)size);
    }
}

typedef struct {
    tc_step *step;
    const dn_op *op;
    bool back;
} concat_job;

/* Picture n of a tensor. */
static char *picture_of(void *data, const dn_layout *l, int64_t n)
{
    return (char *)data + n * l->step_n * dn_size(l->type);
}

static void concat_work(void *ctx, int64_t n)
{
    const concat_job *job = ctx;
    const dn_op *op = job->op;
    const dn_value *out = &job->step->value[op->out];
    const dn_buffer *buffer = job->step->buffer;
    const dn_layout *lo = &out->layout;
    int64_t at = 0;

    for (int k = 0; k < op->n_in; k++) {
        const dn_value *in = &job->step->value[op->in[k]];
        const dn_layout *li = &in->layout;
        if (!job->back) {
            copy_channels(picture_of(in->data, li, n), li, 0, picture_of(out->data, lo, n), lo, at,
                          li->c);
        } else if (op->dx[k] >= 0) {
            char *dx = picture_of(buffer[op->dx[k]].data, li, n);
            copy_channels(picture_of(buffer[op->dy].data, lo, n), lo, at, dx, li, 0, li->c);
            zero_padding(dx, li);
        }
        at += li->c;
    }
    if (!job->back)
        zero_padding(picture_of(out->data, lo, n), lo);
}

/* ---- Fully connected ---- */

/* Rows of (n, c) with a step: zero what lies between c and the step. */
static void zero_tails(float *data, const dn_layout *l)
{
    for (int64_t i = 0; i < l->n && l->step_n > l->c; i++)
        memset(data + i * l->step_n + l->c, 0, (size_t)(l->step_n - l->c) * sizeof *data);
}

static tc_status fc_forward(tc_step *step, dn_op *op, int slot)
{
    tc_status status = dn_run(step->dev, &op->flatten, slot);

    if (status == TC_OK)
        status = dn_run(step->dev, &op->forward, slot);
    zero_tails(step->value[op->out].data, &step->value[op->out].layout);
    return status;
}

static tc_status fc_backward(tc_step *step, dn_op *op, int slot)
{
    const dn_layout *out = &step->value[op->out].layout, *in = &step->value[op->in[0]].layout;
    const float *dy = step->buffer[op->dy].data;
    tc_status status = dn_run(step->dev, &op->back_weights, slot);

    if (op->node->bias >= 0) {
        float *db = step->gradients + step->graph->param[op->node->bias].offset;
        for (int64_t c = 0; c < out->c; c++) {
            double sum = 0;
            for (int64_t i = 0; i < out->n; i++)
                sum += dy[i * out->step_n + c];
            db[c] = (float)sum;
        }
    }
    if (status != TC_OK || op->dx[0] < 0)
        return status;
    status = dn_run(step->dev, &op->back_data, slot);
    if (op->unflatten.desc == NULL)
        zero_tails(step->buffer[op->dx[0]].data, in);
    else if (status == TC_OK)
        status = dn_run(step->dev, &op->unflatten, slot);
    return status;
}

/* ---- Any operation ---- */

static tc_status forward_alone(tc_step *step, dn_op *op, int slot)
{
    const dn_value *out = &step->value[op->out];
    const void *a = step->value[op->in[0]].data;
    const dn_lanes *lanes = lanes_of(step, out);

    switch (op->kind) {
    case TC_OP_CONV:
        return dn_run(step->dev, &op->forward, slot);
    case TC_OP_BN:
        dn_bn_forward(step, op);
        return TC_OK;
    case TC_OP_RELU:
        flat_run(step, out, (flat_job){ .one = lanes->relu, .a = a, .y = out->data });
        return TC_OK;
    case TC_OP_ADD:
        flat_run(step, out,
                 (flat_job){ .two = op->relu ? lanes->add_relu : lanes->add,
                             .a = a,
                             .b = step->value[op->in[1]].data,
                             .y = out->data });
        return TC_OK;
    case TC_OP_MAX_POOL:
    case TC_OP_AVG_POOL:
    case TC_OP_GLOBAL_AVG:
        pool_run(step, op, NULL, NULL);
        return TC_OK;
    case TC_OP_CONCAT:
        dn_parallel(step->dev, step->batch, concat_work, &(concat_job){ step, op, false });
        return TC_OK;
    case TC_OP_FC:
        return fc_forward(step, op, slot);
    case TC_OP_LOSS: /* run.c evaluates losses: they need labels and a scale */
    case TC_OP_INPUT:
        return TC_OK;
    }
    return tc_fail(TC_NOSUPPORT, "onednn: node %s: unknown operation %d", op->node->name,
                   (int)op->kind);
}

/* The kind of an operation's work, for profiles; forward and backward stand side by side. */
static dn_work work_of(const dn_op *op, bool back)
{
    switch (op->kind) {
    case TC_OP_CONV:
        return back ? DN_WORK_CONV_DATA : DN_WORK_CONV;
    case TC_OP_BN:
        return back ? DN_WORK_BN_BACK : DN_WORK_BN;
    case TC_OP_MAX_POOL:
    case TC_OP_AVG_POOL:
    case TC_OP_GLOBAL_AVG:
        return back ? DN_WORK_POOL_BACK : DN_WORK_POOL;
    case TC_OP_FC:
        return back ? DN_WORK_FC_BACK : DN_WORK_FC;
    default:
        return back ? DN_WORK_OTHER_BACK : DN_WORK_OTHER;
    }
}

tc_status dn_op_forward(tc_step *step, dn_op *op, int slot)
{
    tc_status status = forward_alone(step, op, slot);

    dn_lap(step, work_of(op, false));
    return status;
}

static tc_status conv_backward(tc_step *step, dn_op *op, int slot)
{
    tc_status status = dn_run(step->dev, &op->back_weights, slot);

    if (status == TC_OK)
        status = dn_run(step->dev, &op->store, slot);
    dn_lap(step, DN_WORK_CONV_WEIGHTS);
    if (status == TC_OK && op->dx[0] >= 0)
        status = dn_run(step->dev, &op->back_data, slot);
    return status;
}

static tc_status backward_alone(tc_step *step, dn_op *op, int slot)
{
    const dn_value *out = &step->value[op->out];
    const void *dy = op->dy < 0 ? NULL : step->buffer[op->dy].data; /* a loss has none */
    const dn_lanes *lanes = lanes_of(step, out);

    switch (op->kind) {
    case TC_OP_CONV:
        return conv_backward(step, op, slot);
    case TC_OP_BN:
        dn_bn_backward(step, op);
        return TC_OK;
    case TC_OP_RELU:
        flat_run(step, out,
                 (flat_job){ .two = lanes->mask,
                             .a = dy,
                             .b = out->data,
                             .y = step->buffer[op->dx[0]].data });
        return TC_OK;
    case TC_OP_ADD:
        if (op->relu)
            flat_run(step, out,
                     (flat_job){ .two = lanes->mask,
                                 .a = dy,
                                 .b = out->data,
                                 .y = step->buffer[op->dz].data });
        return TC_OK;
    case TC_OP_MAX_POOL:
    case TC_OP_AVG_POOL:
    case TC_OP_GLOBAL_AVG:
        if (op->dx[0] >= 0)
            pool_run(step, op, dy, step->buffer[op->dx[0]].data);
        return TC_OK;
    case TC_OP_CONCAT:
        dn_parallel(step->dev, step->batch, concat_work, &(concat_job){ step, op, true });
        return TC_OK;
    case TC_OP_FC:
        return fc_backward(step, op, slot);
    default:
        return TC_OK;
    }
}

tc_status dn_op_backward(tc_step *step, dn_op *op, int slot)
{
    tc_status status = backward_alone(step, op, slot);

    dn_lap(step, work_of(op, true));
    for (int k = 0; k <= TC_NODE_INPUTS;
         k++) { /* other readers of an input have been here before */
        const dn_sum *sum = &op->sum[k];
        const dn_value *in = &step->value[op->in[k < op->n_in ? k : 0]];
        if (sum->dst >= 0)
            flat_run(step, in,
                     (flat_job){ .two = lanes_of(step, in)->add,
                                 .a = step->buffer[sum->a].data,
                                 .b = step->buffer[sum->b].data,
                                 .y = step->buffer[sum->dst].data });
    }
    dn_lap(step, DN_WORK_SUM);
    return status;
}
