/*
 * How near to the limit of JPEG does the input path run?
 *
 * bench-input [OPTION…] NAME=DIR…: each DIR was written by tricolor-pack; its records are read into
 * memory first.  Verified before anything is timed: the training path may differ from a decode of
 * the whole picture, cut and resized afterwards, by a small mean (libjpeg sees other neighbours at
 * the crop's edges).  Then rounds of
 *   huffman  the coefficients alone, jpeg_read_coefficients(): no pixel, the limit of JPEG
 *   full     decode the whole picture with one libjpeg structure, then resize the crop
 *   train    what the loader does: random resized crop and flip
 *   eval     what the loader does: shorter side 256, the middle 224 (for size 224)
 * take turns over the sets and the numbers of threads.  Rates are wall time, pictures split over
 * the threads; the statistic is the median of the rounds, for ratios of the rounds' ratios, so that
 * a slow moment of the machine harms both sides.
 */
#include <config.h>

#include "base/clock.h"
#include "image/image.h"
#include "loader/picture.h"
#include "shard/dataset.h"

#include <argp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#ifndef TC_COMMIT
#define TC_COMMIT "unknown"
#endif

enum { MAX_SETS = 8, MAX_THREADS = 256, MAX_ROUNDS = 1000 };
#define MEAN_ALLOWED 0.1 /* grey levels: train against full, over a set */

typedef enum { HUFFMAN, FULL, TRAIN, EVAL, PATHS } path;
static const char *const path_name[PATHS] = { "huffman", "full", "train", "eval" };

/* Records in memory. */
typedef struct {
    const char *name;
    tc_record *record; /* (n); their data is in `bytes` */
    tc_buffer bytes;
    int64_t n;
} set;

typedef struct {
    int64_t size, resize, limit; /* limit: records of a set; 0: all */
    int threads, rounds;
    const char *kernel; /* NULL: the best */
    int sets;
    set set[MAX_SETS];
} settings;

typedef struct {
    struct jpeg_error_mgr base; /* first: libjpeg hands back a pointer to it */
    jmp_buf jump;
} escape;

/* What a thread needs; `s`, `path` and its share are set before it is started. */
typedef struct {
    pthread_t thread;
    const settings *settings;
    const set *s;
    path path;
    int64_t first, step; /* its records: first, first + step, … */
    uint64_t epoch;
    struct jpeg_decompress_struct jpeg;
    escape escape;
    tc_buffer pixels;
    tc_loader_options options[2]; /* train, eval */
    tc_loader_worker worker;
    uint8_t *out; /* (size,size,3) */
    tc_status status;
    char text[512];
} bencher;

static void on_error(j_common_ptr jpeg)
{
    longjmp(((escape *)jpeg->err)->jump, 1);
}

static void on_message(j_common_ptr jpeg, int level)
{
    (void)jpeg;
    (void)level;
}

static tc_status coefficients(bencher *b, const tc_record *r)
{
    if (setjmp(b->escape.jump) != 0) {
        jpeg_abort_decompress(&b->jpeg);
        return tc_fail(TC_FORMAT, "record %llu: libjpeg cannot decode it",
                       (unsigned long long)r->id);
    }
    jpeg_mem_src(&b->jpeg, r->data, (unsigned long)r->bytes);
    jpeg_read_header(&b->jpeg, TRUE);
    jpeg_read_coefficients(&b->jpeg);
    jpeg_abort_decompress(&b->jpeg);
    return TC_OK;
}

/* Decode all of it to RGB (CMYK stays: as much work, and the crop is only compared where RGB). */
static tc_status decode_all(bencher *b, const tc_record *r, tc_raster *raster)
{
    JSAMPROW row[16];

    if (setjmp(b->escape.jump) != 0) {
        jpeg_abort_decompress(&b->jpeg);
        return tc_fail(TC_FORMAT, "record %llu: libjpeg cannot decode it",
                       (unsigned long long)r->id);
    }
    jpeg_mem_src(&b->jpeg, r->data, (unsigned long)r->bytes);
    jpeg_read_header(&b->jpeg, TRUE);
    b->jpeg.out_color_space = b->jpeg.num_components == 4 ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&b->jpeg);
    *raster = (tc_raster){ .w = b->jpeg.output_width,
                           .h = b->jpeg.output_height,
                           .stride = (int64_t)b->jpeg.output_width * b->jpeg.output_components };
    tc_status status = tc_buffer_reserve(&b->pixels, (size_t)(raster->stride * raster->h));
    if (status != TC_OK)
        return status;
    raster->data = b->pixels.data;
    while (b->jpeg.output_scanline < b->jpeg.output_height) {
        int64_t y = b->jpeg.output_scanline;
        for (int i = 0; i < 16; i++)
            row[i] = raster->data + (y + i < raster->h ? y + i : y) * raster->stride;
        jpeg_read_scanlines(&b->jpeg, row, 16);
    }
    jpeg_finish_decompress(&b->jpeg);
    return TC_OK;
}

