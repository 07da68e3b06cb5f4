/* A shard gives back what was put in; every damage is found and named with file and remedy. */
#include <config.h>

#include "shard/layout.h"
#include "shard/shard.h"

#include "../tap.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define RECORDS 7

static char folder[] = "t-shard.XXXXXX";
static char path[64], damaged[64];

/* Record i: i * 37 + 1 bytes, so that records start at odd places. */
static size_t fill(int i, uint8_t data[512])
{
    size_t bytes = (size_t)i * 37 + 1;

    for (size_t k = 0; k < bytes; k++)
        data[k] = (uint8_t)(i * 91 + (int)k * 7);
    return bytes;
}

static tc_status write_shard(const char *to, int records)
{
    tc_shard_writer *writer = NULL;
    uint8_t data[512];
    char name[32];
    const int32_t map[3] = { 2, 0, 1 };

    tc_status status = tc_shard_create(to, 5, &writer);
    for (int i = 0; status == TC_OK && i < records; i++) {
        size_t bytes = fill(i, data);
        snprintf(name, sizeof name, "class%d/%c.jpg", i % 3, 'a' + i);
        tc_shard_entry entry = { .label = i % 3, .width = 10 + (uint32_t)i, .height = 20 };
        entry.name = i == 3 ? NULL : name;
        status = tc_shard_append(writer, &entry, data, bytes);
    }
    if (status == TC_OK)
        status = tc_shard_relabel(writer, map, 3);
    if (status == TC_OK && tc_shard_count(writer) != (uint64_t)records)
        status = TC_INVAL;
    return status == TC_OK ? tc_shard_finish(writer) : status;
}

static void check_round_trip(void)
{
    tc_shard *shard = NULL;
    tc_buffer buffer = { 0 };
    uint8_t data[512];
    bool same = true;

    tap_ok(write_shard(path, RECORDS) == TC_OK, "a shard is written %s", tc_error_detail());
    tap_ok(access("nothing", F_OK) != 0 && access(path, F_OK) == 0, "and has its final name");
    tap_ok(tc_shard_open(path, &shard) == TC_OK, "it opens %s", tc_error_detail());
    if (shard == NULL)
        return;
    tap_ok(tc_shard_records(shard) == RECORDS && tc_shard_number(shard) == 5 &&
               strcmp(tc_shard_path(shard), path) == 0,
           "its count, number and path");
    for (int i = 0; i < RECORDS; i++) {
        const tc_shard_entry *e = tc_shard_entry_at(shard, (uint64_t)i);
        char name[32];
        snprintf(name, sizeof name, "class%d/%c.jpg", i % 3, 'a' + i);
        size_t bytes = fill(i, data);
        same = same && e->label == (i + 2) % 3 && e->width == 10 + (uint32_t)i && e->height == 20 &&
               strcmp(e->name, i == 3 ? "" : name) == 0 && e->bytes == bytes &&
               tc_shard_read(shard, (uint64_t)i, &buffer) == TC_OK && buffer.bytes == bytes &&
               memcmp(buffer.data, data, bytes) == 0;
    }
    tap_ok(same, "every record: bytes, label (mapped), sides, name");
    const tc_shard_entry *e = tc_shard_entry_at(shard, 4);
    tap_ok(tc_shard_read_range(shard, e->offset, data, (size_t)e->bytes) == TC_OK &&
               tc_shard_check(shard, 4, data) == TC_OK,
           "a range read raw passes the check");
    data[1] ^= 4;
    tap_ok(tc_shard_check(shard, 4, data) == TC_FORMAT &&
               strstr(tc_error_detail(), "record 4 (class1/e.jpg)") != NULL,
           "a changed byte of it does not: %s", tc_error_detail());
    tap_ok(tc_shard_read(shard, RECORDS, &buffer) == TC_INVAL, "no record beyond the last");
    tap_ok(tc_shard_read_range(shard, UINT64_MAX - 3, data, 8) == TC_INVAL &&
               tc_shard_read_range(shard, 1 << 20, data, 1) == TC_INVAL,
           "no range outside the file, also where the sum overflows");
    tc_shard_close(shard);
    tc_buffer_free(&buffer);
}

