#include <config.h>

#include "data-prep/journal.h"

#include "data-prep/folder.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "shard/shard.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define MAGIC       UINT64_C(0x316c616e72756f6a) /* "journal1" */
#define FLUSH_EVERY 1024                         /* entries: what a kill can cost, about */

/* As it stands in the file: of this machine alone, and gone when the set is finished. */
typedef struct {
    uint64_t check; /* XXH3 of the rest, and of the two texts behind it */
    uint64_t name, source, bytes, checksum;
    uint32_t w, h, outcome, notes, fault, detail_bytes, why_bytes, zero;
} raw_entry;

typedef struct {
    uint64_t magic, options;
} raw_head;

struct tc_journal {
    char path[4096 + 32];
    FILE *old;     /* entries to take */
    FILE *file;    /* entries are added */
    uint64_t left; /* of the old ones */
    uint64_t entries, flushed;
    uint64_t *bytes; /* (shards) of the data that the old ones account for */
};

uint32_t tc_journal_shard(const tc_create_options *options, uint64_t i)
{
    tc_rng rng = tc_rng_make(options->seed, TC_STREAM_SHARD, i, 0);

    return (uint32_t)tc_rng_below(&rng, options->shards);
}

/* All that decides what a picture becomes and where it goes. */
static uint64_t hash_options(const tc_create_options *o)
{
    const tc_recode_options *r = &o->recode;
    char text[512];
    int n = snprintf(text, sizeof text, "%s %u %" PRIu64 " %d %d %lld %d %lld %lld %d",
                     PACKAGE_VERSION, o->shards, o->seed, r->keep, r->quality,
                     (long long)r->shorter, r->turn, (long long)r->limits.max_pixels,
                     (long long)r->limits.max_memory, r->limits.salvage);

    return XXH3_64bits(text, (size_t)n);
}

static uint64_t check_of(const raw_entry *raw, const char *detail, const char *why)
{
    uint64_t hash = XXH3_64bits((const char *)raw + sizeof raw->check,
                                sizeof *raw - sizeof raw->check);

    hash = XXH3_64bits_withSeed(detail, raw->detail_bytes, hash);
    return XXH3_64bits_withSeed(why, raw->why_bytes, hash);
}

/* Read one entry; false: the end, or not whole. */
static bool read_entry(FILE *file, tc_journal_entry *entry)
{
    raw_entry raw;

    memset(entry, 0, sizeof *entry);
    if (fread(&raw, sizeof raw, 1, file) != 1 || raw.detail_bytes >= sizeof entry->result.detail ||
        raw.why_bytes >= sizeof entry->why || raw.outcome >= TC_OUTCOMES ||
        raw.fault > TC_FAULT_DAMAGED ||
        fread(entry->result.detail, 1, raw.detail_bytes, file) != raw.detail_bytes ||
        fread(entry->why, 1, raw.why_bytes, file) != raw.why_bytes ||
        check_of(&raw, entry->result.detail, entry->why) != raw.check)
        return false;
    entry->name = raw.name;
    entry->source = raw.source;
    entry->bytes = raw.bytes;
    entry->checksum = raw.checksum;
    entry->result.w = raw.w;
    entry->result.h = raw.h;
    entry->result.outcome = (tc_outcome)raw.outcome;
    entry->result.notes = raw.notes;
    entry->result.fault = (tc_fault)raw.fault;
    return true;
}

/* Whether the record's bytes lie where they have to. */
static bool read_record(const tc_shard_leftover *shard, uint64_t offset,
                        const tc_journal_entry *entry, tc_buffer *buffer)
{
    buffer->bytes = 0;
    return shard != NULL && tc_buffer_reserve(buffer, entry->bytes) == TC_OK &&
           tc_shard_leftover_read(shard, offset, buffer->data, entry->bytes) &&
           XXH3_64bits(buffer->data, entry->bytes) == entry->checksum;
}

/* Count the entries that hold, and the bytes of their records; returns where the last one ends. */
static long count(tc_journal *journal, const tc_create_options *o,
                  tc_shard_leftover *const *shards)
{
    long end = ftell(journal->old);
    tc_buffer buffer = { 0 };
    uint64_t records = 0;
    tc_journal_entry entry;

    while (read_entry(journal->old, &entry)) {
        if (entry.bytes > 0) {
            uint32_t s = tc_journal_shard(o, records++);
            if (!read_record(shards[s], journal->bytes[s], &entry, &buffer))
                break;
            journal->bytes[s] += entry.bytes;
        }
        journal->left++;
        end = ftell(journal->old);
        if (journal->left % FLUSH_EVERY == 0)
            tc_progress(false, "pack: %s: %" PRIu64 " pictures of an interrupted run are read",
                        o->split, journal->left);
    }
    tc_buffer_free(&buffer);
    return end;
}

