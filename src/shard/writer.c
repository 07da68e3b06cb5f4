#include <config.h>

#include "shard/shard.h"

#include "shard/durable.h"
#include "shard/layout.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define STREAM_BYTES                                                            \
    ((size_t)256 << 10) /* of the stream's buffer: many shards are open at once \
                         */

struct tc_shard_writer {
    FILE *file;
    char *stream;     /* buffer of `file` */
    char *path, *tmp; /* final and temporary name */
    uint32_t number;  /* of this shard */
    uint64_t records, bytes;
    uint64_t held;          /* bytes of data in the file of records to be adopted */
    tc_buffer index, names; /* as they will stand in the file */
    bool sealed;
};

static void free_writer(tc_shard_writer *writer)
{
    if (writer->file != NULL)
        fclose(writer->file); /* after a sync, or of a file that is given up */
    tc_free(writer->stream);
    free(writer->path);
    free(writer->tmp);
    tc_buffer_free(&writer->index);
    tc_buffer_free(&writer->names);
    tc_free(writer);
}

void tc_shard_leave(tc_shard_writer *writer)
{
    if (writer != NULL)
        free_writer(writer);
}

void tc_shard_abandon(tc_shard_writer *writer)
{
    if (writer != NULL && writer->file != NULL)
        unlink(writer->tmp);
    tc_shard_leave(writer);
}

static tc_status put(tc_shard_writer *writer, const void *data, size_t bytes)
{
    if (bytes > 0 && fwrite(data, 1, bytes, writer->file) != bytes)
        return tc_fail(TC_IO, "%s: cannot write: %s", writer->tmp, strerror(errno));
    return TC_OK;
}

/* A writer of path.tmp, opened as `mode` says. */
static tc_status open_writer(const char *path, uint32_t index, const char *mode,
                             tc_shard_writer **writer_p)
{
    tc_shard_writer *writer = NULL;
    const uint8_t empty[TC_HEAD_BYTES] = { 0 }; /* no magic: nothing takes it for a shard */

    tc_status status = tc_alloc(1, sizeof *writer, "shard writer", &writer);
    if (status != TC_OK)
        return status;
    writer->number = index;
    writer->path = strdup(path);
    if (writer->path == NULL || asprintf(&writer->tmp, "%s.tmp", path) < 0) {
        writer->tmp = NULL;
        status = tc_fail(TC_NOMEM, "%s: no memory for its name", path);
    }
    if (status == TC_OK)
        status = tc_alloc((int64_t)STREAM_BYTES, 1, "shard stream", &writer->stream);
    if (status == TC_OK && (writer->file = fopen(writer->tmp, mode)) == NULL)
        status = tc_fail(TC_IO, "%s: cannot create: %s", writer->tmp, strerror(errno));
    if (status == TC_OK) {
        setvbuf(writer->file, writer->stream, _IOFBF, STREAM_BYTES);
        status = put(writer, empty, sizeof empty);
    }
    if (status != TC_OK) {
        tc_shard_abandon(writer);
        return status;
    }
    *writer_p = writer;
    return TC_OK;
}

tc_status tc_shard_create(const char *path, uint32_t index, tc_shard_writer **writer_p)
{
    return open_writer(path, index, "wbe", writer_p);
}

tc_status tc_shard_resume(const char *path, uint32_t index, uint64_t bytes,
                          tc_shard_writer **writer_p)
{
    tc_shard_writer *writer = NULL;

    if (bytes == 0) /* there may be no file */
        return tc_shard_create(path, index, writer_p);
    tc_status status = open_writer(path, index, "r+be", &writer);
    if (status != TC_OK)
        return status;
    writer->held = bytes;
    off_t end = (off_t)(TC_HEAD_BYTES + bytes);
    if (fflush(writer->file) != 0 || ftruncate(fileno(writer->file), end) != 0 ||
        fseeko(writer->file, 0, SEEK_END) != 0) {
        status = tc_fail(TC_IO, "%s: cannot go on with it: %s", writer->tmp, strerror(errno));
        tc_shard_leave(writer);
        return status;
    }
    *writer_p = writer;
    return TC_OK;
}

/* Note a record whose data lies behind that of the others. */
static tc_status note(tc_shard_writer *writer, const tc_shard_entry *entry, uint64_t checksum,
                      uint64_t bytes)
{
    uint8_t raw[TC_ENTRY_BYTES] = { 0 };
    const char *name = entry->name == NULL ? "" : entry->name;
    size_t length = strlen(name);

    tc_put_u64(raw + TC_ENTRY_OFFSET, TC_HEAD_BYTES + writer->bytes);
    tc_put_u64(raw + TC_ENTRY_LENGTH, bytes);
    tc_put_u64(raw + TC_ENTRY_CHECKSUM, checksum);
    tc_put_u64(raw + TC_ENTRY_NAME_OFFSET, writer->names.bytes);
    tc_put_u32(raw + TC_ENTRY_NAME_LENGTH, (uint32_t)length);
    tc_put_u32(raw + TC_ENTRY_LABEL, (uint32_t)entry->label);
    tc_put_u32(raw + TC_ENTRY_WIDTH, entry->width);
    tc_put_u32(raw + TC_ENTRY_HEIGHT, entry->height);
    tc_status status = tc_buffer_append(&writer->names, name, length + 1);
    if (status == TC_OK)
        status = tc_buffer_append(&writer->index, raw, sizeof raw);
    if (status != TC_OK)
        return status;
    writer->records++;
    writer->bytes += bytes;
    return TC_OK;
}

