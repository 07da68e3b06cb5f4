/* Batch normalisation (Ioffe and Szegedy 2015) over N,H,W. */
#include <config.h>

#include "dev/ref/step.h"

#include <math.h>

#define LANES                                                                          \
    8 /* partial sums, so that the compiler may use vectors without changing the order \
       */

/* Shape of one BN: n pictures of `places` values in each of c channels. */
typedef struct {
    int64_t n, c, places;
} extent;

static extent measure(const tc_step *step, const tc_node *node)
{
    return (extent){ .n = step->count, .c = node->c, .places = node->h * node->w };
}

/* Sum of (x - centre)^power, power 1 or 2, over a channel; two passes lose no digits. */
static double moment(const real *x, extent e, int64_t channel, double centre, int power)
{
    double part[LANES] = { 0.0 }, sum = 0.0;

    for (int64_t n = 0; n < e.n; n++) {
        const real *plane = x + (n * e.c + channel) * e.places;
        int64_t p = 0;
        for (; p + LANES <= e.places; p += LANES)
            for (int l = 0; l < LANES; l++) {
                double d = (double)plane[p + l] - centre;
                part[l] += power == 2 ? d * d : d;
            }
        for (; p < e.places; p++) {
            double d = (double)plane[p] - centre;
            part[0] += power == 2 ? d * d : d;
        }
    }
    for (int l = 0; l < LANES; l++)
        sum += part[l];
    return sum;
}

/* The batch's statistics of one channel; moves the running ones. */
static void batch_statistics(tc_step *step, const tc_node *node, int64_t c, const real *x, extent e,
                             double *mean_p, double *variance_p)
{
    const tc_stat *stat = &step->graph->stat[node->stat];
    real *running_mean = &step->stats[stat->offset + c];
    real *running_variance = &step->stats[stat->offset + stat->channels + c];
    double values = (double)(e.n * e.places), m = node->momentum;
    double mean = moment(x, e, c, 0.0, 1) / values;
    double squares = moment(x, e, c, mean, 2);

    *running_mean = (real)((1.0 - m) * *running_mean + m * mean);
    *running_variance = (real)((1.0 - m) * *running_variance + m * squares / (values - 1.0));
    *mean_p = mean;
    *variance_p = squares / values;
}

void REF(bn_forward)(tc_step *step, int i)
{
    const tc_node *node = ref_at(step, i);
    const tc_stat *stat = &step->graph->stat[node->stat];
    ref_node *state = &step->node[i];
    extent e = measure(step, node);
    const real *x = ref_in(step, i, 0);
    const real *gamma = ref_param(step, step->weights, node->weight);
    const real *beta = ref_param(step, step->weights, node->bias);

    for (int64_t c = 0; c < e.c; c++) {
        double mean = step->stats[stat->offset + c];
        double variance = step->stats[stat->offset + stat->channels + c];
        if (step->mode == TC_FORWARD_TRAIN)
            batch_statistics(step, node, c, x, e, &mean, &variance);
        state->mean[c] = (real)mean;
        state->invdev[c] = (real)(1.0 / sqrt(variance + node->eps));
        real centre = state->mean[c], slope = gamma[c] * state->invdev[c], shift = beta[c];
        for (int64_t n = 0; n < e.n; n++) {
            int64_t plane = (n * e.c + c) * e.places;
            for (int64_t p = plane; p < plane + e.places; p++)
                state->out[p] = slope * (x[p] - centre) + shift;
        }
    }
}

/* Sum of dy and of dy * (x - centre) over a channel. */
static void backward_sums(const real *x, const real *dy, extent e, int64_t c, double centre,
                          double *sum_p, double *product_p)
{
    double sum = 0.0, product = 0.0;

    for (int64_t n = 0; n < e.n; n++) {
        int64_t plane = (n * e.c + c) * e.places;
        for (int64_t p = plane; p < plane + e.places; p++) {
            sum += (double)dy[p];
            product += (double)dy[p] * ((double)x[p] - centre);
        }
    }
    *sum_p = sum;
    *product_p = product;
}

void REF(bn_backward)(tc_step *step, int i)
{
    const tc_node *node = ref_at(step, i);
    const ref_node *state = &step->node[i];
    extent e = measure(step, node);
    const real *x = ref_in(step, i, 0), *dy = state->grad;
    const real *gamma = ref_param(step, step->weights, node->weight);
    real *dgamma = ref_param(step, step->gradients, node->weight);
    real *dbeta = ref_param(step, step->gradients, node->bias);
    real *dx = ref_in_grad(step, i, 0);
    double values = (double)(e.n * e.places);

    for (int64_t c = 0; c < e.c; c++) {
        double sum, product, centre = state->mean[c], invdev = state->invdev[c];
        backward_sums(x, dy, e, c, centre, &sum, &product);
        dbeta[c] += (real)sum;
        dgamma[c] += (real)(product * invdev);
        if (dx == NULL)
            continue;
        /* dx = slope * (dy - mean(dy) - xhat * mean(dy * xhat)); the statistics of an evaluation
         * are constants, and the two means fall away. */
        bool train = step->mode == TC_FORWARD_TRAIN;
        real slope = (real)(gamma[c] * invdev);
        real level = train ? (real)(sum / values) : (real)0;
        real tilt = train ? (real)(product * invdev * invdev / values) : (real)0;
        for (int64_t n = 0; n < e.n; n++) {
            int64_t plane = (n * e.c + c) * e.places;
            for (int64_t p = plane; p < plane + e.places; p++)
                dx[p] += slope * (dy[p] - level - tilt * (x[p] - (real)centre));
        }
    }
}
