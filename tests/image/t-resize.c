/* Resizing against a plain double reference; identity, constants, mirror images. */
#include <config.h>

#include "image/image.h"

#include "../tap.h"
#include "pictures.h"
#include <string.h>

/* The weight of input pixel j for output pixel i, from the definition. */
static double weight(int64_t in, int64_t out, int64_t i, int64_t j)
{
    double scale = (double)in / (double)out, support = scale > 1.0 ? scale : 1.0;
    double v = 1.0 - fabs(((double)j + 0.5 - ((double)i + 0.5) * scale) / support);

    return v > 0.0 ? v : 0.0;
}

static double reference(const tc_raster *in, int64_t w, int64_t h, int64_t x, int64_t y, int c)
{
    double sum = 0.0, norm = 0.0;

    for (int64_t v = 0; v < in->h; v++) {
        double wy = weight(in->h, h, y, v);
        for (int64_t u = 0; wy > 0.0 && u < in->w; u++) {
            double wx = wy * weight(in->w, w, x, u);
            sum += wx * in->data[v * in->stride + 3 * u + c];
            norm += wx;
        }
    }
    return sum / norm;
}

static void against_reference(tc_resizer *resizer)
{
    static const int64_t sizes[][4] = {
        /* in w, h, out w, h */
        { 60, 41, 32, 32 }, { 17, 23, 40, 31 }, { 1, 1, 5, 7 },    { 100, 3, 4, 9 },
        { 2, 300, 2, 3 },   { 33, 32, 32, 32 }, { 32, 32, 32, 8 }, { 90, 80, 1, 1 },
        { 5, 4, 64, 64 },   { 31, 9, 30, 8 },   { 640, 3, 10, 3 }, { 650, 3, 10, 3 },
    };

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const int64_t *z = sizes[s];
        tc_raster in = picture_draw(z[0], z[1], s), out = picture_new(z[2], z[3]);
        tc_raster mirrored = picture_new(z[2], z[3]);
        double worst = 0.0;
        int64_t unlike = 0;

        bool ok = tc_resize(resizer, &in, &out, false) == TC_OK &&
                  tc_resize(resizer, &in, &mirrored, true) == TC_OK;
        for (int64_t y = 0; y < z[3]; y++)
            for (int64_t x = 0; x < z[2]; x++)
                for (int c = 0; c < 3; c++) {
                    int have = out.data[y * out.stride + 3 * x + c];
                    double d = fabs(have - reference(&in, z[2], z[3], x, y, c));
                    worst = d > worst ? d : worst;
                    unlike += have != mirrored.data[y * out.stride + 3 * (z[2] - 1 - x) + c];
                }
        tap_ok(ok && worst < 0.53 && unlike == 0,
               "%lld x %lld to %lld x %lld: %.3f from the exact value; the mirror image agrees",
               (long long)z[0], (long long)z[1], (long long)z[2], (long long)z[3], worst);
        free(in.data);
        free(out.data);
        free(mirrored.data);
    }
}

static void special(tc_resizer *resizer)
{
    tc_raster in = picture_draw(50, 37, 1), out = picture_new(50, 37), wide = picture_new(90, 37);

    memset(wide.data, 0xee, (size_t)(wide.stride * wide.h));
    out.data = realloc(out.data, (size_t)(out.stride * out.h));
    bool ok = tc_resize(resizer, &in, &out, false) == TC_OK;
    tap_ok(ok && memcmp(in.data, out.data, (size_t)(in.stride * in.h)) == 0, "same size: exact");

    /* The target may be a part of a larger raster: nothing beside it is touched. */
    tc_raster part = { .data = wide.data + 30, .w = 20, .h = 37, .stride = wide.stride };
    ok = tc_resize(resizer, &in, &part, false) == TC_OK;
    int64_t touched = 0;
    for (int64_t y = 0; y < wide.h; y++)
        for (int64_t i = 0; i < wide.stride; i++)
            touched += (i < 30 || i >= 90) && wide.data[y * wide.stride + i] != 0xee;
    tap_ok(ok && touched == 0, "a part of a raster: nothing beside it is written");

    int64_t off = 0;
    for (int level = 0; level < 256; level += 5) {
        memset(in.data, level, (size_t)(in.stride * in.h));
        tc_raster small = { .data = wide.data, .w = 23, .h = 41, .stride = wide.stride };
        small.h = 37;
        ok = ok && tc_resize(resizer, &in, &small, level % 2) == TC_OK;
        for (int64_t y = 0; y < small.h; y++)
            for (int64_t i = 0; i < 3 * small.w; i++)
                off += small.data[y * small.stride + i] != level;
    }
    tap_ok(ok && off == 0, "constant pictures stay constant");

    /* Rows just long enough for the vectors, at the end of their memory. */
    ok = true;
    for (int64_t w = 1; w < 40; w++) {
        tc_raster tight = picture_draw(w, 5, (uint64_t)w), small = picture_new(7, 3);
        ok = ok && tc_resize(resizer, &tight, &small, false) == TC_OK;
        free(tight.data);
        free(small.data);
    }
    tap_ok(ok, "every width from 1 to 39");
    tc_raster empty = { .data = in.data, .w = 0, .h = 4, .stride = 0 };
    tap_ok(tc_resize(resizer, &empty, &out, false) == TC_INVAL &&
               tc_resize(resizer, &in, &empty, false) == TC_INVAL,
           "no pixels: refused");
    free(in.data);
    free(out.data);
    free(wide.data);
}

