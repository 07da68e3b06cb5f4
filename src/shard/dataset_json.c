#include <config.h>

#include "shard/dataset.h"

#include "shard/durable.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT_NAME "tricolor dataset"
#define REMEDY      "pack again with tricolor-pack create"

/* Hashes stand as 16 hexadecimal digits: JSON's numbers are not made for 64 bits. */
static json_t *hex(uint64_t value)
{
    char text[17];

    snprintf(text, sizeof text, "%016" PRIx64, value);
    return json_string(text);
}

static json_t *number(uint64_t value)
{
    return value > INT64_MAX ? NULL : json_integer((json_int_t)value);
}

/* NULL where memory ran out, a name is not UTF-8 or a number does not fit. */
static json_t *build(const tc_dataset *dataset)
{
    json_t *classes = json_array(), *shards = json_array();
    int bad = classes == NULL || shards == NULL;

    for (int64_t i = 0; !bad && i < dataset->n_classes; i++) {
        const tc_class *c = &dataset->classes[i];
        bad = json_array_append_new(classes, json_pack("{s:s, s:s, s:o}", "name", c->name, "words",
                                                       c->words, "count", number(c->count)));
    }
    for (uint32_t i = 0; !bad && i < dataset->n_shards; i++) {
        char name[32];
        snprintf(name, sizeof name, "%05u.shard", i);
        bad = json_array_append_new(shards,
                                    json_pack("{s:s, s:o}", "file", name, "records",
                                              number(dataset->first[i + 1] - dataset->first[i])));
    }
    if (bad) {
        json_decref(classes);
        json_decref(shards);
        return NULL;
    }
    return json_pack("{s:s, s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "format", FORMAT_NAME, "version", TC_DATASET_VERSION, "split", dataset->split,
                     "encoding", dataset->encoding, "seed", number(dataset->seed), "records",
                     number(dataset->records), "bytes", number(dataset->bytes), "max_bytes",
                     number(dataset->max_bytes), "min_side", number(dataset->min_side), "max_side",
                     number(dataset->max_side), "class_hash", hex(dataset->class_hash), "identity",
                     hex(dataset->identity), "classes", classes, "shards", shards);
}

tc_status tc_dataset_write(const tc_dataset *dataset)
{
    char path[sizeof dataset->path + 32], tmp[sizeof dataset->path + 32];
    tc_status status = TC_OK;

    snprintf(path, sizeof path, "%s/dataset.json", dataset->path);
    snprintf(tmp, sizeof tmp, "%s/dataset.json.tmp", dataset->path);
    json_t *root = build(dataset);
    if (root == NULL)
        return tc_fail(TC_INVAL,
                       "%s: cannot be written as JSON: a class name is not UTF-8, or a number is "
                       "above 2^63 - 1",
                       path);
    FILE *file = fopen(tmp, "we");
    if (file == NULL) {
        status = tc_fail(TC_IO, "%s: cannot create: %s", tmp, strerror(errno));
    } else {
        if (json_dumpf(root, file, JSON_INDENT(1)) != 0 || fputc('\n', file) == EOF)
            status = tc_fail(TC_IO, "%s: cannot write: %s", tmp, strerror(errno));
        if (status == TC_OK)
            status = tc_durable_sync(file, tmp);
        fclose(file); /* synced */
        if (status == TC_OK)
            status = tc_durable_rename(tmp, path);
        if (status != TC_OK)
            unlink(tmp);
    }
    json_decref(root);
    return status;
}

/* The fields still to read from one file; the first that is wrong is kept. */
typedef struct {
    const char *path;
    tc_status status;
} reading;

static const json_t *field(reading *r, const json_t *object, const char *key, json_type type)
{
    const json_t *value = json_object_get(object, key);

    if (r->status == TC_OK && (value == NULL || json_typeof(value) != type))
        r->status =
            tc_fail(TC_FORMAT, "%s: \"%s\" is missing or of the wrong type; " REMEDY, r->path, key);
    return r->status == TC_OK ? value : NULL;
}

static uint64_t read_number(reading *r, const json_t *object, const char *key, uint64_t max)
{
    json_int_t value = json_integer_value(field(r, object, key, JSON_INTEGER));

    if (r->status == TC_OK && (value < 0 || (uint64_t)value > max))
        r->status = tc_fail(TC_FORMAT, "%s: \"%s\" is out of range (%lld); " REMEDY, r->path, key,
                            (long long)value);
    return r->status == TC_OK ? (uint64_t)value : 0;
}