/* Open what is left of the shards (NULL where there is nothing), and count. */
static tc_status look(tc_journal *journal, const char *folder, const tc_create_options *o)
{
    tc_shard_leftover **shards = NULL;
    raw_head head = { 0 };
    char path[4096 + 32];

    if (fread(&head, sizeof head, 1, journal->old) != 1 || head.magic != MAGIC)
        return TC_OK;
    if (head.options != hash_options(o)) {
        tc_log(TC_LOG_INFO, "pack", "%s: an interrupted run with other options is given up",
               folder);
        return TC_OK;
    }
    tc_status status = tc_alloc(o->shards, sizeof *shards, "shards", &shards);
    for (uint32_t s = 0; status == TC_OK && s < o->shards; s++) {
        snprintf(path, sizeof path, "%s/%05u.shard", folder, s);
        status = tc_shard_leftover_open(path, &shards[s]);
    }
    if (status == TC_OK) {
        long end = count(journal, o, shards);
        if (journal->left > 0 &&
            (truncate(journal->path, end) != 0 || fseek(journal->old, sizeof head, SEEK_SET) != 0))
            status = tc_fail(TC_IO, "%s: cannot be cut: %s", journal->path, strerror(errno));
    }
    for (uint32_t s = 0; shards != NULL && s < o->shards; s++)
        tc_shard_leftover_close(shards[s]);
    tc_free(shards);
    return status;
}

/* Begin one behind what is left, or a new one. */
static tc_status start(tc_journal *journal, const char *folder, const tc_create_options *o)
{
    raw_head head = { MAGIC, hash_options(o) };
    bool new = journal->left == 0;

    tc_status status = tc_folder_sweep(folder, !new);
    if (status != TC_OK)
        return status;
    journal->entries = journal->flushed = journal->left;
    journal->file = fopen(journal->path, new ? "we" : "ae");
    if (journal->file == NULL)
        return tc_fail(TC_IO, "%s: cannot create: %s", journal->path, strerror(errno));
    if (new && fwrite(&head, sizeof head, 1, journal->file) != 1)
        return tc_fail(TC_IO, "%s: cannot write: %s", journal->path, strerror(errno));
    if (new)
        memset(journal->bytes, 0, o->shards * sizeof *journal->bytes);
    else
        tc_log(TC_LOG_INFO, "pack",
               "%s: %" PRIu64 " pictures of an interrupted run are taken over where the source "
               "still has them",
               folder, journal->left);
    return TC_OK;
}

tc_status tc_journal_open(const char *folder, const tc_create_options *options, bool anew,
                          tc_journal **journal_p)
{
    tc_journal *journal = NULL;

    tc_status status = tc_alloc(1, sizeof *journal, "journal", &journal);
    if (status != TC_OK)
        return status;
    snprintf(journal->path, sizeof journal->path, "%.4096s/journal.tmp", folder);
    status = tc_alloc(options->shards, sizeof *journal->bytes, "journal", &journal->bytes);
    if (status == TC_OK && !anew && (journal->old = fopen(journal->path, "re")) != NULL)
        status = look(journal, folder, options);
    if (status == TC_OK)
        status = start(journal, folder, options);
    if (status != TC_OK) {
        tc_journal_close(journal, true);
        return status;
    }
    *journal_p = journal;
    return TC_OK;
}

bool tc_journal_close(tc_journal *journal, bool keep)
{
    if (journal == NULL)
        return false;
    bool stays = keep && journal->flushed > 0;
    if (journal->file != NULL)
        fclose(journal->file); /* what it cannot write is seen by the next run */
    if (journal->old != NULL)
        fclose(journal->old);
    if (journal->file != NULL && !stays)
        unlink(journal->path);
    tc_free(journal->bytes);
    tc_free(journal);
    return stays;
}

uint64_t tc_journal_left(const tc_journal *journal)
{
    return journal->left;
}

uint64_t tc_journal_bytes(const tc_journal *journal, uint32_t s)
{
    return journal->bytes[s];
}

tc_status tc_journal_next(tc_journal *journal, tc_journal_entry *entry)
{
    if (!read_entry(journal->old, entry))
        return tc_fail(TC_IO, "%s: changed while it was read", journal->path);
    journal->left--;
    return TC_OK;
}

tc_status tc_journal_add(tc_journal *journal, const tc_journal_entry *entry, bool *flush_p)
{
    const tc_recoded *result = &entry->result;
    raw_entry raw = { .name = entry->name,
                      .source = entry->source,
                      .bytes = entry->bytes,
                      .checksum = entry->checksum,
                      .w = result->w,
                      .h = result->h,
                      .outcome = result->outcome,
                      .notes = result->notes,
                      .fault = result->fault,
                      .detail_bytes = (uint32_t)strlen(result->detail),
                      .why_bytes = (uint32_t)strlen(entry->why) };

    raw.check = check_of(&raw, result->detail, entry->why);
    if (fwrite(&raw, sizeof raw, 1, journal->file) != 1 ||
        fwrite(result->detail, 1, raw.detail_bytes, journal->file) != raw.detail_bytes ||
        fwrite(entry->why, 1, raw.why_bytes, journal->file) != raw.why_bytes)
        return tc_fail(TC_IO, "%s: cannot write: %s", journal->path, strerror(errno));
    journal->entries++;
    *flush_p = journal->entries - journal->flushed >= FLUSH_EVERY;
    return TC_OK;
}

tc_status tc_journal_flush(tc_journal *journal)
{
    if (fflush(journal->file) != 0)
        return tc_fail(TC_IO, "%s: cannot write: %s", journal->path, strerror(errno));
    journal->flushed = journal->entries;
    return TC_OK;
}
