/*
 * Own kernels: every instruction set that this processor has gives the bits of the plain variant,
 * which is held against sums in double; and whole steps of a network give the same bits under each.
 */
#include <config.h>

#include "base/rng.h"
#include "dev/dev.h"
#include "dev/onednn/kernels.h"
#include "nn/model.h"

#include "../tap.h"
#include "onednn-pair.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST   600 /* pixels: several chunks and a rest */
#define BLOCK  16
#define VALUES ((MOST + 1) * BLOCK)

/* A kind of lanes: what dn_lanes_of() is asked for. */
static const struct {
    const char *name;
    int block;
    tc_precision type;
} kinds[] = { { "f32 in blocks of 16", 16, TC_F32 },
              { "f32 in blocks of 8", 8, TC_F32 },
              { "bf16 in blocks of 16", 16, TC_BF16 } };
#define N_KINDS ((int)(sizeof kinds / sizeof *kinds))

/* What the kernels read; each member also as bf16. */
typedef struct {
    float x[VALUES], y[VALUES], dy[VALUES];
    uint16_t x16[VALUES], y16[VALUES], dy16[VALUES];
    float channel[6][BLOCK];
} inputs;

/* What all kernels of one variant made of them; zeroed first, so that it can be compared whole. */
typedef struct {
    char add[VALUES * 4], add_relu[VALUES * 4], relu[VALUES * 4], mask[VALUES * 4];
    double mean[BLOCK], m2[BLOCK], sum_g[3][BLOCK], sum_gx[3][BLOCK];
    char affine[4][VALUES * 4], dz[VALUES * 4], dx[2][VALUES * 4];
    float average[BLOCK];
    char spread[VALUES * 4], pool[4][VALUES * 4];
    uint8_t which[VALUES];
    float w[VALUES], v[VALUES];
} outputs;

static void draw(tc_rng *rng, float *to, uint16_t *half)
{
    for (int i = 0; i < VALUES; i++) {
        to[i] = (float)(3 + 2 * tc_rng_normal(rng));
        if (tc_rng_below(rng, 8) == 0)
            to[i] = 0; /* where a ReLU stands on the edge */
        if (tc_rng_below(rng, 8) == 0)
            to[i] = -to[i] * 1e-3f;
        if (tc_rng_below(rng, 64) == 0)
            to[i] = 1e-40f; /* a denormal */
        half[i] = dn_bf16(to[i]);
    }
}

static void draw_inputs(inputs *in)
{
    tc_rng rng = tc_rng_make(4, TC_STREAM_TEST, 0, 0);

    draw(&rng, in->x, in->x16);
    draw(&rng, in->y, in->y16);
    draw(&rng, in->dy, in->dy16);
    for (int i = 0; i < 6; i++)
        for (int c = 0; c < BLOCK; c++)
            in->channel[i][c] = (float)(i == 0 ? 3 : tc_rng_normal(&rng));
}

static void run_bn(const dn_lanes *k, const inputs *in, const void *x, const void *y,
                   const void *dy, int64_t pixels, outputs *out)
{
    dn_bn_block bn = { in->channel[0], in->channel[1], in->channel[2],
                       in->channel[3], in->channel[4], in->channel[5] };

    k->moments(x, pixels, out->mean, out->m2);
    for (int i = 0; i < 4; i++)
        k->bn_affine(x, i & 1 ? y : NULL, out->affine[i], pixels, &bn, (i & 2) != 0);
    for (int how = DN_MASK_NONE; how <= DN_MASK_OUTPUT; how++)
        k->bn_sums(dy, x, y, out->dz, pixels, &bn, (dn_mask)how, out->sum_g[how],
                   out->sum_gx[how]);
    for (int how = DN_MASK_NONE; how <= DN_MASK_INPUT; how++)
        k->bn_apply(dy, x, out->dx[how], pixels, &bn, (dn_mask)how);
}

