/* Each augmentation against the same steps taken on the whole picture. */
#include <config.h>

#include "loader/picture.h"

#include "../tap.h"
#include "pictures.h"

#define SEED 9

static tc_loader_options options;
static tc_loader_worker worker;

static void begin(tc_augment augment, int64_t size)
{
    static bool made;

    if (made)
        tc_loader_worker_destroy(&worker);
    made = true;
    options = (tc_loader_options){ .augment = augment, .size = size, .seed = SEED };
    worker = (tc_loader_worker){ 0 };
    tc_decoder_create(0, &worker.decoder);
    tc_resizer_create(&worker.resizer);
    worker.square = picture_new(size, size);
    worker.square.data = NULL;
    tc_alloc(size * size, 3, "square", &worker.square.data);
}

static tc_raster augmented(uint64_t id, uint64_t epoch, int64_t resize)
{
    tc_raster out = picture_new(options.size, options.size);
    tc_shard_entry entry;
    tc_buffer data = { 0 };

    picture_record(id, &entry, &data);
    tc_record record = { .data = data.data, .bytes = data.bytes, .id = id };
    if (tc_loader_picture(&worker, &options, resize, epoch, &record, out.data) != TC_OK)
        printf("# record %llu: %s\n", (unsigned long long)id, tc_error_detail());
    tc_buffer_free(&data);
    return out;
}

/* Largest difference between out and whole shifted by (dx,dy), mirrored, black where outside. */
static int shifted_difference(const tc_raster *out, const tc_raster *whole, int dx, int dy,
                              int flip)
{
    int worst = 0;

    for (int64_t y = 0; y < out->h; y++)
        for (int64_t x = 0; x < out->w; x++) {
            int64_t u = (flip ? out->w - 1 - x : x) + dx, v = y + dy;
            bool inside = u >= 0 && v >= 0 && u < whole->w && v < whole->h;
            for (int c = 0; c < 3; c++) {
                int want = inside ? whole->data[v * whole->stride + 3 * u + c] : 0;
                int d = abs(want - out->data[y * out->stride + 3 * x + c]);
                worst = d > worst ? d : worst;
            }
        }
    return worst;
}

/* Each picture is one of the 81 shifts or its mirror image; over many, all of them come up. */
static void pad_and_crop(void)
{
    enum { DRAWS = 600 };
    int seen[9] = { 0 }, flips = 0, unexplained = 0, rare = DRAWS;
    tc_raster whole = decoded(1);

    begin(TC_AUGMENT_PAD, 32);
    for (int e = 0; e < DRAWS; e++) {
        tc_raster out = augmented(1, (uint64_t)e, 32);
        bool found = false;
        for (int i = 0; i < 162 && !found; i++) {
            int dx = i % 9 - 4, dy = i / 9 % 9 - 4, flip = i / 81;
            found = shifted_difference(&out, &whole, dx, dy, flip) == 0;
            if (found) {
                seen[dx + 4]++;
                flips += flip;
            }
        }
        unexplained += !found;
        free(out.data);
    }
    for (int i = 0; i < 9; i++)
        rare = seen[i] < rare ? seen[i] : rare;
    tap_ok(unexplained == 0, "pad and crop: each of %d draws is a shift of the picture", DRAWS);
    tap_ok(rare > DRAWS / 9 / 2 && abs(flips - DRAWS / 2) < 75,
           "all shifts come up (the rarest %d times), %d of %d mirrored", rare, flips, DRAWS);
    free(whole.data);
}

/* Evaluation: the picture resized as a whole, and its middle. */
static void evaluation(uint64_t id, int64_t size, int64_t resize)
{
    tc_raster whole = decoded(id);
    int64_t w = whole.w, h = whole.h;
    int64_t rw = w <= h ? resize : resize * w / h, rh = w <= h ? resize * h / w : resize;
    tc_raster resized = picture_new(rw, rh);
    int worst = 0;

    begin(TC_AUGMENT_NONE, size);
    tc_raster out = augmented(id, 0, resize);
    bool ok = tc_resize(worker.resizer, &whole, &resized, false) == TC_OK;
    int64_t left = (int64_t)rint((double)(rw - size) / 2),
            top = (int64_t)rint((double)(rh - size) / 2);
    for (int64_t y = 0; y < size; y++)
        for (int64_t i = 0; i < 3 * size; i++) {
            int d = abs(out.data[y * out.stride + i] -
                        resized.data[(top + y) * resized.stride + 3 * left + i]);
            worst = d > worst ? d : worst;
        }
    tap_ok(ok && worst <= 1, "evaluation of %lld x %lld, %lld of %lld: %d levels off", (long long)w,
           (long long)h, (long long)size, (long long)resize, worst);
    free(whole.data);
    free(resized.data);
    free(out.data);
}

