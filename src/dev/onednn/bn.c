/*
 * Batch normalisation with its fusions: y = [relu](gamma * (x - mean) / std + beta [+ residual]).
 *
 * Statistics are taken plane by plane in parallel and joined in the order of the pictures, in
 * double, so that results depend on neither the number of threads nor the run.
 */
#include <config.h>

#include "dev/onednn/onednn.h"

#include <math.h>
#include <string.h>

/* What a parallel loop over the planes of one BN needs. */
typedef struct {
    tc_step *step;
    dn_op *op;
    int64_t n;              /* pictures that count: a slice may be short */
    int64_t blocks, pixels; /* blocks of channels in a picture; pixels in a plane */
    dn_mask mask;
    int64_t size; /* bytes of an element */
    const char *x, *residual, *dy;
    char *y, *dz, *dx;
} bn_job;

static bn_job job_of(tc_step *step, dn_op *op)
{
    const dn_layout *l = &step->value[op->in[0]].layout;

    return (bn_job){ .step = step,
                     .op = op,
                     .n = step->slot[step->ran_slot].count,
                     .blocks = (l->c + l->block - 1) / l->block,
                     .pixels = l->h * l->w,
                     .size = dn_size(l->type),
                     .x = step->value[op->in[0]].data,
                     .residual = op->residual >= 0 ? step->value[op->residual].data : NULL,
                     .y = step->value[op->out].data };
}

static dn_bn_block block_of(const dn_op *op, int64_t first)
{
    return (dn_bn_block){ .mean = op->mean + first,
                          .scale = op->scale + first,
                          .shift = op->shift + first,
                          .p = op->p + first,
                          .q = op->q + first,
                          .r = op->r + first };
}

/* Two arrays of `block` doubles for each plane. */
static double *partial_of(const bn_job *job, int64_t plane, int which)
{
    return job->step->partial + (plane * 2 + which) * job->step->block;
}

static void moments_work(void *ctx, int64_t plane)
{
    const bn_job *job = ctx;
    int64_t at = plane * job->pixels * job->step->block * job->size;

    job->step->lanes->moments(job->x + at, job->pixels, partial_of(job, plane, 0),
                              partial_of(job, plane, 1));
}

static void affine_work(void *ctx, int64_t plane)
{
    const bn_job *job = ctx;
    int64_t block = job->step->block, at = plane * job->pixels * block * job->size;
    dn_bn_block bn = block_of(job->op, plane % job->blocks * block);

    job->step->lanes->bn_affine(job->x + at, job->residual ? job->residual + at : NULL, job->y + at,
                                job->pixels, &bn, job->op->relu);
}

/* Join the planes' moments of channel c: mean, and the sum of squared deviations. */
static void join_moments(const bn_job *job, int64_t c, double *mean_p, double *m2_p)
{
    int64_t n = job->n, block = job->step->block, lane = c % block;
    double mean = 0, m2 = 0;

    for (int64_t i = 0; i < n; i++)
        mean += partial_of(job, i * job->blocks + c / block, 0)[lane];
    mean /= (double)n;
    for (int64_t i = 0; i < n; i++) {
        int64_t plane = i * job->blocks + c / block;
        double delta = partial_of(job, plane, 0)[lane] - mean;
        m2 += partial_of(job, plane, 1)[lane] + delta * delta * (double)job->pixels;
    }
    *mean_p = mean;
    *m2_p = m2;
}