static void run_all(const dn_kernels *variant, int kind, const inputs *in, int64_t pixels,
                    outputs *out)
{
    const dn_lanes *k = dn_lanes_of(variant, kinds[kind].block, kinds[kind].type);
    bool half = kinds[kind].type == TC_BF16;
    const void *x = half ? (const void *)in->x16 : in->x, *y = half ? (const void *)in->y16 : in->y;
    const void *dy = half ? (const void *)in->dy16 : in->dy;
    int64_t count = pixels * kinds[kind].block;
    dn_pool_shape s = { .h = 21, .w = 19, .out_h = 11, .out_w = 10, .kh = 3, .kw = 3,
                        .stride_h = 2, .stride_w = 2, .pad_h = 1, .pad_w = 1 };
    tc_sgd sgd = { .lr = 0.1f, .momentum = 0.9f, .weight_decay = 1e-4f, .nesterov = pixels & 1 };

    memset(out, 0, sizeof *out);
    k->add(x, y, out->add, count);
    k->add_relu(x, y, out->add_relu, count - 3);
    k->relu(x, out->relu, count - 1);
    k->mask(dy, y, out->mask, count);
    run_bn(k, in, x, y, dy, pixels, out);
    k->average(x, pixels, out->average);
    k->spread(in->channel[1], pixels, out->spread);
    k->avg_pool(x, out->pool[0], &s);
    k->avg_pool_back(dy, out->pool[1], &s);
    k->max_pool(x, out->pool[2], out->which, &s);
    k->max_pool_back(dy, out->which, out->pool[3], &s);
    memcpy(out->w, in->y, sizeof out->w);
    memcpy(out->v, in->dy, sizeof out->v);
    variant->sgd(in->x, out->w, out->v, count - 5, &sgd, pixels & 2 ? sgd.weight_decay : 0);
}

/* The first output that differs, or NULL. */
static const char *difference(const outputs *a, const outputs *b)
{
#define SAME(member) \
    if (memcmp(&a->member, &b->member, sizeof a->member) != 0) \
    return #member
    SAME(add);
    SAME(add_relu);
    SAME(relu);
    SAME(mask);
    SAME(mean);
    SAME(m2);
    SAME(affine);
    SAME(sum_g);
    SAME(sum_gx);
    SAME(dz);
    SAME(dx);
    SAME(average);
    SAME(spread);
    SAME(pool);
    SAME(which);
    SAME(w);
    SAME(v);
#undef SAME
    return NULL;
}

static float element(const void *data, int kind, int64_t i)
{
    uint32_t bits;
    float value;

    if (kinds[kind].type != TC_BF16)
        return ((const float *)data)[i];
    bits = (uint32_t)((const uint16_t *)data)[i] << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The largest relative error of the plain variant's moments, and of one BN's outputs. */
static void check_plain(int kind, const inputs *in, int64_t pixels, const outputs *out)
{
    const void *x = kinds[kind].type == TC_BF16 ? (const void *)in->x16 : in->x;
    int block = kinds[kind].block;
    double worst_mean = 0, worst_m2 = 0, worst_y = 0;

    for (int c = 0; c < block; c++) {
        double mean = 0, m2 = 0;
        for (int64_t i = 0; i < pixels; i++)
            mean += element(x, kind, i * block + c) / (double)pixels;
        for (int64_t i = 0; i < pixels; i++) {
            double v = element(x, kind, i * block + c);
            m2 += (v - mean) * (v - mean);
            double y = (v - in->channel[0][c]) * in->channel[1][c] + in->channel[2][c];
            double got = element(out->affine[2], kind, i * block + c); /* with its ReLU */
            worst_y = fmax(worst_y, fabs(got - fmax(y, 0)) / (1 + fabs(y)));
        }
        worst_mean = fmax(worst_mean, fabs(out->mean[c] / mean - 1));
        worst_m2 = fmax(worst_m2, fabs(out->m2[c] / m2 - 1));
    }
    tap_ok(worst_mean < 1e-6 && worst_m2 < 1e-5 &&
               worst_y < (kinds[kind].type == TC_BF16 ? 4e-3 : 1e-6),
           "plain, %s, %lld pixels: mean to %.1e, squares to %.1e, output to %.1e",
           kinds[kind].name, (long long)pixels, worst_mean, worst_m2, worst_y);
}

static void variants(void)
{
    static const int64_t sizes[] = { 401, 600, 512, 127 };
    inputs *in = malloc(sizeof *in);
    outputs *plain = malloc(sizeof *plain), *out = malloc(sizeof *out);
    const dn_kernels *base = NULL;

    if (!tap_ok(in && plain && out && dn_kernels_find("plain", &base) == TC_OK, "plain is here"))
        return;
    draw_inputs(in);
    for (int kind = 0; kind < N_KINDS; kind++)
        for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
            run_all(base, kind, in, sizes[i], plain);
            check_plain(kind, in, sizes[i], plain);
            for (int v = 0; dn_kernels_at(v) != NULL; v++) {
                const dn_kernels *variant = dn_kernels_at(v);
                run_all(variant, kind, in, sizes[i], out);
                const char *what = difference(plain, out);
                tap_ok(what == NULL, "%s, %s, %lld pixels: the bits of plain%s%s", variant->name,
                       kinds[kind].name, (long long)sizes[i], what ? ", but for " : "",
                       what ? what : "");
            }
        }
    plain->sum_g[1][3] += 1e-12;
    tap_ok(difference(plain, out) != NULL, "a difference is seen");
    free(in);
    free(plain);
    free(out);
}

