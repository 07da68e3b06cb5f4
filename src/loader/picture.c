#include <config.h>

#include "loader/picture.h"

#include <math.h>
#include <string.h>

#define PAD   4  /* pixels of black on each side (TC_AUGMENT_PAD) */
#define TRIES 10 /* torchvision's */

tc_status tc_loader_worker_create(const tc_loader_options *options, tc_loader_worker *worker)
{
    int64_t size = options->size;
    size_t bytes;

    tc_status status = tc_decoder_create(0, &worker->decoder);
    if (status == TC_OK)
        status = tc_resizer_create(&worker->resizer);
    if (status == TC_OK && options->store != NULL)
        status = tc_buffer_reserve(&worker->scratch, (size_t)tc_store_max_bytes(options->store));
    if (status == TC_OK)
        status = tc_size_mul(size, (size_t)size * 3, 0, &bytes);
    worker->square = (tc_raster){ .w = size, .h = size, .stride = 3 * size };
    if (status == TC_OK && options->augment == TC_AUGMENT_PAD)
        status = tc_alloc((int64_t)bytes, 1, "a picture", &worker->square.data);
    return status;
}

void tc_loader_worker_destroy(tc_loader_worker *worker)
{
    tc_decoder_destroy(worker->decoder);
    tc_resizer_destroy(worker->resizer);
    tc_buffer_free(&worker->scratch);
    tc_free(worker->square.data);
}

tc_rect tc_loader_random_crop(tc_rng *rng, int64_t w, int64_t h)
{
    const double low = 3.0 / 4.0, high = 4.0 / 3.0;
    double area = (double)w * (double)h, ratio = (double)w / (double)h;
    tc_rect r;

    for (int i = 0; i < TRIES; i++) {
        double target = area * (0.08 + 0.92 * tc_rng_uniform(rng));
        double aspect = exp(log(low) + (log(high) - log(low)) * tc_rng_uniform(rng));
        r.w = (int64_t)llround(sqrt(target * aspect));
        r.h = (int64_t)llround(sqrt(target / aspect));
        if (r.w >= 1 && r.h >= 1 && r.w <= w && r.h <= h) {
            r.y = tc_rng_below(rng, h - r.h + 1);
            r.x = tc_rng_below(rng, w - r.w + 1);
            return r;
        }
    }
    r.w = w; /* the centre, its aspect clamped */
    r.h = h;
    if (ratio < low)
        r.h = (int64_t)llround((double)w / low);
    else if (ratio > high)
        r.w = (int64_t)llround((double)h * high);
    r.x = (w - r.w) / 2;
    r.y = (h - r.h) / 2;
    return r;
}

/* The shorter side becomes `resize`, the middle size x size of that is kept.  Decodes only what
 * the filter reaches of it. */
static tc_status center(tc_loader_worker *worker, const tc_image_info *info, int64_t resize,
                        const tc_raster *out)
{
    int64_t w = info->w, h = info->h;
    int64_t rw = w <= h ? resize : resize * w / h, rh = w <= h ? resize * h / w : resize;
    double sx = (double)w / (double)rw, sy = (double)h / (double)rh;
    tc_box box = { .x = rint((double)(rw - out->w) / 2.0) * sx,
                   .y = rint((double)(rh - out->h) / 2.0) * sy,
                   .w = (double)out->w * sx,
                   .h = (double)out->h * sy };
    tc_raster part;

    /* Products of quotients: keep rounding from leaving the picture. */
    box.w = fmin(box.w, (double)w - box.x);
    box.h = fmin(box.h, (double)h - box.y);
    double reach_x = tc_resize_reach(box.w, out->w), reach_y = tc_resize_reach(box.h, out->h);
    tc_rect need = { .x = (int64_t)floor(fmax(0.0, box.x - reach_x)),
                     .y = (int64_t)floor(fmax(0.0, box.y - reach_y)) };
    need.w = (int64_t)ceil(fmin((double)w, box.x + box.w + reach_x)) - need.x;
    need.h = (int64_t)ceil(fmin((double)h, box.y + box.h + reach_y)) - need.y;
    tc_status status = tc_decoder_crop(worker->decoder, need, &part);
    if (status != TC_OK)
        return status;
    box.x -= (double)need.x;
    box.y -= (double)need.y;
    return tc_resize_box(worker->resizer, &part, box, out, false);
}

/* Shift by up to PAD pixels each way, black coming in, and mirror. */
static void shift(const tc_raster *in, int64_t dx, int64_t dy, bool flip, const tc_raster *out)
{
    int64_t size = out->w;
    int64_t x0 = dx < 0 ? -dx : 0,
            x1 = dx > 0 ? size - dx : size; /* columns of out with a source */

    for (int64_t y = 0; y < size; y++) {
        uint8_t *to = out->data + y * out->stride;
        memset(to, 0, (size_t)size * 3);
        if (y + dy < 0 || y + dy >= size || x0 >= x1)
            continue;
        const uint8_t *from = in->data + (y + dy) * in->stride + 3 * dx;
        if (!flip)
            memcpy(to + 3 * x0, from + 3 * x0, (size_t)(x1 - x0) * 3);
        else
            for (int64_t x = x0; x < x1; x++)
                memcpy(to + 3 * (size - 1 - x), from + 3 * x, 3);
    }
}

static tc_status padded(tc_loader_worker *worker, const tc_image_info *info, tc_rng *rng, bool flip,
                        const tc_raster *out)
{
    int64_t dy = tc_rng_below(rng, 2 * PAD + 1) - PAD, dx = tc_rng_below(rng, 2 * PAD + 1) - PAD;
    tc_raster square = worker->square;
    tc_status status;

    if (info->w == out->w && info->h == out->h)
        status = tc_decoder_crop(worker->decoder, (tc_rect){ 0, 0, info->w, info->h }, &square);
    else
        status = center(worker, info, out->w, &square);
    if (status == TC_OK)
        shift(&square, dx, dy, flip, out);
    return status;
}

tc_status tc_loader_picture(tc_loader_worker *worker, const tc_loader_options *options,
                            int64_t resize, uint64_t epoch, const tc_record *record, uint8_t *out)
{
    tc_raster target = {
        .data = out, .w = options->size, .h = options->size, .stride = 3 * options->size
    };
    tc_rng rng = tc_rng_make(options->seed, TC_STREAM_AUGMENT, epoch, record->id);
    tc_image_info info;
    tc_raster part;

    tc_status status = tc_decoder_open(worker->decoder, record->data, (size_t)record->bytes, &info);
    if (status != TC_OK)
        return status;
    if (options->augment == TC_AUGMENT_NONE)
        return center(worker, &info, resize, &target);
    bool flip = tc_rng_uniform(&rng) < 0.5;
    if (options->augment == TC_AUGMENT_PAD)
        return padded(worker, &info, &rng, flip, &target);
    status = tc_decoder_crop(worker->decoder, tc_loader_random_crop(&rng, info.w, info.h), &part);
    return status == TC_OK ? tc_resize(worker->resizer, &part, &target, flip) : status;
}

void tc_loader_mean_picture(const tc_loader_options *options, uint8_t *out)
{
    int64_t pixels = options->size * options->size;

    for (int64_t i = 0; i < pixels; i++)
        for (int c = 0; c < 3; c++)
            out[3 * i + c] = (uint8_t)lround(255.0 * options->mean[c]);
}