/* Random resized crop: the drawn rectangle of the whole picture, resized, mirrored as drawn. */
static void random_resized(uint64_t id, int64_t size)
{
    tc_raster whole = decoded(id), want = picture_new(size, size);
    int worst = 0, flips = 0;

    begin(TC_AUGMENT_RANDOM_RESIZED, size);
    for (uint64_t epoch = 0; epoch < 40; epoch++) {
        tc_rng rng = tc_rng_make(SEED, TC_STREAM_AUGMENT, epoch, id);
        bool flip = tc_rng_uniform(&rng) < 0.5;
        tc_rect r = tc_loader_random_crop(&rng, whole.w, whole.h);
        tc_raster part = { .data = whole.data + r.y * whole.stride + 3 * r.x,
                           .w = r.w,
                           .h = r.h,
                           .stride = whole.stride };
        tc_raster out = augmented(id, epoch, 0);
        if (tc_resize(worker.resizer, &part, &want, flip) != TC_OK)
            worst = 255;
        int d = shifted_difference(&out, &want, 0, 0, 0);
        worst = d > worst ? d : worst;
        flips += flip;
        free(out.data);
    }
    tap_ok(worst <= 2 && flips > 5 && flips < 35,
           "random resized crop of %lld x %lld to %lld: %d levels off, %d of 40 mirrored",
           (long long)whole.w, (long long)whole.h, (long long)size, worst, flips);
    free(whole.data);
    free(want.data);
}

/* The distribution of the rectangles. */
static void rectangles(void)
{
    enum { DRAWS = 20000 };
    double low = 1.0, high = 0.0, sum = 0.0, narrow = 9.0, wide = 0.0, log_sum = 0.0;
    int outside = 0;
    tc_rng rng = tc_rng_make(3, TC_STREAM_TEST, 0, 0);

    for (int i = 0; i < DRAWS; i++) {
        tc_rect r = tc_loader_random_crop(&rng, 340, 256);
        double area = (double)(r.w * r.h) / (340.0 * 256.0), ratio = (double)r.w / (double)r.h;
        outside += r.x < 0 || r.y < 0 || r.x + r.w > 340 || r.y + r.h > 256;
        low = area < low ? area : low;
        high = area > high ? area : high;
        narrow = ratio < narrow ? ratio : narrow;
        wide = ratio > wide ? ratio : wide;
        sum += area / DRAWS;
        log_sum += log(ratio) / DRAWS;
    }
    tap_ok(outside == 0, "rectangles lie inside the picture");
    tap_ok(low > 0.078 && low < 0.09 && high > 0.97 && high <= 1.0,
           "their area is %.3f to %.3f of it", low, high);
    tap_ok(narrow > 0.73 && narrow < 0.77 && wide > 1.31 && wide < 1.36,
           "their aspect is %.3f to %.3f", narrow, wide);
    /* The means of torchvision's rule for 340 x 256, from 200,000 draws of a program of its own. */
    tap_ok(fabs(sum - 0.4353) < 0.007 && fabs(log_sum - 0.0299) < 0.006,
           "mean area %.4f, mean log aspect %.4f", sum, log_sum);

    tc_rect r = tc_loader_random_crop(&rng, 3000, 30); /* no try can succeed */
    tap_ok(r.w == 40 && r.h == 30 && r.x == 1480 && r.y == 0, "a strip: the middle, 4:3");
    r = tc_loader_random_crop(&rng, 30, 3000);
    tap_ok(r.w == 30 && r.h == 40 && r.x == 0 && r.y == 1480, "an upright strip: 3:4");
    r = tc_loader_random_crop(&rng, 1, 1);
    tap_ok(r.w == 1 && r.h == 1 && r.x == 0 && r.y == 0, "one pixel");
}

int main(void)
{
    pad_and_crop();
    evaluation(1, 32, 32);
    evaluation(5, 224, 256);
    evaluation(13, 32, 36);
    evaluation(21, 64, 73);
    random_resized(5, 224);
    random_resized(13, 64);
    random_resized(1, 32);
    rectangles();
    tc_loader_worker_destroy(&worker);
    return tap_done();
}