static tc_status full(bencher *b, const tc_record *r, uint8_t *out)
{
    int64_t size = b->settings->size;
    tc_rng rng = tc_rng_make(b->options[0].seed, TC_STREAM_AUGMENT, b->epoch, r->id);
    tc_raster whole, target = { .data = out, .w = size, .h = size, .stride = 3 * size };
    tc_status status = decode_all(b, r, &whole);

    if (status != TC_OK)
        return status;
    bool flip = tc_rng_uniform(&rng) < 0.5;
    tc_rect at = tc_loader_random_crop(&rng, whole.w, whole.h);
    tc_raster part = { .data = whole.data + at.y * whole.stride + 3 * at.x,
                       .w = at.w,
                       .h = at.h,
                       .stride = whole.stride };
    return tc_resize(b->worker.resizer, &part, &target, flip);
}

static tc_status one(bencher *b, path p, const tc_record *r, uint8_t *out)
{
    switch (p) {
    case HUFFMAN:
        return coefficients(b, r);
    case FULL:
        return full(b, r, out);
    default:
        return tc_loader_picture(&b->worker, &b->options[p == EVAL], b->settings->resize, b->epoch,
                                 r, out);
    }
}

static void *run(void *argument)
{
    bencher *b = argument;

    b->status = TC_OK;
    for (int64_t i = b->first; b->status == TC_OK && i < b->s->n; i += b->step)
        b->status = one(b, b->path, &b->s->record[i], b->out);
    if (b->status != TC_OK)
        snprintf(b->text, sizeof b->text, "%s", tc_error_detail());
    return NULL;
}

/* One pass over a set by `threads` threads: images/s of all together. */
static tc_status pass(bencher *b, int threads, const set *s, path p, uint64_t epoch, double *rate)
{
    tc_status status = TC_OK;
    double began = tc_now();

    for (int t = 0; t < threads; t++) {
        b[t].s = s;
        b[t].path = p;
        b[t].first = t;
        b[t].step = threads;
        b[t].epoch = epoch;
        if (t > 0 && pthread_create(&b[t].thread, NULL, run, &b[t]) != 0)
            return tc_fail(TC_NOMEM, "thread %d cannot be started", t);
    }
    run(&b[0]);
    for (int t = 0; t < threads; t++) {
        if (t > 0)
            pthread_join(b[t].thread, NULL);
        if (status == TC_OK && b[t].status != TC_OK)
            status = tc_fail(b[t].status, "%s", b[t].text);
    }
    *rate = (double)s->n / (tc_now() - began);
    return status;
}

static tc_status create_bencher(const settings *s, bencher *b)
{
    tc_status status = tc_alloc(s->size * s->size, 3, "a picture", &b->out);

    b->settings = s;
    b->options[0] =
        (tc_loader_options){ .augment = TC_AUGMENT_RANDOM_RESIZED, .size = s->size, .seed = 1 };
    b->options[1] = (tc_loader_options){ .augment = TC_AUGMENT_NONE, .size = s->size };
    if (status == TC_OK)
        status = tc_loader_worker_create(&b->options[0], &b->worker);
    if (status == TC_OK && s->kernel != NULL)
        status = tc_resizer_use(b->worker.resizer, s->kernel);
    b->jpeg.err = jpeg_std_error(&b->escape.base);
    b->escape.base.error_exit = on_error;
    b->escape.base.emit_message = on_message;
    if (status == TC_OK)
        jpeg_create_decompress(&b->jpeg);
    return status;
}

static void destroy_bencher(bencher *b)
{
    jpeg_destroy_decompress(&b->jpeg); /* a zeroed one is accepted */
    tc_loader_worker_destroy(&b->worker);
    tc_buffer_free(&b->pixels);
    tc_free(b->out);
}

