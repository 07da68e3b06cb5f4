/* Convolution as im2col and a blocked matrix product, picture by picture; fc likewise. */
#include <config.h>

#include "dev/ref/step.h"

#include <string.h>

/* One source, the widest vectors of the machine that runs it. */
#if defined __x86_64__ && defined __gnu_linux__ && defined __has_attribute
#if __has_attribute(target_clones)
#define WIDEST __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
#endif
#ifndef WIDEST
#define WIDEST
#endif

#define BLOCK_N 512 /* columns: four rows of C and of B stay in the first-level cache */
#define BLOCK_K 64  /* rows of B: the block of B stays in the second */

/* A matrix whose element (i,j) is data[i*row + j*col]. */
typedef struct {
    const real *data;
    int64_t row, col;
} matrix;

/* c[0..3][0..n) += a (4x4) * b[0..3][0..n) */
static inline __attribute__((always_inline)) void kernel_4x4(int64_t n, const real a[4][4],
                                                             const real *restrict b, int64_t b_row,
                                                             real *restrict c, int64_t c_row)
{
    const real *restrict b0 = b, *restrict b1 = b + b_row, *restrict b2 = b + 2 * b_row,
                         *restrict b3 = b + 3 * b_row;
    real *restrict c0 = c, *restrict c1 = c + c_row, *restrict c2 = c + 2 * c_row,
                   *restrict c3 = c + 3 * c_row;

#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) {
        real x0 = b0[j], x1 = b1[j], x2 = b2[j], x3 = b3[j];
        c0[j] += a[0][0] * x0 + a[0][1] * x1 + a[0][2] * x2 + a[0][3] * x3;
        c1[j] += a[1][0] * x0 + a[1][1] * x1 + a[1][2] * x2 + a[1][3] * x3;
        c2[j] += a[2][0] * x0 + a[2][1] * x1 + a[2][2] * x2 + a[2][3] * x3;
        c3[j] += a[3][0] * x0 + a[3][1] * x1 + a[3][2] * x2 + a[3][3] * x3;
    }
}

/* c[0..n) += a * b[0..n): the edges of a product */
static inline __attribute__((always_inline)) void
kernel_1x1(int64_t n, real a, const real *restrict b, real *restrict c)
{
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++)
        c[j] += a * b[j];
}

/* C (m,n) += A (m,k) * B (k,n); rows of B and C are contiguous.  The order of the sums depends on
 * the shape alone. */
WIDEST static void multiply(int64_t m, int64_t n, int64_t k, matrix a, const real *b, int64_t b_row,
                            real *c, int64_t c_row)
{
    for (int64_t j0 = 0; j0 < n; j0 += BLOCK_N) {
        int64_t nb = n - j0 < BLOCK_N ? n - j0 : BLOCK_N;
        for (int64_t k0 = 0; k0 < k; k0 += BLOCK_K) {
            int64_t k1 = k - k0 < BLOCK_K ? k : k0 + BLOCK_K, i = 0;
            for (; i + 4 <= m; i += 4) {
                int64_t p = k0;
                for (; p + 4 <= k1; p += 4) {
                    real part[4][4];
                    for (int r = 0; r < 4; r++)
                        for (int s = 0; s < 4; s++)
                            part[r][s] = a.data[(i + r) * a.row + (p + s) * a.col];
                    kernel_4x4(nb, part, b + p * b_row + j0, b_row, c + i * c_row + j0, c_row);
                }
                for (; p < k1; p++)
                    for (int r = 0; r < 4; r++)
                        kernel_1x1(nb, a.data[(i + r) * a.row + p * a.col], b + p * b_row + j0,
                                   c + (i + r) * c_row + j0);
            }
            for (; i < m; i++)
                for (int64_t p = k0; p < k1; p++)
                    kernel_1x1(nb, a.data[i * a.row + p * a.col], b + p * b_row + j0,
                               c + i * c_row + j0);
        }
    }
}

/* Geometry of one convolution. */
typedef struct {
    const tc_node *node;
    int64_t c, h, w;      /* input */
    int64_t out, oh, ow;  /* output */
    int64_t taps, places; /* rows and columns of the im2col matrix: c*kh*kw and oh*ow */
    bool plain;           /* 1x1, stride 1, no padding: the picture is its own im2col matrix */
} geometry;