static void read_text(reading *r, const json_t *object, const char *key, char *text, size_t size)
{
    const json_t *value = field(r, object, key, JSON_STRING);

    if (value != NULL && snprintf(text, size, "%s", json_string_value(value)) >= (int)size)
        r->status = tc_fail(TC_FORMAT, "%s: \"%s\" is longer than %zu bytes; " REMEDY, r->path, key,
                            size - 1);
}

static uint64_t read_hex(reading *r, const json_t *object, const char *key)
{
    char text[17] = "", *end = text;

    read_text(r, object, key, text, sizeof text);
    uint64_t value = strtoull(text, &end, 16);
    if (r->status == TC_OK && (end != text + 16 || strspn(text, "0123456789abcdef") != 16))
        r->status =
            tc_fail(TC_FORMAT, "%s: \"%s\" is not 16 hexadecimal digits; " REMEDY, r->path, key);
    return value;
}

static void read_classes(reading *r, const json_t *root, tc_dataset *dataset)
{
    const json_t *list = field(r, root, "classes", JSON_ARRAY);
    size_t n = json_array_size(list);

    if (r->status == TC_OK && (n == 0 || n > INT32_MAX))
        r->status = tc_fail(TC_FORMAT, "%s: it has %zu classes; " REMEDY, r->path, n);
    if (r->status == TC_OK)
        r->status = tc_alloc((int64_t)n, sizeof *dataset->classes, "classes", &dataset->classes);
    for (size_t i = 0; r->status == TC_OK && i < n; i++) {
        const json_t *item = json_array_get(list, i);
        tc_class *c = &dataset->classes[i];
        read_text(r, item, "name", c->name, sizeof c->name);
        read_text(r, item, "words", c->words, sizeof c->words);
        c->count = read_number(r, item, "count", INT64_MAX);
        dataset->n_classes = (int64_t)i + 1;
    }
}

static void read_shards(reading *r, const json_t *root, tc_dataset *dataset)
{
    const json_t *list = field(r, root, "shards", JSON_ARRAY);
    size_t n = json_array_size(list);

    if (r->status == TC_OK && (n == 0 || n > 100000))
        r->status = tc_fail(TC_FORMAT, "%s: it has %zu shards; " REMEDY, r->path, n);
    if (r->status == TC_OK)
        r->status =
            tc_alloc((int64_t)n + 1, sizeof *dataset->first, "shard numbers", &dataset->first);
    for (size_t i = 0; r->status == TC_OK && i < n; i++) {
        const json_t *item = json_array_get(list, i);
        char file[32] = "", want[32];
        read_text(r, item, "file", file, sizeof file);
        snprintf(want, sizeof want, "%05zu.shard", i);
        if (r->status == TC_OK && strcmp(file, want) != 0)
            r->status = tc_fail(TC_FORMAT, "%s: shard %zu is called %s, not %s; " REMEDY, r->path,
                                i, file, want);
        /* At most `records`, so the sum cannot overflow before the contradiction shows. */
        uint64_t left = dataset->records - dataset->first[i];
        dataset->first[i + 1] = dataset->first[i] + read_number(r, item, "records", left);
    }
    dataset->n_shards = (uint32_t)n;
}

static void check_totals(reading *r, const tc_dataset *dataset)
{
    uint64_t left = dataset->records;
    int64_t c = 0;

    while (c < dataset->n_classes && dataset->classes[c].count <= left)
        left -= dataset->classes[c++].count;
    if (c < dataset->n_classes || left != 0)
        r->status = tc_fail(TC_FORMAT,
                            "%s: the counts of its classes do not add up to its %" PRIu64
                            " records; " REMEDY,
                            r->path, dataset->records);
    else if (dataset->first[dataset->n_shards] != dataset->records)
        r->status =
            tc_fail(TC_FORMAT,
                    "%s: its shards have %" PRIu64 " records, its total says %" PRIu64 "; " REMEDY,
                    r->path, dataset->first[dataset->n_shards], dataset->records);
    else if (dataset->class_hash != tc_class_hash(dataset->classes, dataset->n_classes))
        r->status =
            tc_fail(TC_FORMAT,
                    "%s: the hash of its classes is not that of its list: edited by hand?; " REMEDY,
                    r->path);
    else if (dataset->records == 0 || dataset->max_bytes == 0 ||
             dataset->max_bytes > dataset->bytes || dataset->min_side == 0 ||
             dataset->min_side > dataset->max_side)
        r->status = tc_fail(TC_FORMAT,
                            "%s: its totals contradict each other (%" PRIu64 " records, %" PRIu64
                            " bytes, largest %" PRIu64 ", sides %u to %u); " REMEDY,
                            r->path, dataset->records, dataset->bytes, dataset->max_bytes,
                            dataset->min_side, dataset->max_side);
}