/* A resized box equals the same part of the whole picture resized, also when only what the filter
 * reaches was decoded. */
static void boxes(tc_resizer *resizer)
{
    static const int64_t sizes[][3] = { /* in w, in h, shorter side; 24 x 24 in the middle */
                                        { 90, 67, 28 },
                                        { 41, 100, 28 },
                                        { 30, 24, 40 },
                                        { 24, 24, 24 },
                                        { 500, 301, 30 }
    };
    enum { SIZE = 24 };

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        int64_t w = sizes[s][0], h = sizes[s][1], side = sizes[s][2];
        int64_t rw = w < h ? side : side * w / h, rh = w < h ? side * h / w : side;
        tc_raster in = picture_draw(w, h, s), whole = picture_new(rw, rh);
        tc_raster out = picture_new(SIZE, SIZE);
        double sx = (double)w / (double)rw, sy = (double)h / (double)rh;
        int64_t left = (rw - SIZE) / 2, top = (rh - SIZE) / 2, x0, y0, x1, y1;
        tc_box box = { (double)left * sx, (double)top * sy, SIZE * sx, SIZE * sy };
        int worst = 0;

        bool ok = tc_resize(resizer, &in, &whole, false) == TC_OK;
        double rx = tc_resize_reach(box.w, SIZE), ry = tc_resize_reach(box.h, SIZE);
        x0 = (int64_t)floor(fmax(0.0, box.x - rx));
        y0 = (int64_t)floor(fmax(0.0, box.y - ry));
        x1 = (int64_t)ceil(fmin((double)w, box.x + box.w + rx));
        y1 = (int64_t)ceil(fmin((double)h, box.y + box.h + ry));
        tc_raster part = { .data = in.data + y0 * in.stride + 3 * x0,
                           .w = x1 - x0,
                           .h = y1 - y0,
                           .stride = in.stride };
        box.x -= (double)x0;
        box.y -= (double)y0;
        ok = ok && tc_resize_box(resizer, &part, box, &out, false) == TC_OK;
        for (int64_t y = 0; y < SIZE; y++)
            for (int64_t i = 0; i < 3 * SIZE; i++) {
                int d = abs(out.data[y * out.stride + i] -
                            whole.data[(top + y) * whole.stride + 3 * left + i]);
                worst = d > worst ? d : worst;
            }
        tap_ok(ok && worst <= 1,
               "a box of %lld x %lld, shorter side %lld: %d levels from the whole", (long long)w,
               (long long)h, (long long)side, worst);
        free(in.data);
        free(whole.data);
        free(out.data);
    }
    tc_raster in = picture_new(10, 10), out = picture_new(4, 4);
    tap_ok(tc_resize_box(resizer, &in, (tc_box){ 3, 0, 8, 8 }, &out, false) == TC_INVAL &&
               tc_resize_box(resizer, &in, (tc_box){ 0, 0, 0, 8 }, &out, false) == TC_INVAL &&
               tc_resize_box(resizer, &in, (tc_box){ NAN, 0, 2, 8 }, &out, false) == TC_INVAL,
           "a box outside the picture is refused");
    free(in.data);
    free(out.data);
}

