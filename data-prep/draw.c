/* tricolor-draw: the demo's picture set, drawn; the same everywhere for a seed. */
#include <config.h>

#include "data-prep/scene.h"
#include "data-prep/shapes.h"

#include "base/log.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUALITY      92
#define MAX_PICTURES 100000000
#define MAX_THREADS  1024
/* Validation pictures have numbers of their own, whatever --train says. */
#define VAL_IDS ((uint64_t)1 << 32)

typedef struct {
    const char *dir;
    int64_t train, val, size, classes, threads; /* threads 0: the cores of this machine */
    uint64_t seed;
} options;

/* One set of pictures and the threads that draw it. */
typedef struct {
    const options *opt;
    atomic_int_least64_t next; /* pictures handed out; train first, then val */
    pthread_mutex_t lock;
    tc_status status; /* of the first failure, under the lock */
    char detail[1024];
} drawing;

static tc_status make_dir(const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return TC_OK;
    return tc_fail(TC_IO, "%s: cannot make the folder: %s", path, strerror(errno));
}

static tc_status write_file(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");

    if (!file)
        return tc_fail(TC_IO, "%s: cannot write: %s", path, strerror(errno));
    bool written = fwrite(data, 1, bytes, file) == bytes;
    if (fclose(file) != 0 || !written)
        return tc_fail(TC_IO, "%s: cannot write %zu bytes: %s", path, bytes, strerror(errno));
    return TC_OK;
}

/* Picture i of the whole set: train and val each go through the classes in turn. */
static tc_status draw_one(const options *opt, int64_t i, const tc_raster *raster, tc_buffer *jpeg)
{
    char path[4096];
    bool val = i >= opt->train;
    int64_t k = val ? i - opt->train : i;
    int label = (int)(k % opt->classes);

    tc_scene_draw(opt->seed, val ? VAL_IDS + (uint64_t)k : (uint64_t)k, label, raster);
    jpeg->bytes = 0;
    tc_status status = tc_jpeg_encode(raster, QUALITY, TC_CHROMA_444, jpeg);
    if (status != TC_OK)
        return status;
    snprintf(path, sizeof path, "%s/%s/%s/%04lld.jpg", opt->dir, val ? "val" : "train",
             tc_shape_get(label)->name, (long long)(k / opt->classes));
    return write_file(path, jpeg->data, jpeg->bytes);
}

static void *worker(void *argument)
{
    drawing *d = argument;
    const options *opt = d->opt;
    int64_t all = opt->train + opt->val, i;
    tc_raster raster = { .w = opt->size, .h = opt->size, .stride = 3 * opt->size };
    tc_buffer jpeg = { 0 };
    tc_status status = tc_alloc(opt->size * raster.stride, 1, "a picture", &raster.data);

    while (status == TC_OK && (i = atomic_fetch_add(&d->next, 1)) < all) {
        status = draw_one(opt, i, &raster, &jpeg);
        if (i % 64 == 0)
            tc_progress(false, "draw: %lld of %lld pictures", (long long)i, (long long)all);
    }
    if (status != TC_OK) {
        atomic_store(&d->next, all); /* the others stop too */
        pthread_mutex_lock(&d->lock);
        if (d->status == TC_OK) {
            d->status = status;
            snprintf(d->detail, sizeof d->detail, "%s", tc_error_detail());
        }
        pthread_mutex_unlock(&d->lock);
    }
    tc_buffer_free(&jpeg);
    tc_free(raster.data);
    return NULL;
}