static geometry measure(const tc_graph *graph, const tc_node *node)
{
    const tc_node *in = &graph->node[node->in[0]];

    return (geometry){
        .node = node,
        .c = in->c,
        .h = in->h,
        .w = in->w,
        .out = node->c,
        .oh = node->h,
        .ow = node->w,
        .taps = in->c * node->kh * node->kw,
        .places = node->h * node->w,
        .plain = node->kh == 1 && node->kw == 1 && node->stride_h == 1 && node->stride_w == 1 &&
                 node->pad_h == 0 && node->pad_w == 0,
    };
}

int64_t REF(conv_scratch)(const tc_graph *graph, const tc_node *node)
{
    geometry g = measure(graph, node);

    return g.taps * g.places;
}

/* Output columns [lo, hi) whose tap x falls inside the picture. */
static void inside(const geometry *g, int64_t x, int64_t *lo, int64_t *hi)
{
    int64_t stride = g->node->stride_w, first = g->node->pad_w - x, last = g->w - 1 + first;

    *lo = first <= 0 ? 0 : (first + stride - 1) / stride;
    *hi = last < 0 ? 0 : last / stride + 1;
    if (*hi > g->ow)
        *hi = g->ow;
    if (*lo > *hi)
        *lo = *hi;
}

/* col (taps, places) from image (c,h,w), or, adding = true, the reverse: image += col, summed where
 * windows overlap. */
static void im2col(const geometry *g, real *restrict image, real *restrict col, bool adding)
{
    const tc_node *n = g->node;
    int64_t lo, hi;

    for (int64_t c = 0; c < g->c; c++)
        for (int64_t y = 0; y < n->kh; y++)
            for (int64_t x = 0; x < n->kw; x++) {
                inside(g, x, &lo, &hi);
                for (int64_t oy = 0; oy < g->oh; oy++, col += g->ow) {
                    int64_t iy = oy * n->stride_h - n->pad_h + y;
                    bool row = iy >= 0 && iy < g->h;
                    real *line = image + (c * g->h + (row ? iy : 0)) * g->w;
                    int64_t ix = lo * n->stride_w - n->pad_w + x;
                    if (adding) {
                        for (int64_t ox = lo; row && ox < hi; ox++, ix += n->stride_w)
                            line[ix] += col[ox];
                        continue;
                    }
                    memset(col, 0, (size_t)g->ow * sizeof *col);
                    for (int64_t ox = lo; row && ox < hi; ox++, ix += n->stride_w)
                        col[ox] = line[ix];
                }
            }
}

/* row (places, taps): the transpose of im2col's matrix, one window a row. */
static void im2row(const geometry *g, const real *restrict image, real *restrict row)
{
    const tc_node *n = g->node;

    for (int64_t oy = 0; oy < g->oh; oy++)
        for (int64_t ox = 0; ox < g->ow; ox++)
            for (int64_t c = 0; c < g->c; c++)
                for (int64_t y = 0; y < n->kh; y++) {
                    int64_t iy = oy * n->stride_h - n->pad_h + y;
                    int64_t ix = ox * n->stride_w - n->pad_w;
                    const real *line = image + (c * g->h + iy) * g->w;
                    bool inside_y = iy >= 0 && iy < g->h;
                    for (int64_t x = 0; x < n->kw; x++, ix++)
                        *row++ = inside_y && ix >= 0 && ix < g->w ? line[ix] : (real)0;
                }
}

void REF(conv_forward)(tc_step *step, int i)
{
    const tc_node *node = ref_at(step, i);
    geometry g = measure(step->graph, node);
    const real *weight = ref_param(step, step->weights, node->weight); /* (out, taps) */
    const real *bias = ref_param(step, step->weights, node->bias);     /* (out) */

    for (int64_t n = 0; n < step->count; n++) {
        real *image = ref_in(step, i, 0) + n * g.c * g.h * g.w;
        real *out = step->node[i].out + n * g.out * g.places; /* (out, places) */
        real *col = g.plain ? image : step->scratch;
        if (!g.plain)
            im2col(&g, image, col, false);
        for (int64_t o = 0; o < g.out; o++)
            for (int64_t p = 0; p < g.places; p++)
                out[o * g.places + p] = bias ? bias[o] : (real)0;
        multiply(g.out, g.places, g.taps, (matrix){ weight, g.taps, 1 }, col, g.places, out,
                 g.places);
    }
}

