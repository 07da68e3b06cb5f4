#ifndef TC_TESTS_STORE_SET_H
#define TC_TESTS_STORE_SET_H
/* Small data sets for tests of store/ and loader/, made through the shard writer. */
#include "shard/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Fill entry and data of record `id`. */
typedef void set_record(uint64_t id, tc_shard_entry *entry, tc_buffer *data);

static inline tc_status set_write_shard(const char *path, uint32_t shard, uint64_t first,
                                        uint64_t count, set_record *record)
{
    tc_shard_writer *writer = NULL;
    tc_buffer data = { 0 };

    tc_status status = tc_shard_create(path, shard, &writer);
    for (uint64_t i = 0; status == TC_OK && i < count; i++) {
        tc_shard_entry entry = { 0 };
        data.bytes = 0;
        record(first + i, &entry, &data);
        status = tc_shard_append(writer, &entry, data.data, data.bytes);
    }
    tc_buffer_free(&data);
    if (status == TC_OK)
        return tc_shard_finish(writer);
    tc_shard_abandon(writer);
    return status;
}

/* dir/split with shards of counts[0..n_shards) records and two classes. */
static inline tc_status set_write(const char *dir, const char *split, const uint64_t *counts,
                                  uint32_t n_shards, set_record *record)
{
    tc_class classes[2] = { { .name = "even" }, { .name = "odd" } };
    tc_dataset *set = calloc(1, sizeof *set);
    uint64_t first = 0;
    char path[sizeof set->path + 32];
    tc_status status = TC_OK;

    snprintf(set->path, sizeof set->path, "%s/%s", dir, split);
    snprintf(set->split, sizeof set->split, "%s", split);
    snprintf(set->encoding, sizeof set->encoding, "kept");
    set->n_classes = 2;
    set->classes = classes;
    set->class_hash = tc_class_hash(classes, 2);
    set->n_shards = n_shards;
    if (mkdir(set->path, 0777) != 0)
        status = tc_fail(TC_IO, "%s: cannot be made", set->path);
    for (uint32_t s = 0; status == TC_OK && s < n_shards; first += counts[s++]) {
        snprintf(path, sizeof path, "%s/%05u.shard", set->path, s);
        status = set_write_shard(path, s, first, counts[s], record);
    }
    if (status == TC_OK)
        status = tc_dataset_scan(set);
    if (status == TC_OK)
        status = tc_dataset_write(set);
    tc_free(set->first);
    free(set);
    return status;
}

static inline void set_remove(const char *dir)
{
    char command[4200];

    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (system(command) != 0)
        fprintf(stderr, "# %s stays behind\n", dir);
}
#endif
