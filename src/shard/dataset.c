#include <config.h>

#include "shard/dataset.h"

#include "shard/layout.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

typedef unsigned long long ull; /* for printf */

uint64_t tc_class_hash(const tc_class *classes, int64_t n)
{
    uint64_t hash = 0;

    /* Chained through the seed; the closing NUL keeps "ab","c" apart from "a","bc". */
    for (int64_t i = 0; i < n; i++)
        hash = XXH3_64bits_withSeed(classes[i].name, strlen(classes[i].name) + 1, hash);
    return hash;
}

void tc_dataset_free(tc_dataset *dataset)
{
    if (dataset == NULL)
        return;
    tc_free(dataset->classes);
    tc_free(dataset->first);
    tc_free(dataset);
}

typedef tc_status open_function(const tc_dataset *dataset, uint32_t i, tc_shard **shard_p);

static tc_status check_number(const tc_shard *shard, uint32_t i)
{
    if (tc_shard_number(shard) == i)
        return TC_OK;
    return tc_fail(TC_FORMAT, "%s: it is shard %u of its set: the files were renamed; pack again",
                   tc_shard_path(shard), tc_shard_number(shard));
}

/* Open shard i and check that it is this one. */
static tc_status open_as(const tc_dataset *dataset, uint32_t i,
                         tc_status (*open)(const char *path, tc_shard **shard_p),
                         tc_shard **shard_p)
{
    char path[sizeof dataset->path + 32];
    tc_shard *shard = NULL;

    snprintf(path, sizeof path, "%s/%05u.shard", dataset->path, i);
    tc_status status = open(path, &shard);
    if (status == TC_OK)
        status = check_number(shard, i);
    if (status != TC_OK) {
        tc_shard_close(shard);
        return status;
    }
    *shard_p = shard;
    return TC_OK;
}

/* Open shard i without its index. */
static tc_status open_numbered(const tc_dataset *dataset, uint32_t i, tc_shard **shard_p)
{
    return open_as(dataset, i, tc_shard_open_bare, shard_p);
}

/* Open shard i and check what does not depend on the record counts of dataset.json. */
static tc_status open_labelled(const tc_dataset *dataset, uint32_t i, tc_shard **shard_p)
{
    tc_shard *shard = NULL;

    tc_status status = open_as(dataset, i, tc_shard_open, &shard);
    for (uint64_t r = 0; status == TC_OK && r < tc_shard_records(shard); r++) {
        const tc_shard_entry *entry = tc_shard_entry_at(shard, r);
        if (entry->label < 0 || entry->label >= dataset->n_classes)
            status = tc_fail(TC_FORMAT,
                             "%s: record %llu (%.300s): label %d is none of the %lld classes of "
                             "%.300s/dataset.json; pack again",
                             tc_shard_path(shard), (ull)r, entry->name, entry->label,
                             (long long)dataset->n_classes, dataset->path);
    }
    if (status != TC_OK) {
        tc_shard_close(shard);
        return status;
    }
    *shard_p = shard;
    return TC_OK;
}

/* Hold a shard's record count against dataset.json. */
static tc_status check_count(const tc_dataset *dataset, uint32_t i, const tc_shard *shard)
{
    uint64_t want = dataset->first[i + 1] - dataset->first[i];

    if (tc_shard_records(shard) == want)
        return TC_OK;
    return tc_fail(TC_FORMAT,
                   "%s: it has %llu records, dataset.json beside it says %llu: they are not of one "
                   "set; pack again",
                   tc_shard_path(shard), (ull)tc_shard_records(shard), (ull)want);
}

static tc_status open_counted(const tc_dataset *dataset, uint32_t i, open_function *open,
                              tc_shard **shard_p)
{
    tc_shard *shard = NULL;

    if (i >= dataset->n_shards)
        return tc_fail(TC_INVAL, "%s: shard %u of %u asked for", dataset->path, i,
                       dataset->n_shards);
    tc_status status = open(dataset, i, &shard);
    if (status == TC_OK)
        status = check_count(dataset, i, shard);
    if (status != TC_OK) {
        tc_shard_close(shard);
        return status;
    }
    *shard_p = shard;
    return TC_OK;
}

tc_status tc_dataset_open_shard(const tc_dataset *dataset, uint32_t i, tc_shard **shard_p)
{
    return open_counted(dataset, i, open_labelled, shard_p);
}

tc_status tc_dataset_open_bare(const tc_dataset *dataset, uint32_t i, tc_shard **shard_p)
{
    return open_counted(dataset, i, open_numbered, shard_p);
}

static void add_record(tc_dataset *dataset, const tc_shard_entry *entry)
{
    uint32_t shorter = entry->width < entry->height ? entry->width : entry->height;
    uint32_t longer = entry->width < entry->height ? entry->height : entry->width;
    uint8_t raw[8]; /* little-endian, so that every machine finds the same identity */

    if (dataset->records == 0 || shorter < dataset->min_side)
        dataset->min_side = shorter;
    if (longer > dataset->max_side)
        dataset->max_side = longer;
    if (entry->bytes > dataset->max_bytes)
        dataset->max_bytes = entry->bytes;
    dataset->bytes += entry->bytes;
    dataset->records++;
    dataset->classes[entry->label].count++;
    tc_put_u64(raw, entry->checksum);
    dataset->identity = XXH3_64bits_withSeed(raw, sizeof raw, dataset->identity);
}

tc_status tc_dataset_scan(tc_dataset *dataset)
{
    uint64_t *first = NULL;

    tc_status status =
        tc_alloc((int64_t)dataset->n_shards + 1, sizeof *first, "shard numbers", &first);
    if (status != TC_OK)
        return status;
    tc_free(dataset->first);
    dataset->first = first;
    dataset->records = dataset->bytes = dataset->max_bytes = dataset->identity = 0;
    dataset->min_side = dataset->max_side = 0;
    for (int64_t c = 0; c < dataset->n_classes; c++)
        dataset->classes[c].count = 0;
    for (uint32_t i = 0; status == TC_OK && i < dataset->n_shards; i++) {
        tc_shard *shard = NULL;
        status = open_labelled(dataset, i, &shard);
        for (uint64_t r = 0; status == TC_OK && r < tc_shard_records(shard); r++)
            add_record(dataset, tc_shard_entry_at(shard, r));
        first[i + 1] = dataset->records;
        tc_shard_close(shard);
    }
    return status;
}

void tc_dataset_locate(const tc_dataset *dataset, uint64_t id, uint32_t *shard_p, uint64_t *i_p)
{
    uint32_t low = 0, high = dataset->n_shards; /* first[low] <= id < first[high] */

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (dataset->first[middle] <= id)
            low = middle;
        else
            high = middle;
    }
    *shard_p = low;
    *i_p = id - dataset->first[low];
}