void REF(conv_backward)(tc_step *step, int i)
{
    const tc_node *node = ref_at(step, i);
    geometry g = measure(step->graph, node);
    const real *weight = ref_param(step, step->weights, node->weight);
    real *dweight = ref_param(step, step->gradients, node->weight);
    real *dbias = ref_param(step, step->gradients, node->bias);
    real *din = ref_in_grad(step, i, 0);

    for (int64_t n = 0; n < step->count; n++) {
        const real *image = ref_in(step, i, 0) + n * g.c * g.h * g.w;
        const real *dout = step->node[i].grad + n * g.out * g.places;
        for (int64_t o = 0; dbias != NULL && o < g.out; o++) {
            double sum = 0.0;
            for (int64_t p = 0; p < g.places; p++)
                sum += dout[o * g.places + p];
            dbias[o] += (real)sum;
        }
        im2row(&g, image, step->scratch);
        multiply(g.out, g.taps, g.places, (matrix){ dout, g.places, 1 }, step->scratch, g.taps,
                 dweight, g.taps);
        if (din == NULL)
            continue;
        real *dimage = din + n * g.c * g.h * g.w;
        real *dcol = g.plain ? dimage : step->scratch;
        if (!g.plain)
            memset(dcol, 0, (size_t)(g.taps * g.places) * sizeof *dcol);
        multiply(g.taps, g.places, g.out, (matrix){ weight, 1, g.taps }, dout, g.places, dcol,
                 g.places);
        if (!g.plain)
            im2col(&g, dimage, dcol, true);
    }
}

int64_t REF(fc_scratch)(const tc_graph *graph, const tc_node *node, int64_t max_batch)
{
    const tc_node *in = &graph->node[node->in[0]];

    return (in->c * in->h * in->w + node->c) * max_batch;
}

void REF(fc_forward)(tc_step *step, int i)
{
    const tc_node *node = ref_at(step, i);
    int64_t n = step->count, features = ref_size(step, node->in[0]), outs = node->c;
    const real *in = ref_in(step, i, 0);                               /* (n, features) */
    const real *weight = ref_param(step, step->weights, node->weight); /* (outs, features) */
    const real *bias = ref_param(step, step->weights, node->bias);
    real *turned = step->scratch;          /* (features, n) */
    real *product = turned + features * n; /* (outs, n) */

    for (int64_t f = 0; f < features; f++)
        for (int64_t p = 0; p < n; p++)
            turned[f * n + p] = in[p * features + f];
    for (int64_t o = 0; o < outs; o++)
        for (int64_t p = 0; p < n; p++)
            product[o * n + p] = bias[o];
    multiply(outs, n, features, (matrix){ weight, features, 1 }, turned, n, product, n);
    for (int64_t p = 0; p < n; p++)
        for (int64_t o = 0; o < outs; o++)
            step->node[i].out[p * outs + o] = product[o * n + p];
}

void REF(fc_backward)(tc_step *step, int i)
{
    const tc_node *node = ref_at(step, i);
    int64_t n = step->count, features = ref_size(step, node->in[0]), outs = node->c;
    const real *in = ref_in(step, i, 0), *dout = step->node[i].grad; /* (n, outs) */
    const real *weight = ref_param(step, step->weights, node->weight);
    real *dbias = ref_param(step, step->gradients, node->bias);
    real *din = ref_in_grad(step, i, 0);

    for (int64_t p = 0; p < n; p++)
        for (int64_t o = 0; o < outs; o++)
            dbias[o] += dout[p * outs + o];
    multiply(outs, features, n, (matrix){ dout, 1, outs }, in, features,
             ref_param(step, step->gradients, node->weight), features);
    if (din != NULL)
        multiply(n, features, outs, (matrix){ dout, outs, 1 }, weight, features, din, features);
}
