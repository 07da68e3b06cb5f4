#include <config.h>

#include "image/image.h"

#include "image/resize_kernel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct tc_resizer {
    const tc_resize_kernel *kernel;
    tc_resize_axis x, y;
    int16_t *scratch; /* of the kernel */
    float *row;       /* (in.w,3): a row after the vertical pass, where taps are many */
    int64_t room_scratch, room_row;
};

tc_status tc_resizer_create(tc_resizer **resizer_p)
{
    tc_status status = tc_alloc(1, sizeof **resizer_p, "resizer", resizer_p);

    if (status == TC_OK)
        (*resizer_p)->kernel = tc_resize_kernel_at(0);
    return status;
}

const char *tc_resize_kernel_name(int i)
{
    const tc_resize_kernel *kernel = tc_resize_kernel_at(i);

    return kernel == NULL ? NULL : kernel->name;
}

tc_status tc_resizer_use(tc_resizer *resizer, const char *name)
{
    const tc_resize_kernel *kernel;
    char known[128] = "";
    size_t n = 0;

    for (int i = 0; (kernel = tc_resize_kernel_at(i)) != NULL; i++) {
        if (strcmp(kernel->name, name) == 0) {
            resizer->kernel = kernel;
            resizer->x.out = 0; /* kernels want other plans */
            return TC_OK;
        }
        if (n < sizeof known)
            n += (size_t)snprintf(known + n, sizeof known - n, " %s", kernel->name);
    }
    return tc_fail(TC_INVAL, "no resize kernel \"%s\" for this processor, which has:%s", name,
                   known);
}

static void free_axis(tc_resize_axis *a)
{
    tc_free(a->first);
    tc_free(a->weight);
    tc_free(a->fixed);
    tc_free(a->base);
    tc_free(a->index);
    tc_free(a->block);
}

void tc_resizer_destroy(tc_resizer *resizer)
{
    if (resizer == NULL)
        return;
    free_axis(&resizer->x);
    free_axis(&resizer->y);
    tc_free(resizer->scratch);
    tc_free(resizer->row);
    tc_free(resizer);
}

/* Make *ptr_p hold `count` elements; its content is lost.  Grows by half, so that growing ends. */
static tc_status grow(int64_t count, size_t size, int64_t *room, void *ptr_p)
{
    void *old, *fresh;

    if (count <= *room)
        return TC_OK;
    count += count / 2;
    tc_status status = tc_alloc(count, size, "scratch of the resizer", &fresh);
    if (status != TC_OK)
        return status;
    memcpy(&old, ptr_p, sizeof old);
    tc_free(old);
    memcpy(ptr_p, &fresh, sizeof fresh);
    *room = count;
    return TC_OK;
}

/* Half the width of the filter, in input pixels: one output pixel, but at least one input pixel. */
static double support_of(double span, int64_t out)
{
    double scale = span / (double)out;

    return scale > 1.0 ? scale : 1.0;
}

double tc_resize_reach(double from, int64_t to)
{
    return support_of(from, to);
}

/* A triangle, cut at the picture's border and normalised: Pillow's BILINEAR. */
static void fill(tc_resize_axis *a)
{
    double scale = a->span / (double)a->out, support = support_of(a->span, a->out);
    float narrow = (float)(1.0 / support);

    for (int64_t i = 0; i < a->out; i++) {
        double center = a->from + ((double)i + 0.5) * scale;
        int64_t first = (int64_t)floor(center - support + 0.5), at = i;
        if (first > a->in - a->taps)
            first = a->in - a->taps;
        if (first < 0)
            first = 0;
        if (a->mirrored)
            at = a->out - 1 - i;
        float *w = a->weight + at * a->taps, sum = 0.0f;
        float away = (float)((double)first + 0.5 - center);
        for (int64_t k = 0; k < a->taps; k++) {
            float v = 1.0f - fabsf((away + (float)k) * narrow);
            w[k] = v > 0.0f ? v : 0.0f;
            sum += w[k];
        }
        for (int64_t k = 0; k < a->taps; k++)
            w[k] /= sum;
        a->first[at] = first;
    }
}

