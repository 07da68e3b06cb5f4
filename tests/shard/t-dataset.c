/* dataset.json: round trip, numbering through, and every contradiction refused by name. */
#include <config.h>

#include "shard/dataset.h"

#include "../tap.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARDS 3

static char folder[] = "t-dataset.XXXXXX";
static char json[128];
static const int counts[SHARDS] = { 4, 0, 3 }; /* records: one shard is empty */

static tc_status write_shards(const char *path)
{
    tc_status status = TC_OK;

    for (uint32_t s = 0; status == TC_OK && s < SHARDS; s++) {
        tc_shard_writer *writer = NULL;
        char file[128];
        snprintf(file, sizeof file, "%s/%05u.shard", path, s);
        status = tc_shard_create(file, s, &writer);
        for (int i = 0; status == TC_OK && i < counts[s]; i++) {
            char text[32];
            snprintf(text, sizeof text, "picture %d of %u", i, s);
            tc_shard_entry entry = { .label = i % 2, .width = 8 + s, .height = 40, .name = "a/b" };
            status = tc_shard_append(writer, &entry, text, strlen(text) + (size_t)i);
        }
        if (status == TC_OK)
            status = tc_shard_finish(writer);
    }
    return status;
}

static tc_dataset *make(tc_class *classes)
{
    tc_dataset *dataset = NULL;

    if (tc_alloc(1, sizeof *dataset, "test", &dataset) != TC_OK)
        return NULL;
    snprintf(dataset->path, sizeof dataset->path, "%s/train", folder);
    snprintf(dataset->split, sizeof dataset->split, "train");
    snprintf(dataset->encoding, sizeof dataset->encoding, "kept");
    dataset->n_classes = 2;
    dataset->classes = classes;
    dataset->class_hash = tc_class_hash(classes, 2);
    dataset->n_shards = SHARDS;
    dataset->seed = 12345678901234;
    return dataset;
}

static void check_round_trip(const tc_dataset *made)
{
    tc_dataset *read = NULL;
    tc_shard *shard = NULL;
    uint32_t s = 9;
    uint64_t i = 9;

    tap_ok(tc_dataset_write(made) == TC_OK, "dataset.json is written %s", tc_error_detail());
    tap_ok(tc_dataset_read(folder, "train", &read) == TC_OK, "and read %s", tc_error_detail());
    if (read == NULL)
        return;
    tap_ok(read->n_classes == 2 && strcmp(read->classes[1].name, "bird") == 0 &&
               strcmp(read->classes[1].words, "flies; \"sings\" \xc3\xa4") == 0 &&
               read->classes[0].count == 4 && read->classes[1].count == 3 &&
               read->class_hash == made->class_hash,
           "its classes");
    tap_ok(read->records == 7 && read->bytes == made->bytes && read->max_bytes == 17 &&
               read->min_side == 8 && read->max_side == 40 && read->seed == 12345678901234 &&
               read->identity == made->identity && strcmp(read->encoding, "kept") == 0,
           "its totals");
    tap_ok(read->n_shards == 3 && read->first[0] == 0 && read->first[1] == 4 &&
               read->first[2] == 4 && read->first[3] == 7,
           "records are numbered through the shards");
    tc_dataset_locate(read, 3, &s, &i);
    bool ok = s == 0 && i == 3;
    tc_dataset_locate(read, 4, &s, &i);
    ok = ok && s == 2 && i == 0;
    tc_dataset_locate(read, 6, &s, &i);
    tap_ok(ok && s == 2 && i == 2, "a record is found behind an empty shard");
    ok = true;
    for (uint32_t k = 0; k < SHARDS; k++) {
        ok = ok && tc_dataset_open_shard(read, k, &shard) == TC_OK &&
             tc_shard_records(shard) == (uint64_t)counts[k];
        tc_shard_close(shard);
        shard = NULL;
    }
    tap_ok(ok && tc_dataset_open_shard(read, SHARDS, &shard) == TC_INVAL, "its shards open");
    read->first[1] = 3;
    tap_ok(tc_dataset_open_shard(read, 0, &shard) == TC_FORMAT &&
               strstr(tc_error_detail(), "00000.shard: it has 4 records"),
           "a shard of another set: %s", tc_error_detail());
    read->n_classes = 1;
    tap_ok(tc_dataset_open_shard(read, 2, &shard) == TC_FORMAT &&
               strstr(tc_error_detail(), "record 1 (a/b): label 1 is none of the 1 classes"),
           "a label out of range: %s", tc_error_detail());
    tc_dataset_free(read);
    tc_dataset_free(NULL);
}