static void check_edges(void)
{
    tc_shard_writer *writer = NULL;
    tc_shard *shard = NULL;
    struct stat st;

    tap_ok(write_shard(damaged, 0) == TC_OK && tc_shard_open(damaged, &shard) == TC_OK &&
               tc_shard_records(shard) == 0,
           "an empty shard is one %s", tc_error_detail());
    tc_shard_close(shard);
    unlink(damaged);

    tap_ok(tc_shard_create("no/such/folder/x.shard", 0, &writer) == TC_IO &&
               strstr(tc_error_detail(), "no/such/folder") != NULL,
           "no folder: %s", tc_error_detail());
    tc_shard_entry entry = { .label = 3, .width = 1, .height = 1, .name = "a/b.jpg" };
    tc_status status = tc_shard_create(damaged, 0, &writer);
    tap_ok(status == TC_OK && stat(damaged, &st) != 0, "an unfinished shard has no final name");
    tap_ok(tc_shard_append(writer, &entry, "x", 0) == TC_INVAL, "an empty record is refused");
    tap_ok(tc_shard_append(writer, &entry, "x", 1) == TC_OK && tc_shard_bytes(writer) == 1,
           "one byte is a record");
    tap_ok(tc_shard_relabel(writer, (const int32_t[]){ 0, 1, 2 }, 3) == TC_INVAL,
           "a label outside the map is refused: %s", tc_error_detail());
    tc_shard_abandon(writer);
    char tmp[80];
    snprintf(tmp, sizeof tmp, "%s.tmp", damaged);
    tap_ok(stat(tmp, &st) != 0 && stat(damaged, &st) != 0, "an abandoned one leaves nothing");
    tc_shard_abandon(NULL);
    tc_shard_close(NULL);
    tap_ok(tc_shard_open(damaged, &shard) == TC_IO && strstr(tc_error_detail(), damaged) != NULL,
           "a missing shard: %s", tc_error_detail());
}

static size_t load(const char *from, uint8_t *raw, size_t size)
{
    FILE *file = fopen(from, "rb");
    size_t bytes = file == NULL ? 0 : fread(raw, 1, size, file);

    if (file != NULL)
        fclose(file);
    return bytes;
}

static bool save(const uint8_t *raw, size_t bytes)
{
    FILE *file = fopen(damaged, "wb");

    if (file == NULL)
        return false;
    bool ok = fwrite(raw, 1, bytes, file) == bytes;
    return fclose(file) == 0 && ok;
}

/* Open and read everything; the first failure. */
static tc_status read_damaged(void)
{
    tc_shard *shard = NULL;
    tc_buffer buffer = { 0 };

    tc_fail(TC_OK, "%s", "");
    tc_status status = tc_shard_open(damaged, &shard);
    for (uint64_t i = 0; status == TC_OK && i < tc_shard_records(shard); i++)
        status = tc_shard_read(shard, i, &buffer);
    tc_shard_close(shard);
    tc_buffer_free(&buffer);
    return status;
}

static void refused(const uint8_t *raw, size_t bytes, const char *what, const char *text)
{
    bool saved = save(raw, bytes);
    tc_status status = read_damaged();

    tap_ok(saved && status == TC_FORMAT && strstr(tc_error_detail(), text) != NULL &&
               strstr(tc_error_detail(), damaged) != NULL,
           "%s: %s", what, tc_error_detail());
}

/* Make the checksums right again, so that the check behind them is reached. */
static void reseal(uint8_t *raw, size_t bytes)
{
    uint64_t index = tc_get_u64(raw + TC_HEAD_INDEX_OFFSET);

    if (index < bytes)
        tc_put_u64(raw + TC_HEAD_INDEX_CHECKSUM, XXH3_64bits(raw + index, bytes - index));
    tc_put_u64(raw + TC_HEAD_CHECKSUM, XXH3_64bits(raw, TC_HEAD_CHECKSUM));
}

