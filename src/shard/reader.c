#include <config.h>

#include "shard/shard.h"

#include "shard/layout.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

typedef unsigned long long ull; /* for printf */

/* The header's numbers, before anything is believed. */
typedef struct {
    uint64_t records, data, data_bytes, index, index_bytes, names, names_bytes, file_bytes;
    uint64_t checksum; /* of index and names */
} header;

struct tc_shard {
    int fd;
    char *path;
    uint32_t number; /* of this shard in its set */
    uint64_t file_bytes, records;
    header head;
    uint8_t *table; /* index and names as they stand in the file; entries' names point into it */
    tc_shard_entry *entries; /* NULL: opened without its index */
};

void tc_shard_close(tc_shard *shard)
{
    if (shard == NULL)
        return;
    if (shard->fd >= 0)
        close(shard->fd);
    tc_free(shard->table);
    tc_free(shard->entries);
    free(shard->path);
    tc_free(shard);
}

tc_status tc_shard_read_range(const tc_shard *shard, uint64_t offset, void *data, size_t bytes)
{
    uint8_t *p = data;
    uint64_t end;

    if (__builtin_add_overflow(offset, bytes, &end) || end > shard->file_bytes)
        return tc_fail(TC_INVAL, "%s: bytes %llu to %llu lie outside the file (%llu bytes)",
                       shard->path, (ull)offset, (ull)end, (ull)shard->file_bytes);
    while (bytes > 0) {
        size_t want = bytes < (size_t)1 << 30 ? bytes : (size_t)1 << 30;
        ssize_t n = pread(shard->fd, p, want, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tc_fail(TC_IO, "%s: cannot read at byte %llu: %s", shard->path, (ull)offset,
                           strerror(errno));
        if (n == 0)
            return tc_fail(TC_IO, "%s: the file ends at byte %llu: it was cut while in use",
                           shard->path, (ull)offset);
        p += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return TC_OK;
}

/* The first bytes of a file that is none of ours, fit for a message. */
static void show_start(const uint8_t *raw, size_t bytes, char text[16])
{
    size_t i;

    for (i = 0; i < bytes && i < 8; i++)
        text[i] = isprint(raw[i]) && raw[i] < 128 ? (char)raw[i] : '.';
    text[i] = '\0';
}

/* Hold the header against the size of the file and against itself. */
static tc_status check_header(const tc_shard *shard, const header *h)
{
    uint64_t bytes, end;

    if (h->file_bytes != shard->file_bytes)
        return tc_fail(TC_FORMAT,
                       "%s: %s: its header says %llu bytes, the file has %llu; copy it again or "
                       "pack again",
                       shard->path, h->file_bytes > shard->file_bytes ? "truncated" : "too long",
                       (ull)h->file_bytes, (ull)shard->file_bytes);
    bool sound = h->data == TC_HEAD_BYTES &&
                 !__builtin_add_overflow(h->data, h->data_bytes, &end) && h->index >= end &&
                 h->index - end < TC_INDEX_ALIGN && h->index % TC_INDEX_ALIGN == 0 &&
                 !__builtin_mul_overflow(h->records, (uint64_t)TC_ENTRY_BYTES, &bytes) &&
                 h->index_bytes == bytes && !__builtin_add_overflow(h->index, bytes, &end) &&
                 h->names == end && !__builtin_add_overflow(h->names, h->names_bytes, &end) &&
                 end == h->file_bytes;
    if (!sound)
        return tc_fail(TC_FORMAT,
                       "%s: the header's offsets contradict each other (%llu records, index at "
                       "%llu, names at %llu, file of %llu bytes); pack again",
                       shard->path, (ull)h->records, (ull)h->index, (ull)h->names,
                       (ull)h->file_bytes);
    return TC_OK;
}

static tc_status read_header(tc_shard *shard, header *h)
{
    uint8_t raw[TC_HEAD_BYTES] = { 0 };
    size_t have = shard->file_bytes < sizeof raw ? (size_t)shard->file_bytes : sizeof raw;
    char start[16];

    tc_status status = tc_shard_read_range(shard, 0, raw, have);
    if (status != TC_OK)
        return status;
    show_start(raw, have, start);
    if (have < 8 || memcmp(raw, TC_SHARD_MAGIC, 8) != 0)
        return tc_fail(TC_FORMAT,
                       "%s: not a finished tricolor shard (starts with \"%s\"); pack again with "
                       "tricolor-pack create",
                       shard->path, start);
    if (have < sizeof raw)
        return tc_fail(TC_FORMAT, "%s: truncated in its header (%llu bytes); pack again",
                       shard->path, (ull)have);
    /* Before the checksum: another version may have its header arranged otherwise. */
    if (tc_get_u32(raw + TC_HEAD_VERSION) != TC_SHARD_VERSION)
        return tc_fail(TC_FORMAT,
                       "%s: packed by another version: its format is %u, this program reads %u; "
                       "pack again",
                       shard->path, tc_get_u32(raw + TC_HEAD_VERSION), TC_SHARD_VERSION);
    if (tc_get_u64(raw + TC_HEAD_CHECKSUM) != XXH3_64bits(raw, TC_HEAD_CHECKSUM))
        return tc_fail(TC_FORMAT, "%s: the checksum of its header is wrong: damaged; pack again",
                       shard->path);
    shard->number = tc_get_u32(raw + TC_HEAD_SHARD);
    *h = (header){ .records = tc_get_u64(raw + TC_HEAD_RECORDS),
                   .data = tc_get_u64(raw + TC_HEAD_DATA_OFFSET),
                   .data_bytes = tc_get_u64(raw + TC_HEAD_DATA_BYTES),
                   .index = tc_get_u64(raw + TC_HEAD_INDEX_OFFSET),
                   .index_bytes = tc_get_u64(raw + TC_HEAD_INDEX_BYTES),
                   .names = tc_get_u64(raw + TC_HEAD_NAMES_OFFSET),
                   .names_bytes = tc_get_u64(raw + TC_HEAD_NAMES_BYTES),
                   .file_bytes = tc_get_u64(raw + TC_HEAD_FILE_BYTES),
                   .checksum = tc_get_u64(raw + TC_HEAD_INDEX_CHECKSUM) };
    return check_header(shard, h);
}

static tc_shard_entry unpack_entry(const uint8_t *raw)
{
    return (tc_shard_entry){ .offset = tc_get_u64(raw + TC_ENTRY_OFFSET),
                             .bytes = tc_get_u64(raw + TC_ENTRY_LENGTH),
                             .checksum = tc_get_u64(raw + TC_ENTRY_CHECKSUM),
                             .label = (int32_t)tc_get_u32(raw + TC_ENTRY_LABEL),
                             .width = tc_get_u32(raw + TC_ENTRY_WIDTH),
                             .height = tc_get_u32(raw + TC_ENTRY_HEIGHT) };
}

static tc_status bad_data(const tc_shard *shard, uint64_t i, const tc_shard_entry *entry)
{
    return tc_fail(TC_FORMAT,
                   "%s: record %llu: its bytes (%llu at %llu) lie outside the data; pack again",
                   shard->path, (ull)i, (ull)entry->bytes, (ull)entry->offset);
}

static tc_status bad_name(const tc_shard *shard, uint64_t i)
{
    return tc_fail(TC_FORMAT, "%s: record %llu: its name lies outside the names; pack again",
                   shard->path, (ull)i);
}

/* Take one entry; records lie back to back, so `expected` is the only offset it may have. */
static tc_status read_entry(const tc_shard *shard, const header *h, uint64_t i, uint64_t expected,
                            tc_shard_entry *entry)
{
    const uint8_t *raw = shard->table + i * TC_ENTRY_BYTES;
    const char *names = (const char *)shard->table + h->index_bytes;
    uint64_t name = tc_get_u64(raw + TC_ENTRY_NAME_OFFSET);
    uint64_t length = tc_get_u32(raw + TC_ENTRY_NAME_LENGTH);
    uint64_t left = h->data + h->data_bytes - expected;

    *entry = unpack_entry(raw);
    if (entry->offset != expected || entry->bytes == 0 || entry->bytes > left)
        return bad_data(shard, i, entry);
    if (name >= h->names_bytes || length >= h->names_bytes - name ||
        memchr(names + name, '\0', length + 1) != names + name + length)
        return bad_name(shard, i);
    entry->name = names + name;
    return TC_OK;
}

static tc_status read_index(tc_shard *shard, const header *h)
{
    size_t bytes = (size_t)(h->index_bytes + h->names_bytes); /* at most the file: no overflow */
    uint64_t expected = h->data;

    tc_status status = tc_alloc((int64_t)bytes, 1, "shard index", &shard->table);
    if (status == TC_OK)
        status = tc_shard_read_range(shard, h->index, shard->table, bytes);
    if (status != TC_OK)
        return status;
    if (XXH3_64bits(shard->table, bytes) != h->checksum)
        return tc_fail(TC_FORMAT, "%s: the checksum of its index is wrong: damaged; pack again",
                       shard->path);
    status =
        tc_alloc((int64_t)h->records, sizeof *shard->entries, "shard entries", &shard->entries);
    for (uint64_t i = 0; status == TC_OK && i < h->records; i++) {
        status = read_entry(shard, h, i, expected, &shard->entries[i]);
        expected += shard->entries[i].bytes;
    }
    if (status == TC_OK && expected != h->data + h->data_bytes)
        return tc_fail(TC_FORMAT, "%s: its records end at byte %llu, its data at %llu; pack again",
                       shard->path, (ull)expected, (ull)(h->data + h->data_bytes));
    shard->records = h->records;
    return status;
}

/* Open the file and check its header. */
static tc_status open_file(const char *path, tc_shard **shard_p)
{
    tc_shard *shard = NULL;
    struct stat st;

    tc_status status = tc_alloc(1, sizeof *shard, "shard", &shard);
    if (status != TC_OK)
        return status;
    shard->fd = open(path, O_RDONLY | O_CLOEXEC);
    int cause = errno;
    shard->path = strdup(path);
    if (shard->path == NULL)
        status = tc_fail(TC_NOMEM, "%s: no memory for its name", path);
    else if (shard->fd < 0)
        status = tc_fail(TC_IO, "%s: cannot open: %s", path, strerror(cause));
    else if (fstat(shard->fd, &st) != 0)
        status = tc_fail(TC_IO, "%s: cannot open: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        status = tc_fail(TC_FORMAT, "%s: not a regular file, so no shard", path);
    if (status == TC_OK) {
        shard->file_bytes = (uint64_t)st.st_size;
        status = read_header(shard, &shard->head);
    }
    if (status != TC_OK) {
        tc_shard_close(shard);
        return status;
    }
    *shard_p = shard;
    return TC_OK;
}

tc_status tc_shard_open(const char *path, tc_shard **shard_p)
{
    tc_shard *shard = NULL;
    tc_status status = open_file(path, &shard);

    if (status == TC_OK)
        status = read_index(shard, &shard->head);
    if (status != TC_OK) {
        tc_shard_close(shard);
        return status;
    }
    *shard_p = shard;
    return TC_OK;
}

tc_status tc_shard_open_bare(const char *path, tc_shard **shard_p)
{
    tc_shard *shard = NULL;
    tc_status status = open_file(path, &shard);

    if (status != TC_OK)
        return status;
    shard->records = shard->head.records;
    *shard_p = shard;
    return TC_OK;
}

/* Unpack an entry whose place in the file is not known beforehand. */
static tc_status take_entry(const tc_shard *shard, uint64_t i, const uint8_t *raw,
                            tc_shard_entry *entry)
{
    const header *h = &shard->head;

    *entry = unpack_entry(raw);
    if (entry->offset < h->data || entry->bytes == 0 || entry->bytes > h->data_bytes ||
        entry->offset - h->data > h->data_bytes - entry->bytes)
        return bad_data(shard, i, entry);
    return TC_OK;
}

static tc_status check_range(const tc_shard *shard, uint64_t i, uint64_t count)
{
    if (i < shard->records && count <= shard->records - i)
        return TC_OK;
    return tc_fail(TC_INVAL, "%s: record %llu of %llu asked for", shard->path,
                   (ull)(i + count - 1), (ull)shard->records);
}

tc_status tc_shard_fetch_entries(const tc_shard *shard, uint64_t i, uint64_t count,
                                 tc_shard_entry *entries)
{
    uint8_t raw[128 * TC_ENTRY_BYTES];
    tc_status status = count > 0 ? check_range(shard, i, count) : TC_OK;

    while (status == TC_OK && count > 0) {
        uint64_t n = count < 128 ? count : 128;
        status = tc_shard_read_range(shard, shard->head.index + i * TC_ENTRY_BYTES, raw,
                                     (size_t)n * TC_ENTRY_BYTES);
        for (uint64_t k = 0; status == TC_OK && k < n; k++)
            status = take_entry(shard, i + k, raw + k * TC_ENTRY_BYTES, &entries[k]);
        entries += n;
        i += n;
        count -= n;
    }
    return status;
}

tc_status tc_shard_fetch_entry(const tc_shard *shard, uint64_t i, tc_shard_entry *entry,
                               char *name, size_t size)
{
    const header *h = &shard->head;
    uint8_t raw[TC_ENTRY_BYTES];

    tc_status status = check_range(shard, i, 1);
    if (status == TC_OK)
        status = tc_shard_read_range(shard, h->index + i * TC_ENTRY_BYTES, raw, sizeof raw);
    if (status == TC_OK)
        status = take_entry(shard, i, raw, entry);
    if (status != TC_OK || size == 0)
        return status;
    uint64_t at = tc_get_u64(raw + TC_ENTRY_NAME_OFFSET);
    uint64_t length = tc_get_u32(raw + TC_ENTRY_NAME_LENGTH);
    if (at >= h->names_bytes || length >= h->names_bytes - at)
        return bad_name(shard, i);
    length = length < size ? length : size - 1;
    status = tc_shard_read_range(shard, h->names + at, name, (size_t)length);
    if (status == TC_OK)
        name[length] = '\0';
    return status;
}

void tc_shard_advise(const tc_shard *shard, uint64_t offset, uint64_t bytes)
{
    posix_fadvise(shard->fd, (off_t)offset, (off_t)bytes, POSIX_FADV_WILLNEED);
}

uint64_t tc_shard_records(const tc_shard *shard)
{
    return shard->records;
}

uint32_t tc_shard_number(const tc_shard *shard)
{
    return shard->number;
}

const char *tc_shard_path(const tc_shard *shard)
{
    return shard->path;
}

const tc_shard_entry *tc_shard_entry_at(const tc_shard *shard, uint64_t i)
{
    return &shard->entries[i];
}

tc_status tc_shard_check(const tc_shard *shard, uint64_t i, const void *data)
{
    const tc_shard_entry *entry = &shard->entries[i];

    if (XXH3_64bits(data, (size_t)entry->bytes) != entry->checksum)
        return tc_fail(TC_FORMAT,
                       "%s: record %llu (%.300s): its checksum is wrong: damaged; copy the shard "
                       "again or pack again",
                       shard->path, (ull)i, entry->name);
    return TC_OK;
}

tc_status tc_shard_read(const tc_shard *shard, uint64_t i, tc_buffer *buffer)
{
    if (i >= shard->records)
        return tc_fail(TC_INVAL, "%s: record %llu of %llu asked for", shard->path, (ull)i,
                       (ull)shard->records);
    const tc_shard_entry *entry = &shard->entries[i];
    buffer->bytes = 0;
    tc_status status = tc_buffer_reserve(buffer, (size_t)entry->bytes);
    if (status == TC_OK)
        status = tc_shard_read_range(shard, entry->offset, buffer->data, (size_t)entry->bytes);
    if (status == TC_OK)
        status = tc_shard_check(shard, i, buffer->data);
    if (status == TC_OK)
        buffer->bytes = (size_t)entry->bytes;
    return status;
}