/* Weights as integers that add up to 1.0: what rounding takes from one, the next one gets. */
static void fix(tc_resize_axis *a)
{
    for (int64_t i = 0; i < a->out; i++) {
        const float *w = a->weight + i * a->taps;
        int16_t *fixed = a->fixed + i * 2 * a->pairs;
        float sum = 0.5f;
        int32_t given = 0;
        fixed[2 * a->pairs - 1] = 0;
        for (int64_t k = 0; k < a->taps; k++) {
            sum += w[k] * (float)(TC_RESIZE_ONE + 1);
            int32_t upto = k == a->taps - 1 ? TC_RESIZE_ONE + 1 : (int32_t)sum;
            int32_t v = upto - given;
            given = upto;
            fixed[k] = (int16_t)(v > TC_RESIZE_ONE ? TC_RESIZE_ONE : v);
        }
    }
}

/* The same, for output pixels in blocks; none where one of them looks too far. */
static void block(tc_resize_axis *a)
{
    enum { BLOCK = TC_RESIZE_BLOCK };
    int64_t blocks = (a->out + BLOCK - 1) / BLOCK, n = 2 * a->pairs;

    a->blocks = 0;
    memset(a->block, 0, (size_t)(blocks * n * BLOCK) * sizeof *a->block);
    for (int64_t b = 0; b < blocks; b++) {
        int64_t i0 = b * BLOCK, count = a->out - i0 < BLOCK ? a->out - i0 : BLOCK;
        int64_t base = a->first[a->mirrored ? i0 + count - 1 : i0];
        int16_t *index = a->index + 2 * i0, *to = a->block + b * n * BLOCK;
        for (int64_t i = 0; i < BLOCK; i++) {
            int64_t at = i < count ? a->first[i0 + i] - base : 0;
            if (at + n > TC_RESIZE_REACH)
                return;
            index[2 * i] = (int16_t)at;
            index[2 * i + 1] = (int16_t)(at + 1);
        }
        for (int64_t i = 0; i < count; i++)
            for (int64_t k = 0; k < a->pairs; k++)
                memcpy(to + (k * BLOCK + i) * 2, a->fixed + (i0 + i) * n + 2 * k, 4);
        a->base[b] = base;
    }
    a->blocks = blocks;
}

/* Memory for a plan of `out` pixels from `taps` each. */
static tc_status reserve(tc_resize_axis *a, int64_t out, int64_t taps, bool by_blocks)
{
    int64_t blocks = (out + TC_RESIZE_BLOCK - 1) / TC_RESIZE_BLOCK, n = taps + taps % 2;
    int64_t wide = 2 * TC_RESIZE_BLOCK * blocks;

    tc_status status = grow(out, sizeof *a->first, &a->room[0], &a->first);
    if (status == TC_OK)
        status = grow(out * taps, sizeof *a->weight, &a->room[1], &a->weight);
    if (status == TC_OK && taps <= TC_RESIZE_TAPS)
        status = grow(out * n, sizeof *a->fixed, &a->room[2], &a->fixed);
    if (!by_blocks || taps > TC_RESIZE_TAPS)
        return status;
    if (status == TC_OK)
        status = grow(blocks, sizeof *a->base, &a->room[3], &a->base);
    if (status == TC_OK)
        status = grow(wide, sizeof *a->index, &a->room[4], &a->index);
    if (status == TC_OK)
        status = grow(wide * n / 2, sizeof *a->block, &a->room[5], &a->block);
    return status;
}

static tc_status plan_axis(tc_resize_axis *a, int64_t in, double from, double span, int64_t out,
                           bool mirrored, bool by_blocks)
{
    if (a->out == out && a->in == in && a->from == from && a->span == span &&
        a->mirrored == mirrored)
        return TC_OK;
    int64_t taps = (int64_t)ceil(2.0 * support_of(span, out)); /* inside the triangle */
    if (taps > in)
        taps = in;
    a->out = 0;
    tc_status status = reserve(a, out, taps, by_blocks);
    if (status != TC_OK)
        return status;
    a->in = in;
    a->out = out;
    a->from = from;
    a->span = span;
    a->mirrored = mirrored;
    a->taps = taps;
    a->pairs = (taps + 1) / 2;
    a->blocks = 0;
    fill(a);
    if (taps <= TC_RESIZE_TAPS)
        fix(a);
    if (taps <= TC_RESIZE_TAPS && by_blocks)
        block(a);
    return TC_OK;
}

/* Many taps: their roundings would add up, so in floats.  row (n) = sum over k of weight[k] * in[k]
 * (n) u8, rows `stride` apart. */
