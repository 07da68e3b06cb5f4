/*
 * Write a small data set for the tests of training: DIR/train and DIR/val with shards, dataset.json
 * and the same pictures as files.  A picture's class is the place of a bright square on noise, so
 * that a small network learns it in a few epochs.
 *
 * make-set DIR [NAME=NUMBER ...]:  train=96 val=25 classes=4 side=32 shards=3 seed=1
 *   wrong_label=I  record I of train has a label beyond the last class
 *   truncated=I    the JPEG of record I of train ends in the middle
 */
#include <config.h>

#include "base/mem.h"
#include "base/rng.h"
#include "image/image.h"
#include "shard/dataset.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

typedef struct {
    const char *dir;
    int64_t train, val, classes, side, shards, seed, wrong_label, truncated;
} set_options;

static void set_option(set_options *o, const char *arg)
{
    const struct {
        const char *name;
        int64_t *value;
    } list[] = { { "train", &o->train },
                 { "val", &o->val },
                 { "classes", &o->classes },
                 { "side", &o->side },
                 { "shards", &o->shards },
                 { "seed", &o->seed },
                 { "wrong_label", &o->wrong_label },
                 { "truncated", &o->truncated } };
    const char *equals = strchr(arg, '=');

    for (size_t i = 0; equals != NULL && i < sizeof list / sizeof list[0]; i++)
        if (strlen(list[i].name) == (size_t)(equals - arg) &&
            strncmp(list[i].name, arg, (size_t)(equals - arg)) == 0) {
            *list[i].value = strtoll(equals + 1, NULL, 10);
            return;
        }
    fprintf(stderr, "make-set: what is '%s'?\n", arg);
    exit(2);
}

/* Noise, and a square whose place and colour tell the class. */
static void draw(const set_options *o, uint64_t id, int64_t label, uint8_t *rgb)
{
    tc_rng rng = tc_rng_make((uint64_t)o->seed, TC_STREAM_TEST, id, 0);
    int64_t s = o->side, half = s / 2;
    int64_t x0 = label % 2 * half + tc_rng_below(&rng, s / 8 + 1);
    int64_t y0 = label / 2 % 2 * half + tc_rng_below(&rng, s / 8 + 1);

    for (int64_t y = 0; y < s; y++)
        for (int64_t x = 0; x < s; x++)
            for (int c = 0; c < 3; c++) {
                bool inside = x >= x0 && x < x0 + half - s / 8 && y >= y0 && y < y0 + half - s / 8;
                int64_t v = 60 + tc_rng_below(&rng, 60) + (inside && label % 3 != c ? 110 : 0);
                rgb[(y * s + x) * 3 + c] = (uint8_t)v;
            }
}

static void check(tc_status status)
{
    if (status == TC_OK)
        return;
    fprintf(stderr, "make-set: %s\n", tc_error_detail());
    exit(1);
}

/* Append one picture to its shard, and write it as a file beside the shards. */
static void add(const set_options *o, tc_dataset *set, tc_shard_writer *writer, uint64_t id,
                uint8_t *rgb)
{
    tc_buffer jpeg = { 0 };
    tc_raster raster = { rgb, o->side, o->side, o->side * 3 };
    bool train = strcmp(set->split, "train") == 0;
    int64_t label = (int64_t)id % o->classes;
    char name[64], path[4200];

    draw(o, train ? id : id + (UINT64_C(1) << 32), label, rgb);
    check(tc_jpeg_encode(&raster, 90, TC_CHROMA_420, &jpeg));
    if (train && (int64_t)id == o->truncated)
        jpeg.bytes /= 2;
    snprintf(name, sizeof name, "%s-%06" PRIu64 ".jpg", set->split, id);
    snprintf(path, sizeof path, "%s/files/%s", set->path, name);
    FILE *file = fopen(path, "w");
    if (file == NULL || fwrite(jpeg.data, 1, jpeg.bytes, file) != jpeg.bytes || fclose(file) != 0)
        check(tc_fail(TC_IO, "%s: cannot write", path));
    tc_shard_entry entry = { .label = (int32_t)label,
                             .width = (uint32_t)o->side,
                             .height = (uint32_t)o->side,
                             .name = name };
    if (train && (int64_t)id == o->wrong_label)
        entry.label = (int32_t)o->classes + 3;
    check(tc_shard_append(writer, &entry, jpeg.data, jpeg.bytes));
    set->classes[label].count++;
    set->bytes += jpeg.bytes;
    set->max_bytes = jpeg.bytes > set->max_bytes ? jpeg.bytes : set->max_bytes;
    set->identity = XXH3_64bits_withSeed(jpeg.data, jpeg.bytes, set->identity);
    tc_buffer_free(&jpeg);
}

static void write_split(const set_options *o, const char *split, int64_t records)
{
    tc_dataset set = { .n_classes = o->classes,
                       .n_shards = (uint32_t)o->shards,
                       .records = (uint64_t)records,
                       .min_side = (uint32_t)o->side,
                       .max_side = (uint32_t)o->side,
                       .seed = (uint64_t)o->seed };
    uint8_t *rgb = NULL;
    char path[4200];

    snprintf(set.path, sizeof set.path, "%s/%s", o->dir, split);
    snprintf(set.split, sizeof set.split, "%s", split);
    snprintf(set.encoding, sizeof set.encoding, "jpeg q90 4:2:0, drawn by make-set");
    snprintf(path, sizeof path, "%s/files", set.path);
    mkdir(o->dir, 0777);
    mkdir(set.path, 0777);
    mkdir(path, 0777);
    check(tc_alloc(o->classes, sizeof *set.classes, "classes", &set.classes));
    check(tc_alloc(o->shards + 1, sizeof *set.first, "shards", &set.first));
    check(tc_alloc(o->side * o->side * 3, 1, "picture", &rgb));
    for (int64_t c = 0; c < o->classes; c++)
        snprintf(set.classes[c].name, sizeof set.classes[c].name, "class%" PRId64, c);
    set.class_hash = tc_class_hash(set.classes, set.n_classes);
    for (int64_t s = 0; s < o->shards; s++) {
        tc_shard_writer *writer = NULL;
        snprintf(path, sizeof path, "%s/%05" PRId64 ".shard", set.path, s);
        check(tc_shard_create(path, (uint32_t)s, &writer));
        set.first[s + 1] = (uint64_t)(records * (s + 1) / o->shards);
        for (uint64_t id = set.first[s]; id < set.first[s + 1]; id++)
            add(o, &set, writer, id, rgb);
        check(tc_shard_finish(writer));
    }
    check(tc_dataset_write(&set));
    tc_free(rgb);
    tc_free(set.first);
    tc_free(set.classes);
}

int main(int argc, char **argv)
{
    set_options o = { .train = 96,
                      .val = 25,
                      .classes = 4,
                      .side = 32,
                      .shards = 3,
                      .seed = 1,
                      .wrong_label = -1,
                      .truncated = -1 };

    if (argc < 2)
        return 2;
    o.dir = argv[1];
    for (int i = 2; i < argc; i++)
        set_option(&o, argv[i]);
    write_split(&o, "train", o.train);
    write_split(&o, "val", o.val);
    return 0;
}