/* Read a packed set, shard by shard. */
static tc_status load(set *s, const char *dir, int64_t limit)
{
    tc_dataset *dataset = NULL;
    tc_shard *shard = NULL;
    tc_buffer record = { 0 };
    tc_status status = tc_dataset_read(dir, "train", &dataset);

    if (status != TC_OK)
        return status;
    status = tc_buffer_reserve(&s->bytes, dataset->bytes);
    if (status == TC_OK)
        status = tc_alloc((int64_t)dataset->records, sizeof *s->record, "records", &s->record);
    for (uint32_t i = 0; status == TC_OK && i < dataset->n_shards; i++) {
        status = tc_dataset_open_shard(dataset, i, &shard);
        for (uint64_t k = 0; status == TC_OK && k < tc_shard_records(shard); k++) {
            const tc_shard_entry *entry = tc_shard_entry_at(shard, k);
            if (limit > 0 && s->n >= limit)
                break;
            s->record[s->n] = (tc_record){ .data = s->bytes.data + s->bytes.bytes,
                                           .bytes = entry->bytes,
                                           .id = dataset->first[i] + k };
            status = tc_shard_read(shard, k, &record);
            if (status == TC_OK)
                status = tc_buffer_append(&s->bytes, record.data, record.bytes);
            s->n++;
        }
        tc_shard_close(shard);
        shard = NULL;
    }
    printf("# %s: %lld of %llu pictures of %s, %s, %.1f kB each\n", s->name, (long long)s->n,
           (unsigned long long)dataset->records, dir, dataset->encoding,
           (double)s->bytes.bytes / (double)(s->n > 0 ? s->n : 1) * 1e-3);
    tc_buffer_free(&record);
    tc_dataset_free(dataset);
    return status;
}

