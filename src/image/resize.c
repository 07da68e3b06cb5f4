#include <config.h>

#include "image/image.h"

#include <math.h>
#include <string.h>

#define SLACK 4 /* floats that may be read behind a row */

/* The inner loops: vectorised at any -O, one version for each generation of vector units, chosen
 * at start-up (before the thread sanitizer is ready for it). */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_THREAD__)
#define VECTORISED \
    __attribute__((optimize("O3"), target_clones("avx512f", "arch=haswell", "default")))
#else
#define VECTORISED
#endif

/* The taps of every output pixel of one axis: out[i] = sum over k of
 * weight[i*taps+k]*in[first[i]+k], taps that fall outside the picture having weight 0 (first is
 * moved so that none is read there). */
typedef struct {
    int64_t in, out;   /* pixels this is for; 0: none yet */
    double from, span; /* the part of `in` that becomes `out` */
    int64_t taps;
    int64_t capacity_out, capacity_weights;
    int64_t *first; /* (out) */
    float *weight;  /* (out,taps) */
} axis;

struct tc_resizer {
    axis x, y;
    float *row; /* (in.w,3) and a vector of slack: one row after the vertical pass */
    int64_t capacity_row;
};

tc_status tc_resizer_create(tc_resizer **resizer_p)
{
    return tc_alloc(1, sizeof **resizer_p, "resizer", resizer_p);
}

static void free_axis(axis *a)
{
    tc_free(a->first);
    tc_free(a->weight);
}

void tc_resizer_destroy(tc_resizer *resizer)
{
    if (resizer == NULL)
        return;
    free_axis(&resizer->x);
    free_axis(&resizer->y);
    tc_free(resizer->row);
    tc_free(resizer);
}

/* Make *ptr_p hold `count` elements; its content is lost.  Grows by half, so that growing ends. */
static tc_status grow(int64_t count, size_t size, int64_t *capacity, void *ptr_p)
{
    void *old, *fresh;

    if (count <= *capacity)
        return TC_OK;
    count += count / 2;
    tc_status status = tc_alloc(count, size, "scratch of the resizer", &fresh);
    if (status != TC_OK)
        return status;
    memcpy(&old, ptr_p, sizeof old);
    tc_free(old);
    memcpy(ptr_p, &fresh, sizeof fresh);
    *capacity = count;
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
static void fill_axis(axis *a)
{
    double scale = a->span / (double)a->out, support = support_of(a->span, a->out);

    for (int64_t i = 0; i < a->out; i++) {
        double center = a->from + ((double)i + 0.5) * scale, sum = 0.0;
        int64_t first = (int64_t)floor(center - support + 0.5);
        if (first > a->in - a->taps)
            first = a->in - a->taps;
        if (first < 0)
            first = 0;
        float *w = a->weight + i * a->taps;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t k = 0; k < a->taps; k++) {
                double v = 1.0 - fabs((double)(first + k) + 0.5 - center) / support;
                v = v > 0.0 ? v : 0.0;
                if (pass == 0)
                    sum += v;
                else
                    w[k] = (float)(v / sum);
            }
        a->first[i] = first;
    }
}

static tc_status plan_axis(axis *a, int64_t in, double from, double span, int64_t out)
{
    if (a->in == in && a->from == from && a->span == span && a->out == out)
        return TC_OK;
    int64_t taps = (int64_t)ceil(2.0 * support_of(span, out)); /* inside the triangle */
    if (taps > in)
        taps = in;
    a->in = a->out = 0;
    tc_status status = grow(out, sizeof *a->first, &a->capacity_out, &a->first);
    if (status == TC_OK)
        status = grow(out * taps, sizeof *a->weight, &a->capacity_weights, &a->weight);
    if (status != TC_OK)
        return status;
    *a = (axis){ .in = in,
                 .out = out,
                 .from = from,
                 .span = span,
                 .taps = taps,
                 .capacity_out = a->capacity_out,
                 .capacity_weights = a->capacity_weights,
                 .first = a->first,
                 .weight = a->weight };
    fill_axis(a);
    return TC_OK;
}

/* row (n) f32 = sum over k of weight[k] * in[k] (n) u8, rows `stride` apart. */
VECTORISED
static void blend_rows(const uint8_t *restrict in, int64_t stride, const float *restrict weight,
                       int64_t taps, int64_t n, float *restrict row)
{
    for (int64_t i = 0; i < n; i++)
        row[i] = weight[0] * (float)in[i];
    for (int64_t k = 1; k < taps; k++) {
        const uint8_t *restrict from = in + k * stride;
        float w = weight[k];
        if (w != 0.0f) /* the last tap of most pixels */
            for (int64_t i = 0; i < n; i++)
                row[i] += w * (float)from[i];
    }
}

/* out (a->out,3) u8 from row (a->in,3) f32.  Four lanes where three count: the fourth is the next
 * pixel's red (or slack) and is dropped.  Inlined, so that a constant `taps` unrolls the loop. */
static inline __attribute__((always_inline)) void
blend_columns_of(const float *row, const axis *a, int64_t taps, uint8_t *out, int64_t step)
{
    typedef float lanes __attribute__((vector_size(16)));
    typedef int32_t ints __attribute__((vector_size(16)));

    for (int64_t i = 0; i < a->out; i++, out += step) {
        const float *from = row + 3 * a->first[i], *weight = a->weight + i * taps;
        lanes sum = { 0.5f, 0.5f, 0.5f, 0.5f }, v; /* rounds: the weights sum to 1, no clamp */
        for (int64_t k = 0; k < taps; k++) {
            memcpy(&v, from + 3 * k, sizeof v);
            sum += weight[k] * v;
        }
        ints rounded = __builtin_convertvector(sum, ints);
        for (int c = 0; c < 3; c++)
            out[c] = (uint8_t)rounded[c];
    }
}

VECTORISED
static void blend_columns(const float *row, const axis *a, uint8_t *out, int64_t step)
{
    if (a->taps == 2)
        blend_columns_of(row, a, 2, out, step);
    else if (a->taps == 3)
        blend_columns_of(row, a, 3, out, step);
    else
        blend_columns_of(row, a, a->taps, out, step);
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
    tc_status status = plan_axis(&resizer->x, in->w, box.x, box.w, out->w);
    if (status == TC_OK)
        status = plan_axis(&resizer->y, in->h, box.y, box.h, out->h);
    if (status == TC_OK)
        status =
            grow(3 * in->w + SLACK, sizeof *resizer->row, &resizer->capacity_row, &resizer->row);
    if (status != TC_OK)
        return status;
    const axis *y = &resizer->y;
    for (int64_t i = 0; i < out->h; i++) {
        uint8_t *to = out->data + i * out->stride;
        blend_rows(in->data + y->first[i] * in->stride, in->stride, y->weight + i * y->taps,
                   y->taps, 3 * in->w, resizer->row);
        blend_columns(resizer->row, &resizer->x, flip ? to + 3 * (out->w - 1) : to, flip ? -3 : 3);
    }
    return TC_OK;
}

tc_status tc_resize(tc_resizer *resizer, const tc_raster *in, const tc_raster *out, bool flip)
{
    return tc_resize_box(resizer, in, (tc_box){ 0.0, 0.0, (double)in->w, (double)in->h }, out,
                         flip);
}