/* How many bytes a kernel's picture has unlike the portable one's; -1: it failed. */
static int64_t unlike_plain(tc_resizer *resizer, tc_resizer *plain, const tc_raster *in, tc_box box,
                            int64_t w, int64_t h, bool flip)
{
    /* A raster that is a part of a larger one, so that what is beside it can be watched. */
    tc_raster have = picture_new(w + 2, h), want = picture_new(w + 2, h);
    tc_raster part = { .data = have.data + 3, .w = w, .h = h, .stride = have.stride };
    int64_t unlike = 0;

    bool ok = tc_resize_box(resizer, in, box, &part, flip) == TC_OK;
    part.data = want.data + 3;
    ok = ok && tc_resize_box(plain, in, box, &part, flip) == TC_OK;
    for (int64_t i = 0; i < have.stride * h; i++)
        unlike += have.data[i] != want.data[i];
    free(have.data);
    free(want.data);
    return ok ? unlike : -1;
}

/* Each kernel against the portable one: the same bytes, whatever the shape. */
static void variants(const char *name)
{
    static const int64_t extreme[][4] = { { 1, 1, 1, 1 },       { 1, 1, 224, 224 },
                                          { 3000, 1, 7, 7 },    { 1, 3000, 7, 7 },
                                          { 2, 2, 1, 300 },     { 900, 7, 224, 224 },
                                          { 500, 375, 224, 1 }, { 640, 640, 10, 10 },
                                          { 641, 640, 10, 10 }, { 16, 16, 17, 15 } };
    tc_rng rng = tc_rng_make(7, TC_STREAM_TEST, 0, 0);
    tc_resizer *resizer = NULL, *plain = NULL;
    int64_t unlike = 0, failed = 0, n = 0;

    bool ok = tc_resizer_create(&resizer) == TC_OK && tc_resizer_create(&plain) == TC_OK &&
              tc_resizer_use(resizer, name) == TC_OK && tc_resizer_use(plain, "plain") == TC_OK;
    for (int64_t i = 0; ok && i < 400; i++) {
        const int64_t *z = i < 10 ? extreme[i] : NULL;
        int64_t side = i % 3 == 0 ? 700 : 120;
        int64_t w = z ? z[0] : 1 + tc_rng_below(&rng, side);
        int64_t h = z ? z[1] : 1 + tc_rng_below(&rng, side);
        int64_t to_w = z ? z[2] : 1 + tc_rng_below(&rng, 240);
        int64_t to_h = z ? z[3] : 1 + tc_rng_below(&rng, 60);
        tc_raster in = picture_draw(w, h, (uint64_t)i);
        tc_box box = { 0, 0, (double)w, (double)h };
        if (i % 2) { /* a part of it */
            box.x = tc_rng_uniform(&rng) * 0.5 * (double)w;
            box.w = (double)w - box.x;
        }
        int64_t d = unlike_plain(resizer, plain, &in, box, to_w, to_h, i % 4 < 2);
        failed += d < 0;
        unlike += d > 0 ? d : 0;
        n++;
        free(in.data);
    }
    tap_ok(ok && failed == 0 && unlike == 0, "%s: %lld pictures equal the portable kernel's", name,
           (long long)n);
    tc_resizer_destroy(resizer);
    tc_resizer_destroy(plain);
}

static void kernels(tc_resizer *resizer)
{
    const char *name;
    int n = 0;

    for (; (name = tc_resize_kernel_name(n)) != NULL; n++) {
        tap_ok(tc_resizer_use(resizer, name) == TC_OK, "kernel %s", name);
        against_reference(resizer);
        special(resizer);
        variants(name);
    }
    tap_ok(n > 0 && strcmp(tc_resize_kernel_name(n - 1), "plain") == 0 &&
               tc_resize_kernel_name(-1) == NULL,
           "%d kernels, the portable one last", n);
    tap_ok(tc_resizer_use(resizer, "avx1024") == TC_INVAL &&
               strstr(tc_error_detail(), "plain") != NULL,
           "an unknown kernel is refused: %s", tc_error_detail());
}

int main(void)
{
    tc_resizer *resizer = NULL;

    tap_ok(tc_resizer_create(&resizer) == TC_OK, "a resizer");
    boxes(resizer);
    kernels(resizer);
    tc_resizer_destroy(resizer);
    tc_resizer_destroy(NULL);
    return tap_done();
}
