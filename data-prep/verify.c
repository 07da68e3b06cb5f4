#include <config.h>

#include "data-prep/commands.h"
#include "data-prep/parallel.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "image/image.h"
#include "shard/dataset.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SHOWN_MAX 50 /* faults named one by one */

/* What one thread needs. */
typedef struct {
    tc_buffer data;
    tc_decoder *decoder;
} desk;

typedef struct {
    const tc_dataset *dataset;
    const tc_shard *shard; /* the one at hand */
    desk *desks;
    bool decode;
    int threads;
    double started;
    _Atomic uint64_t faults, checked;
} verification;

static void fault(verification *v, const char *text)
{
    if (atomic_fetch_add(&v->faults, 1) < SHOWN_MAX)
        tc_log(TC_LOG_ERROR, "verify", "%s", text);
}

/* Decode a record whole and compare its sides with the index. */
static tc_status decode(const verification *v, desk *at, uint64_t i)
{
    const tc_shard_entry *entry = tc_shard_entry_at(v->shard, i);
    tc_image_info info = { 0 };
    tc_raster raster;

    tc_status status = tc_decoder_open(at->decoder, at->data.data, at->data.bytes, &info);
    if (status == TC_OK && (info.w != entry->width || info.h != entry->height))
        status =
            tc_fail(TC_FORMAT, "its sides are %" PRId64 " x %" PRId64 ", the index says %u x %u",
                    info.w, info.h, entry->width, entry->height);
    if (status == TC_OK)
        status = tc_decoder_crop(at->decoder, (tc_rect){ 0, 0, info.w, info.h }, &raster);
    if (status == TC_OK)
        return TC_OK;
    return tc_fail(status, "%s: record %" PRIu64 " (%.300s): %s; pack again",
                   tc_shard_path(v->shard), i, entry->name, tc_error_detail());
}

static tc_status check_record(void *context, int thread, uint64_t i)
{
    verification *v = context;
    desk *at = &v->desks[thread];

    tc_status status = tc_shard_read(v->shard, i, &at->data);
    if (status == TC_OK && v->decode)
        status = decode(v, at, i);
    if (status == TC_NOMEM)
        return status;
    if (status != TC_OK)
        fault(v, tc_error_detail());
    uint64_t checked = atomic_fetch_add(&v->checked, 1) + 1;
    if (tc_now() - v->started > 1.0) /* a short check needs no progress line */
        tc_progress(false, "verify: %s: %" PRIu64 " of %" PRIu64 " records", v->dataset->split,
                    checked, v->dataset->records);
    return TC_OK;
}

/* What dataset.json says in total against what the indexes say. */
static tc_status check_totals(verification *v, const char *dir)
{
    const tc_dataset *said = v->dataset;
    tc_dataset *found = NULL;
    char text[512];

    tc_status status = tc_dataset_read(dir, said->split, &found);
    if (status == TC_OK)
        status = tc_dataset_scan(found);
    if (status != TC_OK) {
        tc_dataset_free(found);
        return status;
    }
    for (int64_t c = 0; c < said->n_classes; c++) {
        if (said->classes[c].count == found->classes[c].count)
            continue;
        snprintf(text, sizeof text,
                 "%.200s/dataset.json: class %.100s: it says %" PRIu64 " records, the shards have "
                 "%" PRIu64 "; pack again",
                 said->path, said->classes[c].name, said->classes[c].count,
                 found->classes[c].count);
        fault(v, text);
    }
    if (said->bytes != found->bytes || said->max_bytes != found->max_bytes ||
        said->min_side != found->min_side || said->max_side != found->max_side ||
        said->identity != found->identity) {
        snprintf(text, sizeof text,
                 "%.200s/dataset.json: its totals are not those of the shards (bytes %" PRIu64
                 ", found %" PRIu64 "; identity %016" PRIx64 ", found %016" PRIx64 "); pack again",
                 said->path, said->bytes, found->bytes, said->identity, found->identity);
        fault(v, text);
    }
    tc_dataset_free(found);
    return TC_OK;
}

static tc_status check_split(verification *v, const char *dir)
{
    bool opened = true;

    for (uint32_t s = 0; s < v->dataset->n_shards; s++) {
        tc_shard *shard = NULL;
        tc_status status = tc_dataset_open_shard(v->dataset, s, &shard);
        if (status == TC_OK) {
            v->shard = shard;
            status = tc_parallel(v->threads, tc_shard_records(shard), check_record, v);
            tc_shard_close(shard);
            if (status != TC_OK)
                return status;
        } else if (status == TC_NOMEM) {
            return status;
        } else {
            fault(v, tc_error_detail());
            opened = false;
        }
    }
    return opened ? check_totals(v, dir) : TC_OK;
}

static void close_desks(verification *v)
{
    for (int t = 0; v->desks != NULL && t < v->threads; t++) {
        tc_buffer_free(&v->desks[t].data);
        tc_decoder_destroy(v->desks[t].decoder);
    }
    tc_free(v->desks);
}

static tc_status open_desks(verification *v)
{
    tc_status status = tc_alloc(v->threads, sizeof *v->desks, "threads", &v->desks);

    for (int t = 0; status == TC_OK && v->decode && t < v->threads; t++)
        status = tc_decoder_create(0, &v->desks[t].decoder);
    return status;
}

/* Both splits, where their folders are there; *sets then hold what could be read. */
static tc_status check_splits(verification *v, const char *dir, tc_dataset *sets[2])
{
    static const char *const splits[] = { "train", "val" };
    tc_status status = TC_OK;
    int found = 0;

    for (int i = 0; status == TC_OK && i < 2; i++) {
        char path[4096];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", dir, splits[i]);
        if (stat(path, &st) != 0 && (i == 0 || found > 0))
            continue;
        if (stat(path, &st) != 0) /* neither: the text says what is missing */
            return tc_dataset_read(dir, splits[i], &sets[i]);
        found++;
        if (tc_dataset_read(dir, splits[i], &sets[i]) != TC_OK) {
            fault(v, tc_error_detail());
            continue;
        }
        v->dataset = sets[i];
        atomic_store(&v->checked, 0);
        v->started = tc_now();
        uint64_t before = atomic_load(&v->faults);
        status = check_split(v, dir);
        if (status == TC_OK)
            printf("%s: %" PRIu64 " records, %.1f MB%s, %" PRIu64 " faults, %.1f s\n",
                   sets[i]->path, sets[i]->records, (double)sets[i]->bytes / 1e6,
                   v->decode ? ", decoded" : "", atomic_load(&v->faults) - before,
                   tc_now() - v->started);
    }
    return status;
}

tc_status tc_pack_verify(const char *dir, bool decode_too, int threads)
{
    verification v = { .decode = decode_too, .threads = threads };
    tc_dataset *sets[2] = { NULL, NULL };
    char text[512];

    tc_status status = open_desks(&v);
    if (status == TC_OK)
        status = check_splits(&v, dir, sets);
    if (status == TC_OK && sets[0] != NULL && sets[1] != NULL &&
        sets[0]->class_hash != sets[1]->class_hash) {
        snprintf(text, sizeof text, "%.300s: train and val have different classes; pack val again",
                 dir);
        fault(&v, text);
    }
    close_desks(&v);
    tc_dataset_free(sets[0]);
    tc_dataset_free(sets[1]);
    uint64_t faults = atomic_load(&v.faults);
    if (status == TC_OK && faults > 0)
        status = tc_fail(TC_FORMAT, "%s: %" PRIu64 " faults%s", dir, faults,
                         faults > SHOWN_MAX ? ", the first of them named above" : ", named above");
    return status;
}