static void check_every_flip(const uint8_t *good, size_t bytes)
{
    uint8_t raw[4096];
    size_t missed = 0, at = 0;
    size_t data_end = TC_HEAD_BYTES + tc_get_u64(good + TC_HEAD_DATA_BYTES);
    size_t index = tc_get_u64(good + TC_HEAD_INDEX_OFFSET);

    for (size_t i = 0; i < bytes; i++) {
        memcpy(raw, good, bytes);
        raw[i] ^= (uint8_t)(1 << i % 8);
        bool gap = i >= data_end && i < index; /* zeros that nothing reads */
        if (!gap && (!save(raw, bytes) || read_damaged() != TC_FORMAT)) {
            missed++;
            at = i;
        }
    }
    tap_ok(missed == 0, "a flipped bit in any of the %zu bytes is found (missed %zu, at %zu)",
           bytes, missed, at);
    for (size_t i = 0; i < bytes; i++)
        if (!save(good, i) || read_damaged() != TC_FORMAT)
            missed++;
    tap_ok(missed == 0, "a shard cut after any of its bytes is refused (missed %zu)", missed);
}

/* Header fields set to values that a count-trusting reader would follow. */
static void check_numbers(const uint8_t *good, size_t bytes)
{
    static const int fields[] = { TC_HEAD_RECORDS,      TC_HEAD_DATA_OFFSET, TC_HEAD_DATA_BYTES,
                                  TC_HEAD_INDEX_OFFSET, TC_HEAD_INDEX_BYTES, TC_HEAD_NAMES_OFFSET,
                                  TC_HEAD_NAMES_BYTES,  TC_HEAD_FILE_BYTES };
    static const uint64_t values[] = {
        0, 1, 64, 1u << 30, UINT64_MAX, INT64_MAX, UINT64_MAX / 64 + 1
    };
    uint8_t raw[4096];
    size_t missed = 0;

    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            memcpy(raw, good, bytes);
            tc_put_u64(raw + fields[f], values[v]);
            reseal(raw, bytes);
            if (!save(raw, bytes) || read_damaged() != TC_FORMAT)
                missed++;
        }
    tap_ok(missed == 0, "sealed headers with wrong numbers are refused (missed %zu)", missed);

    size_t index = tc_get_u64(good + TC_HEAD_INDEX_OFFSET);
    static const int parts[] = { TC_ENTRY_OFFSET, TC_ENTRY_LENGTH, TC_ENTRY_NAME_OFFSET };
    for (size_t r = 0; r < RECORDS; r++)
        for (size_t f = 0; f < sizeof parts / sizeof *parts; f++)
            for (size_t v = 3; v < sizeof values / sizeof *values; v++) {
                memcpy(raw, good, bytes);
                tc_put_u64(raw + index + r * TC_ENTRY_BYTES + (size_t)parts[f], values[v] - r);
                reseal(raw, bytes);
                if (!save(raw, bytes) || read_damaged() != TC_FORMAT)
                    missed++;
            }
    tap_ok(missed == 0, "sealed entries outside the file are refused (missed %zu)", missed);
}