/* dataset.json with the first `from` replaced by `to` must be refused with this text. */
static void refused(const char *good, const char *from, const char *to, const char *text)
{
    tc_dataset *read = NULL;
    const char *at = strstr(good, from);
    FILE *file = fopen(json, "w");

    if (at != NULL && file != NULL)
        fprintf(file, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    bool saved = at != NULL && file != NULL && fclose(file) == 0;
    tc_fail(TC_OK, "%s", "");
    tc_status status = tc_dataset_read(folder, "train", &read);
    tap_ok(saved && status == TC_FORMAT && read == NULL && strstr(tc_error_detail(), text) &&
               strstr(tc_error_detail(), "train/dataset.json") && strstr(tc_error_detail(), "pack"),
           "%s -> %s: %s", from, to, tc_error_detail());
}

static void check_damage(void)
{
    static char good[8192];
    FILE *file = fopen(json, "r");
    size_t bytes = file == NULL ? 0 : fread(good, 1, sizeof good - 1, file);

    if (file != NULL)
        fclose(file);
    good[bytes] = '\0';
    refused(good, "{", "{,", "line 1");
    refused(good, "tricolor dataset", "other dataset", "not a tricolor dataset");
    refused(good, "\"version\": 1", "\"version\": 2", "packed by another version: its format is 2");
    refused(good, "\"split\": \"train\"", "\"split\": \"val\"", "says it is the val set");
    refused(good, "\"records\": 7", "\"records\": 8", "do not add up to its 8 records");
    refused(good, "\"records\": 7", "\"records\": -7", "out of range");
    refused(good, "\"records\": 7", "\"records\": 7.0", "wrong type");
    refused(good, "\"count\": 4", "\"count\": 5", "do not add up");
    refused(good, "\"count\": 4", "\"count\": 9223372036854775807", "do not add up");
    refused(good, "\"records\": 4", "\"records\": 3", "its shards have 6 records");
    refused(good, "\"records\": 4", "\"records\": 9", "out of range");
    refused(good, "00002.shard", "00003.shard", "is called 00003.shard");
    refused(good, "\"name\": \"ant\"", "\"name\": \"ape\"", "hash of its classes");
    refused(good, "\"max_bytes\": 17", "\"max_bytes\": 1700", "contradict");
    refused(good, "\"min_side\": 8", "\"min_side\": 41", "contradict");
    refused(good, "\"identity\"", "\"identify\"", "\"identity\" is missing");
    refused(good, "\"encoding\": \"kept\"", "\"encoding\": 3", "wrong type");
    refused(good, "\"class_hash\": \"", "\"class_hash\": \"g", "class_hash");
    refused(good, "\"shards\": [", "\"shards\": [], \"more\": [", "0 shards");
    refused(good, "\"classes\": [", "\"classes\": [], \"more\": [", "0 classes");
}

static void check_missing(void)
{
    tc_dataset *read = NULL;

    unlink(json);
    tap_ok(tc_dataset_read(folder, "train", &read) == TC_IO &&
               strstr(tc_error_detail(), "dataset.json: missing") &&
               strstr(tc_error_detail(), "tricolor-pack"),
           "no mark, no set: %s", tc_error_detail());
    tap_ok(tc_dataset_read(folder, "val", &read) == TC_IO && strstr(tc_error_detail(), "/val/"),
           "no such split: %s", tc_error_detail());
    tap_ok(tc_dataset_read("nowhere", "val", &read) == TC_IO &&
               strstr(tc_error_detail(), "nowhere: no such data set") && read == NULL,
           "no such folder: %s", tc_error_detail());
}

int main(void)
{
    char path[64], file[128];
    tc_class *classes = NULL;

    if (mkdtemp(folder) == NULL || tc_alloc(2, sizeof *classes, "test", &classes) != TC_OK)
        return 99;
    snprintf(path, sizeof path, "%s/train", folder);
    snprintf(json, sizeof json, "%s/dataset.json", path);
    mkdir(path, 0777);
    snprintf(classes[0].name, sizeof classes[0].name, "ant");
    snprintf(classes[1].name, sizeof classes[1].name, "bird");
    snprintf(classes[1].words, sizeof classes[1].words, "flies; \"sings\" \xc3\xa4");
    tc_dataset *made = make(classes);
    tap_ok(write_shards(path) == TC_OK && made != NULL && tc_dataset_scan(made) == TC_OK,
           "shards are written and scanned %s", tc_error_detail());
    check_round_trip(made);
    check_damage();
    check_missing();
    tc_class other[2] = { { .name = "ab" }, { .name = "c" } };
    tc_class shifted[2] = { { .name = "a" }, { .name = "bc" } };
    tap_ok(tc_class_hash(other, 2) != tc_class_hash(shifted, 2), "class names do not run together");
    for (uint32_t s = 0; s < SHARDS; s++) {
        snprintf(file, sizeof file, "%s/%05u.shard", path, s);
        unlink(file);
    }
    tc_dataset_free(made);
    rmdir(path);
    rmdir(folder);
    return tap_done();
}