static tc_status refuse(const tc_shard_writer *writer, const tc_shard_entry *entry,
                        const char *why)
{
    return tc_fail(TC_INVAL, "%s: record %llu (%.200s): %s", writer->path,
                   (unsigned long long)writer->records, entry->name == NULL ? "" : entry->name,
                   why);
}

tc_status tc_shard_append(tc_shard_writer *writer, const tc_shard_entry *entry, const void *data,
                          size_t bytes)
{
    if (bytes == 0)
        return refuse(writer, entry, "no bytes");
    if (entry->name != NULL && strlen(entry->name) > INT_MAX)
        return refuse(writer, entry, "the name is too long");
    if (writer->bytes < writer->held)
        return refuse(writer, entry, "there are records to be adopted before it");
    tc_status status = put(writer, data, bytes);
    return status == TC_OK ? note(writer, entry, XXH3_64bits(data, bytes), bytes) : status;
}

tc_status tc_shard_adopt(tc_shard_writer *writer, const tc_shard_entry *entry)
{
    if (entry->bytes == 0 || entry->bytes > writer->held - writer->bytes)
        return refuse(writer, entry, "its data is not there");
    return note(writer, entry, entry->checksum, entry->bytes);
}

tc_status tc_shard_flush(tc_shard_writer *writer)
{
    if (fflush(writer->file) != 0)
        return tc_fail(TC_IO, "%s: cannot write: %s", writer->tmp, strerror(errno));
    return TC_OK;
}

tc_status tc_shard_relabel(tc_shard_writer *writer, const int32_t *map, int64_t count)
{
    for (uint64_t i = 0; i < writer->records; i++) {
        uint8_t *field = writer->index.data + i * TC_ENTRY_BYTES + TC_ENTRY_LABEL;
        int32_t label = (int32_t)tc_get_u32(field);
        if (label < 0 || label >= count)
            return tc_fail(TC_INVAL, "%s: record %llu has label %d, none of %lld", writer->path,
                           (unsigned long long)i, label, (long long)count);
        tc_put_u32(field, (uint32_t)map[label]);
    }
    return TC_OK;
}

uint64_t tc_shard_count(const tc_shard_writer *writer)
{
    return writer->records;
}

uint64_t tc_shard_bytes(const tc_shard_writer *writer)
{
    return writer->bytes;
}

/* The header of everything appended; `table` is the index followed by the names. */
static void make_header(const tc_shard_writer *writer, const tc_buffer *table,
                        uint8_t head[TC_HEAD_BYTES])
{
    uint64_t end = TC_HEAD_BYTES + writer->bytes;
    uint64_t index = (end + TC_INDEX_ALIGN - 1) / TC_INDEX_ALIGN * TC_INDEX_ALIGN;
    uint64_t index_bytes = writer->records * TC_ENTRY_BYTES;

    memset(head, 0, TC_HEAD_BYTES);
    memcpy(head + TC_HEAD_MAGIC, TC_SHARD_MAGIC, 8);
    tc_put_u32(head + TC_HEAD_VERSION, TC_SHARD_VERSION);
    tc_put_u32(head + TC_HEAD_SHARD, writer->number);
    tc_put_u64(head + TC_HEAD_RECORDS, writer->records);
    tc_put_u64(head + TC_HEAD_DATA_OFFSET, TC_HEAD_BYTES);
    tc_put_u64(head + TC_HEAD_DATA_BYTES, writer->bytes);
    tc_put_u64(head + TC_HEAD_INDEX_OFFSET, index);
    tc_put_u64(head + TC_HEAD_INDEX_BYTES, index_bytes);
    tc_put_u64(head + TC_HEAD_NAMES_OFFSET, index + index_bytes);
    tc_put_u64(head + TC_HEAD_NAMES_BYTES, table->bytes - index_bytes);
    tc_put_u64(head + TC_HEAD_FILE_BYTES, index + table->bytes);
    tc_put_u64(head + TC_HEAD_INDEX_CHECKSUM, XXH3_64bits(table->data, table->bytes));
    tc_put_u64(head + TC_HEAD_CHECKSUM, XXH3_64bits(head, TC_HEAD_CHECKSUM));
}

tc_status tc_shard_seal(tc_shard_writer *writer)
{
    uint8_t head[TC_HEAD_BYTES];
    const uint8_t zeros[TC_INDEX_ALIGN] = { 0 };
    size_t gap = (size_t)(-(TC_HEAD_BYTES + writer->bytes) % TC_INDEX_ALIGN);
    tc_buffer *table = &writer->index; /* the names go behind it, as in the file */

    tc_status status = tc_buffer_append(table, writer->names.data, writer->names.bytes);
    if (status == TC_OK)
        status = put(writer, zeros, gap);
    if (status == TC_OK)
        status = put(writer, table->data, table->bytes);
    if (status == TC_OK)
        status = tc_durable_sync(writer->file, writer->tmp);
    /* Only now, with the rest on the disk, the header that vouches for it. */
    if (status == TC_OK) {
        make_header(writer, table, head);
        if (fseeko(writer->file, 0, SEEK_SET) != 0)
            status = tc_fail(TC_IO, "%s: cannot seek: %s", writer->tmp, strerror(errno));
    }
    if (status == TC_OK)
        status = put(writer, head, sizeof head);
    if (status == TC_OK)
        status = tc_durable_sync(writer->file, writer->tmp);
    writer->sealed = status == TC_OK;
    return status;
}

tc_status tc_shard_finish(tc_shard_writer *writer)
{
    tc_status status = writer->sealed ? TC_OK : tc_shard_seal(writer);

    if (status == TC_OK)
        status = tc_durable_rename(writer->tmp, writer->path);
    if (status != TC_OK) {
        tc_shard_abandon(writer);
        return status;
    }
    free_writer(writer);
    return TC_OK;
}