static void read_all(reading *r, const json_t *root, tc_dataset *dataset)
{
    char format[32] = "";

    read_text(r, root, "format", format, sizeof format);
    if (r->status == TC_OK && strcmp(format, FORMAT_NAME) != 0)
        r->status = tc_fail(TC_FORMAT, "%s: not a %s (its format is \"%s\"); " REMEDY, r->path,
                            FORMAT_NAME, format);
    uint64_t version = read_number(r, root, "version", INT64_MAX);
    if (r->status == TC_OK && version != TC_DATASET_VERSION)
        r->status = tc_fail(TC_FORMAT,
                            "%s: packed by another version: its format is %" PRIu64
                            ", this program reads %d; " REMEDY,
                            r->path, version, TC_DATASET_VERSION);
    read_text(r, root, "split", dataset->split, sizeof dataset->split);
    read_text(r, root, "encoding", dataset->encoding, sizeof dataset->encoding);
    dataset->seed = read_number(r, root, "seed", INT64_MAX);
    dataset->records = read_number(r, root, "records", INT64_MAX);
    dataset->bytes = read_number(r, root, "bytes", INT64_MAX);
    dataset->max_bytes = read_number(r, root, "max_bytes", INT64_MAX);
    dataset->min_side = (uint32_t)read_number(r, root, "min_side", UINT32_MAX);
    dataset->max_side = (uint32_t)read_number(r, root, "max_side", UINT32_MAX);
    dataset->class_hash = read_hex(r, root, "class_hash");
    dataset->identity = read_hex(r, root, "identity");
    read_classes(r, root, dataset);
    read_shards(r, root, dataset);
    if (r->status == TC_OK)
        check_totals(r, dataset);
}

/* Say which part is missing: the folder, the split, or the mark of a finished set. */
static tc_status explain_missing(const char *dir, const char *split, const char *path)
{
    struct stat st;

    if (stat(dir, &st) != 0)
        return tc_fail(TC_IO,
                       "%s: no such data set: %s; make it with tricolor-pack create SRC -o %s "
                       "--split %s",
                       dir, strerror(errno), dir, split);
    return tc_fail(TC_IO,
                   "%s: missing: %s holds no finished %s set; make it with tricolor-pack create "
                   "SRC -o %s --split %s",
                   path, dir, split, dir, split);
}

tc_status tc_dataset_read(const char *dir, const char *split, tc_dataset **dataset_p)
{
    tc_dataset *dataset = NULL;
    char path[sizeof dataset->path + 32];
    json_error_t error;

    tc_status status = tc_alloc(1, sizeof *dataset, "data set", &dataset);
    if (status != TC_OK)
        return status;
    reading r = { .path = path, .status = TC_OK };
    if (snprintf(dataset->path, sizeof dataset->path, "%s/%s", dir, split) >=
        (int)sizeof dataset->path) {
        tc_dataset_free(dataset);
        return tc_fail(TC_INVAL, "%.100s…: the path is too long", dir);
    }
    snprintf(path, sizeof path, "%s/dataset.json", dataset->path);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        r.status = errno == ENOENT || errno == ENOTDIR
                       ? explain_missing(dir, split, path)
                       : tc_fail(TC_IO, "%s: cannot open: %s", path, strerror(errno));
    } else {
        json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
        if (root == NULL)
            r.status = tc_fail(TC_FORMAT, "%s: line %d: %s; " REMEDY, path, error.line, error.text);
        else
            read_all(&r, root, dataset);
        json_decref(root);
        fclose(file);
    }
    if (r.status == TC_OK && strcmp(dataset->split, split) != 0)
        r.status = tc_fail(TC_FORMAT, "%s: it says it is the %s set: moved?; " REMEDY, path,
                           dataset->split);
    if (r.status != TC_OK) {
        tc_dataset_free(dataset);
        return r.status;
    }
    *dataset_p = dataset;
    return TC_OK;
}