void dn_bn_forward(tc_step *step, dn_op *op)
{
    const tc_node *node = op->node;
    bn_job job = job_of(step, op);
    const tc_stat *stat = &step->graph->stat[node->stat];
    float *running_mean = step->stats + stat->offset, *running_var = running_mean + stat->channels;
    const float *gamma = step->weights + step->graph->param[node->weight].offset;
    const float *beta = step->weights + step->graph->param[node->bias].offset;
    bool train = step->mode == TC_FORWARD_TRAIN;
    double count = (double)(job.n * job.pixels);

    if (train)
        dn_parallel(step->dev, job.n * job.blocks, moments_work, &job);
    for (int64_t c = 0; c < stat->channels; c++) {
        double mean = running_mean[c], var = running_var[c];
        if (train) {
            double m2;
            join_moments(&job, c, &mean, &m2);
            var = m2 / count;
            running_mean[c] =
                (float)((1 - node->momentum) * running_mean[c] + node->momentum * mean);
            running_var[c] =
                (float)((1 - node->momentum) * running_var[c] + node->momentum * m2 / (count - 1));
        }
        double inv_std = 1 / sqrt(var + node->eps);
        op->mean[c] = (float)mean;
        op->inv_std[c] = (float)inv_std;
        op->scale[c] = (float)(gamma[c] * inv_std);
        op->shift[c] = beta[c];
    } /* beyond the channels all is 0 and stays 0: the padding's output is 0 */
    dn_parallel(step->dev, step->batch * job.blocks, affine_work, &job);
}

static void sums_work(void *ctx, int64_t plane)
{
    const bn_job *job = ctx;
    int64_t block = job->step->block, at = plane * job->pixels * block * job->size;
    dn_bn_block bn = block_of(job->op, plane % job->blocks * block);

    job->step->lanes->bn_sums(job->dy + at, job->x + at, job->y + at, job->dz + at, job->pixels,
                              &bn, job->mask, partial_of(job, plane, 0), partial_of(job, plane, 1));
}

static void apply_work(void *ctx, int64_t plane)
{
    const bn_job *job = ctx;
    int64_t block = job->step->block, at = plane * job->pixels * block * job->size;
    dn_bn_block bn = block_of(job->op, plane % job->blocks * block);

    job->step->lanes->bn_apply(job->dy + at, job->x + at, job->dx + at, job->pixels, &bn,
                               job->mask);
}

/* Pictures beyond a short slice have no gradient. */
static void zero_rest(const bn_job *job, char *data)
{
    int64_t picture = job->blocks * job->pixels * job->step->block * job->size;

    memset(data + job->n * picture, 0,
           (size_t)((job->step->batch - job->n) * picture));
}

void dn_bn_backward(tc_step *step, dn_op *op)
{
    const tc_node *node = op->node;
    bn_job job = job_of(step, op);
    float *dgamma = step->gradients + step->graph->param[node->weight].offset;
    float *dbeta = step->gradients + step->graph->param[node->bias].offset;
    int64_t channels = step->graph->stat[node->stat].channels, block = step->block;
    bool train = step->mode == TC_FORWARD_TRAIN;
    double count = (double)(job.n * job.pixels);

    job.dy = step->buffer[op->dy].data;
    job.dz = step->buffer[op->dz].data;
    job.mask = op->residual >= 0 ? DN_MASK_OUTPUT : op->relu ? DN_MASK_INPUT : DN_MASK_NONE;
    dn_parallel(step->dev, job.n * job.blocks, sums_work, &job);
    if (job.mask == DN_MASK_OUTPUT)
        zero_rest(&job, job.dz);
    for (int64_t c = 0; c < channels; c++) {
        double sum_g = 0, sum_gx = 0, inv_std = op->inv_std[c];
        for (int64_t i = 0; i < job.n; i++) {
            sum_g += partial_of(&job, i * job.blocks + c / block, 0)[c % block];
            sum_gx += partial_of(&job, i * job.blocks + c / block, 1)[c % block];
        }
        dgamma[c] = (float)(sum_gx * inv_std);
        dbeta[c] = (float)sum_g;
        op->p[c] = op->scale[c];
        op->q[c] = train ? (float)(-op->scale[c] * inv_std * inv_std * sum_gx / count) : 0;
        op->r[c] = train ? (float)(-op->scale[c] * sum_g / count) : 0;
    }
    if (op->dx[0] < 0)
        return;
    job.dy = job.dz;
    job.dx = step->buffer[op->dx[0]].data;
    if (job.mask == DN_MASK_OUTPUT)
        job.mask = DN_MASK_NONE; /* dz is masked already */
    dn_parallel(step->dev, job.n * job.blocks, apply_work, &job);
    zero_rest(&job, job.dx);
}