static void blend_rows(const uint8_t *restrict in, int64_t stride, const float *restrict weight,
                       int64_t taps, int64_t n, float *restrict row)
{
    memset(row, 0, (size_t)n * sizeof *row);
    for (int64_t k = 0; k < taps; k++) {
        const uint8_t *restrict from = in + k * stride;
        for (int64_t i = 0; i < n; i++)
            row[i] += weight[k] * (float)from[i];
    }
}

/* out (a->out,3) u8 from row (a->in,3). */
static void blend_columns(const float *row, const tc_resize_axis *a, uint8_t *out)
{
    for (int64_t i = 0; i < a->out; i++, out += 3) {
        const float *from = row + 3 * a->first[i], *weight = a->weight + i * a->taps;
        float sum[3] = { 0.5f, 0.5f, 0.5f }; /* rounds */
        for (int64_t k = 0; k < a->taps; k++)
            for (int c = 0; c < 3; c++)
                sum[c] += weight[k] * from[3 * k + c];
        for (int c = 0; c < 3; c++)
            out[c] = (uint8_t)(sum[c] < 255.0f ? sum[c] : 255.0f);
    }
}

static tc_status resize_many(tc_resizer *r, const tc_raster *in, const tc_raster *out)
{
    const tc_resize_axis *y = &r->y;
    tc_status status = grow(3 * in->w, sizeof *r->row, &r->room_row, &r->row);

    for (int64_t i = 0; status == TC_OK && i < out->h; i++) {
        blend_rows(in->data + y->first[i] * in->stride, in->stride, y->weight + i * y->taps,
                   y->taps, 3 * in->w, r->row);
        blend_columns(r->row, &r->x, out->data + i * out->stride);
    }
    return status;
}

/* Nothing to filter: copy the part of `in` from (x,y) on, or mirror it. */
static void copy(const tc_raster *in, int64_t x0, int64_t y0, const tc_raster *out, bool flip)
{
    for (int64_t y = 0; y < out->h; y++) {
        const uint8_t *from = in->data + (y0 + y) * in->stride + 3 * x0;
        uint8_t *to = out->data + y * out->stride;
        if (!flip)
            memcpy(to, from, (size_t)out->w * 3);
        else
            for (int64_t x = 0; x < out->w; x++)
                memcpy(to + 3 * (out->w - 1 - x), from + 3 * x, 3);
    }
}

tc_status tc_resize_box(tc_resizer *resizer, const tc_raster *in, tc_box box, const tc_raster *out,
                        bool flip)
{
    /* Written so that a NaN is refused. */
    bool inside = box.x >= 0.0 && box.y >= 0.0 && box.w > 0.0 && box.h > 0.0 &&
                  box.x + box.w <= (double)in->w && box.y + box.h <= (double)in->h;
    if (!inside || in->w < 1 || in->h < 1 || out->w < 1 || out->h < 1)
        return tc_fail(TC_INVAL, "cannot resize %g x %g at (%g, %g) of %lld x %lld to %lld x %lld",
                       box.w, box.h, box.x, box.y, (long long)in->w, (long long)in->h,
                       (long long)out->w, (long long)out->h);
    if (box.w == (double)out->w && box.h == (double)out->h && box.x == floor(box.x) &&
        box.y == floor(box.y)) {
        copy(in, (int64_t)box.x, (int64_t)box.y, out, flip);
        return TC_OK;
    }
    tc_resize_axis *x = &resizer->x, *y = &resizer->y;
    tc_status status = plan_axis(x, in->w, box.x, box.w, out->w, flip, resizer->kernel->by_blocks);
    if (status == TC_OK)
        status = plan_axis(y, in->h, box.y, box.h, out->h, false, false);
    if (status != TC_OK)
        return status;
    if (x->taps > TC_RESIZE_TAPS || y->taps > TC_RESIZE_TAPS)
        return resize_many(resizer, in, out);
    status = grow(tc_resize_scratch(in->w), sizeof *resizer->scratch, &resizer->room_scratch,
                  &resizer->scratch);
    if (status == TC_OK)
        resizer->kernel->resize(in, x, y, resizer->scratch, out);
    return status;
}

tc_status tc_resize(tc_resizer *resizer, const tc_raster *in, const tc_raster *out, bool flip)
{
    return tc_resize_box(resizer, in, (tc_box){ 0.0, 0.0, (double)in->w, (double)in->h }, out,
                         flip);
}