static tc_status draw_all(const options *opt)
{
    drawing d = { .opt = opt, .lock = PTHREAD_MUTEX_INITIALIZER, .status = TC_OK };
    pthread_t thread[MAX_THREADS];
    int64_t cores = sysconf(_SC_NPROCESSORS_ONLN), started = 0;
    int64_t wanted = opt->threads > 0 ? opt->threads : cores < 1 ? 1 : cores;

    wanted = wanted > MAX_THREADS ? MAX_THREADS : wanted;
    while (started < wanted && pthread_create(&thread[started], NULL, worker, &d) == 0)
        started++;
    if (started == 0)
        return tc_fail(TC_NOMEM, "cannot start a thread; lower --threads");
    for (int64_t i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    if (d.status != TC_OK)
        return tc_fail(d.status, "%s", d.detail);
    tc_progress(true, "draw: %lld pictures in %s", (long long)(opt->train + opt->val), opt->dir);
    return TC_OK;
}

static tc_status make_folders(const options *opt)
{
    static const char *const split[] = { "train", "val" };
    char path[4096];

    for (int s = 0; s < 2; s++) {
        snprintf(path, sizeof path, "%s/%s", opt->dir, split[s]);
        tc_status status = make_dir(path);
        for (int c = 0; c < opt->classes && status == TC_OK; c++) {
            snprintf(path, sizeof path, "%s/%s/%s", opt->dir, split[s], tc_shape_get(c)->name);
            status = make_dir(path);
        }
        if (status != TC_OK)
            return status;
    }
    return TC_OK;
}

/* Does the file hold exactly this text? */
static bool holds(const char *path, const char *text)
{
    char found[512];
    FILE *file = fopen(path, "rb");

    if (!file)
        return false;
    size_t bytes = fread(found, 1, sizeof found - 1, file);
    fclose(file);
    found[bytes] = '\0';
    return strcmp(found, text) == 0;
}

/*
 * A set is complete when DIR/drawn says how it was made.  Until then DIR/drawing says so: the same
 * command goes over an interrupted set again, and any other folder with pictures is refused, so
 * that two sets never mix.
 */
static tc_status draw_set(const options *opt)
{
    char done[4096], begun[4096], train[4096], text[512];

    if (strlen(opt->dir) > 3000)
        return tc_fail(TC_INVAL, "the name of the folder is longer than 3000 bytes");
    snprintf(done, sizeof done, "%s/drawn", opt->dir);
    snprintf(begun, sizeof begun, "%s/drawing", opt->dir);
    snprintf(train, sizeof train, "%s/train", opt->dir);
    snprintf(text, sizeof text,
             "tricolor-draw 1: train %lld, val %lld, size %lld, classes %lld, seed %llu\n",
             (long long)opt->train, (long long)opt->val, (long long)opt->size,
             (long long)opt->classes, (unsigned long long)opt->seed);
    if (holds(done, text)) {
        tc_log(TC_LOG_INFO, "draw", "%s is already drawn", opt->dir);
        return TC_OK;
    }
    if (access(train, F_OK) == 0 && !holds(begun, text))
        return tc_fail(TC_INVAL, "%s holds other pictures; remove it or name another -o", train);
    tc_status status = make_dir(opt->dir);
    if (status == TC_OK)
        status = write_file(begun, text, strlen(text));
    if (status == TC_OK)
        status = make_folders(opt);
    if (status == TC_OK)
        status = draw_all(opt);
    if (status == TC_OK && rename(begun, done) != 0)
        status = tc_fail(TC_IO, "%s: cannot rename: %s", begun, strerror(errno));
    return status;
}

enum { KEY_TRAIN = 256, KEY_VAL, KEY_SIZE, KEY_CLASSES, KEY_SEED, KEY_THREADS };

static const struct argp_option argp_options[] = {
    { "output", 'o', "DIR", 0, "Folder to make: DIR/train/CLASS/NNNN.jpg and DIR/val/…", 0 },
    { "train", KEY_TRAIN, "COUNT", 0, "Training pictures (6000)", 0 },
    { "val", KEY_VAL, "COUNT", 0, "Validation pictures (1000)", 0 },
    { "size", KEY_SIZE, "PIXELS", 0, "Width and height (32)", 0 },
    { "classes", KEY_CLASSES, "COUNT", 0, "Classes, 2 to 12 (10)", 0 },
    { "seed", KEY_SEED, "NUMBER", 0, "The set is the same everywhere for a seed (1)", 0 },
    { "threads", KEY_THREADS, "COUNT", 0, "Drawing threads (the cores); no effect on the set", 0 },
    { 0 },
};

static int64_t number(struct argp_state *state, const char *name, const char *text, int64_t low,
                      int64_t high)
{
    char *end;

    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < low || value > high)
        argp_error(state, "--%s %s: a number from %lld to %lld is wanted", name, text,
                   (long long)low, (long long)high);
    return value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    options *opt = state->input;

    switch (key) {
    case 'o':
        opt->dir = arg;
        return 0;
    case KEY_TRAIN:
        opt->train = number(state, "train", arg, 0, MAX_PICTURES);
        return 0;
    case KEY_VAL:
        opt->val = number(state, "val", arg, 0, MAX_PICTURES);
        return 0;
    case KEY_SIZE:
        opt->size = number(state, "size", arg, 8, 4096);
        return 0;
    case KEY_CLASSES:
        opt->classes = number(state, "classes", arg, 2, TC_SHAPES);
        return 0;
    case KEY_SEED:
        opt->seed = (uint64_t)number(state, "seed", arg, 0, INT64_MAX);
        return 0;
    case KEY_THREADS:
        opt->threads = number(state, "threads", arg, 1, MAX_THREADS);
        return 0;
    case ARGP_KEY_END:
        if (!opt->dir)
            argp_error(state, "name the folder to make: -o DIR");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp parser = {
        .options = argp_options,
        .parser = parse,
        .doc = "Draw a labelled picture set: coloured figures on textured grounds, for a first "
               "training run without a download.",
    };
    options opt = { .train = 6000, .val = 1000, .size = 32, .classes = 10, .seed = 1 };

    argp_program_version = "tricolor-draw " PACKAGE_VERSION;
    argp_err_exit_status = 2;
    argp_parse(&parser, argc, argv, 0, NULL, &opt);
    if (draw_set(&opt) != TC_OK) {
        tc_log(TC_LOG_ERROR, "draw", "%s", tc_error_detail());
        return 1;
    }
    return 0;
}
