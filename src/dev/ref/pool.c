/* Max, average and global average pools. */
#include <config.h>

#include "dev/ref/step.h"

/* One window: the rows [y0, y1) and columns [x0, x1) of the picture, and what an average divides
 * by: padding counts, but not what lies beyond the padded edge (ceil mode). */
typedef struct {
    int64_t y0, y1, x0, x1;
    double area;
} window;

static void clip(int64_t start, int64_t length, int64_t size, int64_t pad, int64_t *lo, int64_t *hi,
                 int64_t *extent)
{
    int64_t end = start + length;

    if (end > size + pad)
        end = size + pad;
    *extent = end - start;
    *lo = start < 0 ? 0 : start;
    *hi = end > size ? size : end;
}

static window window_at(const tc_node *node, const tc_node *in, int64_t oy, int64_t ox)
{
    window v;
    int64_t height, width;

    clip(oy * node->stride_h - node->pad_h, node->kh, in->h, node->pad_h, &v.y0, &v.y1, &height);
    clip(ox * node->stride_w - node->pad_w, node->kw, in->w, node->pad_w, &v.x0, &v.x1, &width);
    v.area = (double)(height * width);
    return v;
}

void REF(max_pool_forward)(tc_step *step, int i)
{
    const tc_node *node = ref_at(step, i), *in = ref_at(step, node->in[0]);
    real *out = step->node[i].out;
    int32_t *winner = step->node[i].winner;

    for (int64_t plane = 0; plane < step->count * node->c; plane++) {
        const real *x = ref_in(step, i, 0) + plane * in->h * in->w;
        for (int64_t oy = 0; oy < node->h; oy++)
            for (int64_t ox = 0; ox < node->w; ox++) {
                window v = window_at(node, in, oy, ox);
                int64_t best = v.y0 * in->w + v.x0; /* of equals the first wins; NaN goes through */
                for (int64_t y = v.y0; y < v.y1; y++)
                    for (int64_t p = y * in->w + v.x0; p < y * in->w + v.x1; p++)
                        if (x[p] > x[best] || x[p] != x[p])
                            best = p;
                *out++ = x[best];
                if (winner != NULL)
                    *winner++ = (int32_t)best;
            }
    }
}

void REF(max_pool_backward)(tc_step *step, int i)
{
    const tc_node *node = ref_at(step, i), *in = ref_at(step, node->in[0]);
    const real *dout = step->node[i].grad;
    const int32_t *winner = step->node[i].winner;
    real *din = ref_in_grad(step, i, 0);

    for (int64_t plane = 0; din != NULL && plane < step->count * node->c; plane++)
        for (int64_t p = 0; p < node->h * node->w; p++)
            din[plane * in->h * in->w + *winner++] += *dout++;
}

void REF(avg_pool_forward)(tc_step *step, int i)
{
    const tc_node *node = ref_at(step, i), *in = ref_at(step, node->in[0]);
    real *out = step->node[i].out;

    for (int64_t plane = 0; plane < step->count * node->c; plane++) {
        const real *x = ref_in(step, i, 0) + plane * in->h * in->w;
        for (int64_t oy = 0; oy < node->h; oy++)
            for (int64_t ox = 0; ox < node->w; ox++) {
                window v = window_at(node, in, oy, ox);
                double sum = 0.0;
                for (int64_t y = v.y0; y < v.y1; y++)
                    for (int64_t p = y * in->w + v.x0; p < y * in->w + v.x1; p++)
                        sum += x[p];
                *out++ = (real)(sum / v.area);
            }
    }
}

void REF(avg_pool_backward)(tc_step *step, int i)
{
    const tc_node *node = ref_at(step, i), *in = ref_at(step, node->in[0]);
    const real *dout = step->node[i].grad;
    real *din = ref_in_grad(step, i, 0);

    for (int64_t plane = 0; din != NULL && plane < step->count * node->c; plane++) {
        real *dx = din + plane * in->h * in->w;
        for (int64_t oy = 0; oy < node->h; oy++)
            for (int64_t ox = 0; ox < node->w; ox++) {
                window v = window_at(node, in, oy, ox);
                real share = (real)(*dout++ / v.area);
                for (int64_t y = v.y0; y < v.y1; y++)
                    for (int64_t p = y * in->w + v.x0; p < y * in->w + v.x1; p++)
                        dx[p] += share;
            }
    }
}

void REF(global_avg_forward)(tc_step *step, int i)
{
    const tc_node *in = ref_at(step, ref_at(step, i)->in[0]);
    const real *x = ref_in(step, i, 0);
    int64_t places = in->h * in->w;

    for (int64_t plane = 0; plane < step->count * in->c; plane++) {
        double sum = 0.0;
        for (int64_t p = 0; p < places; p++)
            sum += *x++;
        step->node[i].out[plane] = (real)(sum / (double)places);
    }
}

void REF(global_avg_backward)(tc_step *step, int i)
{
    const tc_node *in = ref_at(step, ref_at(step, i)->in[0]);
    real *dx = ref_in_grad(step, i, 0);
    int64_t places = in->h * in->w;

    for (int64_t plane = 0; dx != NULL && plane < step->count * in->c; plane++) {
        real share = (real)((double)step->node[i].grad[plane] / (double)places);
        for (int64_t p = 0; p < places; p++)
            *dx++ += share;
    }
}