/* The training path and the plain one agree on every record, but for the edges. */
static tc_status verify(bencher *b, const set *s)
{
    int64_t bytes = b->settings->size * b->settings->size * 3, compared = 0, sum = 0;
    uint8_t *plain;
    tc_status status = tc_alloc(bytes, 1, "a picture", &plain);

    for (int64_t i = 0; status == TC_OK && i < s->n; i++) {
        status = one(b, FULL, &s->record[i], plain);
        if (status == TC_OK)
            status = one(b, TRAIN, &s->record[i], b->out);
        if (b->jpeg.num_components == 4)
            continue;
        for (int64_t k = 0; k < bytes; k++)
            sum += abs(plain[k] - b->out[k]);
        compared += bytes;
    }
    tc_free(plain);
    if (status != TC_OK)
        return status;
    double mean = (double)sum / (double)(compared > 0 ? compared : 1);
    printf("# %s: train differs from full by %.4f grey levels in the mean\n", s->name, mean);
    if (compared == 0 || mean > MEAN_ALLOWED)
        return tc_fail(TC_FORMAT, "%s: the training path is wrong, more than %g", s->name,
                       MEAN_ALLOWED);
    return TC_OK;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

/* Images/s of every round. */
typedef double rates[MAX_SETS][PATHS][2][MAX_ROUNDS];

/* The median over the rounds of one rate, divided by another unless that is NULL. */
static double middle(const double *rate, const double *by, int rounds)
{
    double x[MAX_ROUNDS];

    for (int i = 0; i < rounds; i++)
        x[i] = by == NULL ? rate[i] : rate[i] / by[i];
    return median(x, rounds);
}

static void print(const settings *s, rates all, int passes)
{
    printf("#%-9s %8s %8s %10s %10s %9s %9s\n", "set", "path", "threads", "images/s", "per_core",
           "of_limit", "of_full");
    for (int i = 0; i < s->sets; i++)
        for (int t = 0; t < passes; t++)
            for (path p = 0; p < PATHS; p++) {
                const double *rate = all[i][p][t];
                double r = middle(rate, NULL, s->rounds);
                int threads = t == 0 ? 1 : s->threads;
                printf("%-10s %8s %8d %10.1f %10.1f %9.3f %9.3f\n", s->set[i].name, path_name[p],
                       threads, r, r / threads, middle(rate, all[i][HUFFMAN][t], s->rounds),
                       middle(rate, all[i][FULL][t], s->rounds));
            }
    for (int i = 0; passes > 1 && i < s->sets; i++)
        printf("# %s: %d threads on the training path are %.3f times one\n", s->set[i].name,
               s->threads, middle(all[i][TRAIN][1], all[i][TRAIN][0], s->rounds));
}

static tc_status measure(const settings *s, bencher *b)
{
    static rates all;
    int passes = s->threads > 1 ? 2 : 1;
    tc_status status = TC_OK;

    for (int round = 0; round < s->rounds; round++)
        for (int i = 0; i < s->sets; i++)
            for (path p = 0; p < PATHS; p++)
                for (int t = 0; status == TC_OK && t < passes; t++)
                    status = pass(b, t == 0 ? 1 : s->threads, &s->set[i], p, (uint64_t)round,
                                  &all[i][p][t][round]);
    if (status == TC_OK)
        print(s, all, passes);
    return status;
}

static const struct argp_option options[] = {
    { "threads", 't', "N", 0, "beside 1 thread, also time N", 0 },
    { "rounds", 'n', "N", 0, "the median of so many counts (9)", 0 },
    { "size", 's', "PIXELS", 0, "height and width of what comes out (224)", 0 },
    { "kernel", 'k', "NAME", 0, "resize by plain, avx2, avx512 (the best)", 0 },
    { "limit", 'l', "N", 0, "take so many records of each set; 0: all (0)", 0 },
    { 0 }
};

static int64_t number(struct argp_state *state, const char *arg, int64_t low, int64_t high)
{
    char *end = NULL;
    long long v = strtoll(arg, &end, 10);

    if (end == arg || *end != '\0' || v < low || v > high)
        argp_error(state, "'%s' is not a number from %lld to %lld", arg, (long long)low,
                   (long long)high);
    return v;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    settings *s = state->input;

    switch (key) {
    case 't':
        s->threads = (int)number(state, arg, 1, MAX_THREADS);
        return 0;
    case 'n':
        s->rounds = (int)number(state, arg, 1, MAX_ROUNDS);
        return 0;
    case 's':
        s->size = number(state, arg, 1, 1 << 14);
        return 0;
    case 'k':
        s->kernel = arg;
        return 0;
    case 'l':
        s->limit = number(state, arg, 0, INT64_MAX);
        return 0;
    case ARGP_KEY_ARG:
        if (strchr(arg, '=') == NULL || s->sets == MAX_SETS)
            argp_error(state, "give at most %d sets, as NAME=DIR", MAX_SETS);
        s->set[s->sets++].name = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which sets? NAME=DIR…");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static tc_status bench(settings *s, bencher *b)
{
    tc_status status = TC_OK;

    for (int t = 0; status == TC_OK && t < s->threads; t++)
        status = create_bencher(s, &b[t]);
    for (int i = 0; status == TC_OK && i < s->sets; i++) {
        char *dir = strchr(s->set[i].name, '=');
        *dir = '\0';
        status = load(&s->set[i], dir + 1, s->limit);
        if (status == TC_OK)
            status = verify(&b[0], &s->set[i]);
    }
    return status == TC_OK ? measure(s, b) : status;
}

int main(int argc, char **argv)
{
    static settings s = { .size = 224, .threads = 1, .rounds = 9 };
    static bencher b[MAX_THREADS];
    const struct argp argp = {
        options, parse, "NAME=DIR…", "Time the input path on packed sets.", 0, 0, 0
    };

    argp_err_exit_status = 2;
    if (argp_parse(&argp, argc, argv, 0, NULL, &s) != 0)
        return 2;
    s.resize = s.size >= 64 ? s.size * 256 / 224 : s.size;
    printf("# bench-input %s: %lld x %lld, median of %d rounds, resize kernel %s\n", TC_COMMIT,
           (long long)s.size, (long long)s.size, s.rounds,
           s.kernel ? s.kernel : tc_resize_kernel_name(0));
    tc_status status = bench(&s, b);
    if (status != TC_OK)
        fprintf(stderr, "bench-input: %s\n", tc_error_detail());
    for (int t = 0; t < s.threads; t++)
        destroy_bencher(&b[t]);
    for (int i = 0; i < s.sets; i++) {
        tc_buffer_free(&s.set[i].bytes);
        tc_free(s.set[i].record);
    }
    return status == TC_OK ? 0 : 1;
}