static void check_damage(void)
{
    uint8_t good[4096], raw[4096];
    size_t bytes = load(path, good, sizeof good);
    size_t index = tc_get_u64(good + TC_HEAD_INDEX_OFFSET);

    tap_ok(save(good, bytes) && read_damaged() == TC_OK, "the copy is sound");
    refused((const uint8_t *)"\x89PNG\r\n\x1a\n....", 12, "a PNG", "not a finished tricolor shard");
    refused(good, bytes - 1, "truncated by a byte", "truncated");
    memcpy(raw, good, bytes);
    raw[bytes] = 0;
    refused(raw, bytes + 1, "a byte too long", "too long");

    memcpy(raw, good, bytes);
    tc_put_u32(raw + TC_HEAD_VERSION, TC_SHARD_VERSION + 1);
    reseal(raw, bytes);
    refused(raw, bytes, "another version", "packed by another version: its format is 2");
    memcpy(raw, good, bytes);
    raw[TC_HEAD_RESERVED] = 1;
    refused(raw, bytes, "a bit in the header", "checksum of its header");
    memcpy(raw, good, bytes);
    raw[index + 3] ^= 1;
    refused(raw, bytes, "a bit in the index", "checksum of its index");
    memcpy(raw, good, bytes);
    raw[TC_HEAD_BYTES + 1] ^= 1;
    refused(raw, bytes, "a bit in the data", "record 1 (class1/b.jpg): its checksum");

    memcpy(raw, good, bytes);
    tc_put_u64(raw + index + 2 * TC_ENTRY_BYTES + TC_ENTRY_LENGTH, 1 << 20);
    reseal(raw, bytes);
    refused(raw, bytes, "a record beyond the data", "record 2: its bytes");
    memcpy(raw, good, bytes);
    tc_put_u32(raw + index + 6 * TC_ENTRY_BYTES + TC_ENTRY_NAME_LENGTH, UINT32_MAX);
    reseal(raw, bytes);
    refused(raw, bytes, "a name beyond the names", "record 6: its name");
    memcpy(raw, good, bytes);
    tc_put_u64(raw + index + 6 * TC_ENTRY_BYTES + TC_ENTRY_LENGTH, 1);
    reseal(raw, bytes);
    refused(raw, bytes, "data that no record owns", "its records end at byte");
    check_every_flip(good, bytes);
    check_numbers(good, bytes);
}

/* A shard of so many records that its entries come in several reads. */
static tc_status write_many(int records)
{
    tc_shard_writer *writer = NULL;
    uint8_t data[64] = { 1 };
    char name[32];

    tc_status status = tc_shard_create(path, 0, &writer);
    for (int i = 0; status == TC_OK && i < records; i++) {
        snprintf(name, sizeof name, "a/%d.jpg", i);
        tc_shard_entry entry = { .label = i, .width = 2, .height = 3, .name = name };
        status = tc_shard_append(writer, &entry, data, 1 + (size_t)i % sizeof data);
    }
    return status == TC_OK ? tc_shard_finish(writer) : status;
}

static bool same_entry(const tc_shard_entry *a, const tc_shard_entry *b)
{
    return a->offset == b->offset && a->bytes == b->bytes && a->checksum == b->checksum &&
           a->label == b->label && a->width == b->width && a->height == b->height;
}

static void check_bare(void)
{
    enum { many = 300 };
    static tc_shard_entry entries[many];
    tc_shard *whole = NULL, *bare = NULL;
    tc_shard_entry one;
    char name[32];
    bool same = true;

    tc_status status = write_many(many);
    if (status == TC_OK)
        status = tc_shard_open(path, &whole);
    if (status == TC_OK)
        status = tc_shard_open_bare(path, &bare);
    if (!tap_ok(status == TC_OK, "a shard is opened without its index %s", tc_error_detail()))
        return;
    status = tc_shard_fetch_entries(bare, 0, many, entries);
    for (uint64_t i = 0; status == TC_OK && i < many; i++) {
        const tc_shard_entry *e = tc_shard_entry_at(whole, i);
        same = same && same_entry(&entries[i], e) &&
               tc_shard_fetch_entry(bare, i, &one, name, sizeof name) == TC_OK &&
               same_entry(&one, e) && strcmp(name, e->name) == 0;
    }
    tap_ok(status == TC_OK && same, "its entries are fetched, together and one by one");
    tap_ok(tc_shard_fetch_entries(bare, 150, 140, entries) == TC_OK &&
               same_entry(&entries[139], tc_shard_entry_at(whole, 289)),
           "some from the middle");
    tap_ok(tc_shard_fetch_entries(bare, many, 0, entries) == TC_OK, "none at all");
    tap_ok(tc_shard_fetch_entries(bare, 299, 2, entries) == TC_INVAL &&
               tc_shard_fetch_entries(bare, UINT64_MAX, 2, entries) == TC_INVAL &&
               tc_shard_fetch_entry(bare, many, &one, NULL, 0) == TC_INVAL,
           "none beyond the last");
    tc_shard_close(whole);
    tc_shard_close(bare);
}