/* ---- Whole steps under each variant ---- */

static bool step_weights(const pair_data *data, tc_precision precision, double *weights,
                         char choices[256])
{
    pair_side side = { 0 };
    tc_slice slice = pair_slice(data, data->batch);
    tc_sgd sgd = { .lr = 0.05f, .momentum = 0.9f };

    tc_status status = pair_open("onednn", precision, data, 1, &side);
    for (int i = 0; i < 2 && status == TC_OK; i++) {
        status = side.backend->place(side.step, 0, &slice);
        if (status == TC_OK)
            status = side.backend->train(side.step, 0, 0.25f, NULL);
        for (int b = 0; b < side.n_buckets && status == TC_OK; b++)
            status =
                side.backend->update(side.step, b, side.backend->host_gradients(side.step), &sgd);
    }
    if (status == TC_OK)
        status = pair_read(&side, TC_VEC_WEIGHTS, data->graph->param_count, weights);
    if (status == TC_OK)
        snprintf(choices, 256, "%s", side.backend->choices(side.step));
    pair_close(&side);
    return status == TC_OK;
}

static void whole_steps(tc_precision precision)
{
    tc_graph *graph = NULL;
    pair_data data = { 0 };
    double *first = NULL, *other = NULL;
    char choices[256] = "", want[64];
    tc_model_options options = { .name = "resnet20", .classes = 10, .size = 0 };
    bool ok = tc_model_build(&options, &graph) == TC_OK &&
              pair_data_make(graph, 4, 7, &data) == TC_OK;

    if (ok) {
        first = calloc((size_t)graph->param_count, sizeof *first);
        other = calloc((size_t)graph->param_count, sizeof *other);
    }
    for (int v = 0; ok && first && other && dn_kernels_at(v) != NULL; v++) {
        setenv("TRICOLOR_SIMD", dn_kernels_at(v)->name, 1);
        snprintf(want, sizeof want, "own kernels %s", dn_kernels_at(v)->name);
        bool ran = step_weights(&data, precision, v == 0 ? first : other, choices);
        bool same = v == 0 || memcmp(first, other, (size_t)graph->param_count * sizeof *first) == 0;
        tap_ok(ran && same && strstr(choices, want), "resnet20 in %s, two steps: the same bits: %s",
               tc_precision_name(precision), ran ? choices : tc_error_detail());
    }
    setenv("TRICOLOR_SIMD", "neon9", 1);
    ok = ok && !step_weights(&data, precision, other, choices);
    tap_ok(ok && strstr(tc_error_detail(), "neon9") && strstr(tc_error_detail(), "plain"),
           "an unknown variant is refused: %s", tc_error_detail());
    unsetenv("TRICOLOR_SIMD");
    free(first);
    free(other);
    pair_data_free(&data);
    tc_graph_free(graph);
}

int main(void)
{
    variants();
    whole_steps(TC_F32);
    whole_steps(TC_BF16);
    return tap_done();
}
