/* The shard reader: any file is either refused with a text, or its records lie inside it, have
 * names that end, and are given out only where their checksum fits.
 *
 * Checksums would keep a fuzzer out: every input is read as it is and with its checksums set
 * right, first those of header and index, then those of the records, too. */
#include <config.h>

#include "fuzz.h"

#include "shard/layout.h"
#include "shard/shard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

const char fuzz_name[] = "shard";

static int fd = -1; /* a file without a name that takes the input */
static char path[64];
static tc_buffer copy, record;

static void set_up(void)
{
    fd = memfd_create("tricolor-fuzz", MFD_CLOEXEC);
    FUZZ_HOLDS(fd >= 0, "no file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
}

/* A shard of `records` records of some bytes each, as tc_shard_append() makes it. */
static bool make(int records, tc_buffer *out)
{
    char name[] = "fuzz-shard.XXXXXX";
    tc_shard_writer *writer = NULL;
    int made = mkstemp(name);
    uint8_t block[4096];
    bool ok = made >= 0 && tc_shard_create(name, 3, &writer) == TC_OK;

    for (int i = 0; ok && i < records; i++) {
        tc_shard_entry entry = { .label = i % 2, .width = 8, .height = (uint32_t)i + 1 };
        char label[32];
        snprintf(label, sizeof label, "class%d/%d.jpg", i % 2, i);
        entry.name = label;
        memset(block, i, sizeof block);
        ok = tc_shard_append(writer, &entry, block, (size_t)(1 + 13 * i)) == TC_OK;
    }
    if (made >= 0)
        close(made);
    ok = ok && tc_shard_finish(writer) == TC_OK;
    FILE *file = ok ? fopen(name, "rb") : NULL;
    for (size_t n; file != NULL && (n = fread(block, 1, sizeof block, file)) > 0;)
        ok = ok && tc_buffer_append(out, block, n) == TC_OK;
    if (file != NULL)
        fclose(file);
    unlink(name);
    return ok;
}

bool fuzz_seed(int i, const char **name_p, tc_buffer *out)
{
    static const struct {
        const char *name;
        int records;
    } seeds[] = { { "no records", 0 }, { "one record", 1 }, { "six records", 6 } };

    if (i >= (int)(sizeof seeds / sizeof *seeds))
        return false;
    *name_p = seeds[i].name;
    FUZZ_HOLDS(make(seeds[i].records, out), "%s", tc_error_detail());
    return true;
}

static void check_record(const tc_shard *shard, uint64_t i, size_t file_bytes)
{
    const tc_shard_entry *e = tc_shard_entry_at(shard, i);

    FUZZ_HOLDS(e->offset >= TC_HEAD_BYTES && e->bytes > 0 && e->offset < file_bytes &&
                   e->bytes <= file_bytes - e->offset,
               "record %" PRIu64 " lies outside", i);
    FUZZ_HOLDS(strlen(e->name) < file_bytes, "its name does not end");
    tc_status status = tc_shard_read(shard, i, &record);
    FUZZ_HOLDS(status == TC_OK || status == TC_FORMAT, "status %d: %s", status, tc_error_detail());
    FUZZ_HOLDS(status != TC_OK ||
                   (record.bytes == e->bytes &&
                    XXH3_64bits(record.data, record.bytes) == e->checksum),
               "a record with a wrong checksum is given out");
    FUZZ_HOLDS(status == TC_OK || XXH3_64bits(copy.data + e->offset, e->bytes) != e->checksum,
               "a sound record is refused: %s", tc_error_detail());
}

/* Read what is in `copy`; whether it opens. */
static bool read_copy(void)
{
    tc_shard *shard = NULL;

    FUZZ_HOLDS(ftruncate(fd, 0) == 0 && pwrite(fd, copy.data, copy.bytes, 0) == (ssize_t)copy.bytes,
               "the file in memory takes no more");
    tc_status status = tc_shard_open(path, &shard);
    if (status != TC_OK) {
        FUZZ_HOLDS(status == TC_FORMAT || status == TC_NOMEM, "status %d: %s", status,
                   tc_error_detail());
        FUZZ_HOLDS(tc_error_detail()[0] != '\0', "refused without a text");
        return false;
    }
    FUZZ_HOLDS(tc_shard_records(shard) <= copy.bytes / TC_ENTRY_BYTES, "too many records");
    for (uint64_t i = 0; i < tc_shard_records(shard); i++)
        check_record(shard, i, copy.bytes);
    FUZZ_HOLDS(tc_shard_read(shard, tc_shard_records(shard), &record) == TC_INVAL,
               "a record behind the last");
    tc_shard_close(shard);
    return true;
}

/* Set the checksums of the index, where it lies inside, and of the header. */
static void mend_header(void)
{
    uint8_t *p = copy.data;

    memcpy(p + TC_HEAD_MAGIC, TC_SHARD_MAGIC, 8);
    tc_put_u32(p + TC_HEAD_VERSION, TC_SHARD_VERSION);
    tc_put_u64(p + TC_HEAD_FILE_BYTES, copy.bytes);
    uint64_t at = tc_get_u64(p + TC_HEAD_INDEX_OFFSET), bytes;
    if (!__builtin_add_overflow(tc_get_u64(p + TC_HEAD_INDEX_BYTES),
                                tc_get_u64(p + TC_HEAD_NAMES_BYTES), &bytes) &&
        at <= copy.bytes && bytes <= copy.bytes - at)
        tc_put_u64(p + TC_HEAD_INDEX_CHECKSUM, XXH3_64bits(p + at, bytes));
    tc_put_u64(p + TC_HEAD_CHECKSUM, XXH3_64bits(p, TC_HEAD_CHECKSUM));
}

/* Set those of the records of a file that opens; whether there are any. */
static void mend_records(void)
{
    uint64_t records = tc_get_u64(copy.data + TC_HEAD_RECORDS);
    uint8_t *entry = copy.data + tc_get_u64(copy.data + TC_HEAD_INDEX_OFFSET);

    for (uint64_t i = 0; i < records; i++, entry += TC_ENTRY_BYTES)
        tc_put_u64(entry + TC_ENTRY_CHECKSUM,
                   XXH3_64bits(copy.data + tc_get_u64(entry + TC_ENTRY_OFFSET),
                               tc_get_u64(entry + TC_ENTRY_LENGTH)));
    mend_header();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (fd < 0)
        set_up();
    copy.bytes = 0;
    FUZZ_HOLDS(tc_buffer_append(&copy, data, bytes) == TC_OK, "no memory");
    read_copy();
    if (bytes < TC_HEAD_BYTES)
        return 0;
    mend_header();
    if (!read_copy())
        return 0;
    mend_records();
    FUZZ_HOLDS(read_copy(), "with right checksums it does not open: %s", tc_error_detail());
    return 0;
}