/* A writer that ended behind some records is gone on with, to the same file. */
static void check_resume(void)
{
    uint8_t good[4096], again[4096], data[512];
    tc_shard_writer *writer = NULL;
    tc_shard_leftover *left = NULL;
    uint64_t held = 0;
    const int32_t map[3] = { 2, 0, 1 };
    char name[32];

    tc_status status = tc_shard_create(damaged, 5, &writer);
    for (int i = 0; status == TC_OK && i < 5; i++) {
        tc_shard_entry entry = { .label = i % 3 };
        status = tc_shard_append(writer, &entry, data, fill(i, data));
        held += i < 4 ? fill(i, data) : 0;
    }
    tap_ok(status == TC_OK && tc_shard_flush(writer) == TC_OK, "five records, written out");
    tc_shard_leave(writer);
    tap_ok(tc_shard_leftover_open(damaged, &left) == TC_OK && left != NULL, "are left");
    size_t bytes = fill(3, again);
    tap_ok(left != NULL && tc_shard_leftover_read(left, held - bytes, data, bytes) &&
               memcmp(data, again, bytes) == 0 &&
               !tc_shard_leftover_read(left, held, data, sizeof data),
           "and can be read, no byte behind them");
    tc_shard_leftover_close(left);

    status = tc_shard_resume(damaged, 5, held, &writer);
    for (int i = 0; status == TC_OK && i < RECORDS; i++) {
        tc_shard_entry entry = { .label = i % 3, .width = 10 + (uint32_t)i, .height = 20 };
        bytes = fill(i, data);
        snprintf(name, sizeof name, "class%d/%c.jpg", i % 3, 'a' + i);
        entry.name = i == 3 ? NULL : name;
        entry.bytes = bytes;
        entry.checksum = XXH3_64bits(data, bytes);
        if (i == 2)
            tap_ok(tc_shard_append(writer, &entry, data, bytes) == TC_INVAL,
                   "none is appended before all are adopted: %s", tc_error_detail());
        if (i == 4)
            tap_ok(tc_shard_adopt(writer, &entry) == TC_INVAL, "nor adopted that is not there: %s",
                   tc_error_detail());
        status = i < 4 ? tc_shard_adopt(writer, &entry)
                       : tc_shard_append(writer, &entry, data, bytes);
    }
    if (status == TC_OK)
        status = tc_shard_relabel(writer, map, 3);
    if (status == TC_OK)
        status = tc_shard_finish(writer);
    size_t n = load(path, good, sizeof good), m = load(damaged, again, sizeof again);
    tap_ok(status == TC_OK && n > 0 && n == m && memcmp(good, again, n) == 0,
           "four adopted, three appended: the same file %s", tc_error_detail());

    /* Renamed, but its set is not finished. */
    tap_ok(tc_shard_leftover_open(damaged, &left) == TC_OK && left != NULL &&
               access(damaged, F_OK) != 0,
           "a shard of an unfinished set gets its temporary name back");
    tc_shard_leftover_close(left);
    tap_ok(tc_shard_resume(damaged, 5, 0, &writer) == TC_OK, "nothing of it is kept");
    tc_shard_abandon(writer);
    tap_ok(tc_shard_leftover_open(damaged, &left) == TC_OK && left == NULL, "nothing is left");
}

int main(void)
{
    if (mkdtemp(folder) == NULL)
        return 99;
    snprintf(path, sizeof path, "%s/good.shard", folder);
    snprintf(damaged, sizeof damaged, "%s/damaged.shard", folder);
    check_round_trip();
    check_edges();
    check_damage();
    unlink(damaged);
    check_resume();
    check_bare();
    unlink(path);
    unlink(damaged);
    rmdir(folder);
    return tap_done();
}
