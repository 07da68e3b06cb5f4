/* The first load: long sequential reads, every checksum verified, a progress line. */
#include <config.h>

#include "store/store_impl.h"

#include "base/clock.h"
#include "base/log.h"

#define READ_BYTES (UINT64_C(16) << 20)
#define QUIET      1.0 /* s: a short load shows its end only */

typedef struct {
    const char *split;
    uint64_t total, done; /* bytes of this rank's share */
    double start;
} progress;

static void show(const progress *p, bool done)
{
    double seconds = tc_now() - p->start, rate = seconds > 0.0 ? (double)p->done / seconds : 0.0;
    double share = p->total > 0 ? 100.0 * (double)p->done / (double)p->total : 100.0;

    if (!done && seconds < QUIET)
        return;
    if (done)
        tc_progress(true, "tricolor: store: %s: %.1f MB loaded by rank 0 in %.1f s (%.0f MB/s)",
                    p->split, (double)p->done / 1e6, seconds, rate / 1e6);
    else
        tc_progress(false, "tricolor: store: %s: %.0f %% loaded, %.0f MB/s a rank, %.0f s left",
                    p->split, share, rate / 1e6,
                    rate > 0.0 ? (double)(p->total - p->done) / rate : 0.0);
}

/* Last record (exclusive) of one read that begins at record i: whole records, at most `room` bytes
 * (or one record that is longer).  *bytes_p: from the start of the first to the end of the last. */
static uint64_t read_end(const tc_shard *shard, uint64_t i, uint64_t end, uint64_t room,
                         uint64_t *bytes_p)
{
    uint64_t start = tc_shard_entry_at(shard, i)->offset, bytes = 0;

    for (; i < end; i++) {
        const tc_shard_entry *entry = tc_shard_entry_at(shard, i);
        if (entry->offset - start + entry->bytes > room)
            break;
        bytes = entry->offset - start + entry->bytes;
    }
    *bytes_p = bytes;
    return i;
}

/* Load records [i, end) of a shard; the first has number `record` in the set. */
static tc_status load_shard(tc_store *store, const tc_shard *shard, uint64_t i, uint64_t end,
                            uint64_t record, const tc_buffer *buffer, progress *p)
{
    tc_store_held *held = &store->held;

    while (i < end) {
        uint64_t first = i, bytes, offset = tc_shard_entry_at(shard, i)->offset;
        uint64_t stop = read_end(shard, i, end, buffer->capacity, &bytes);
        tc_status status = tc_shard_read_range(shard, offset, buffer->data, (size_t)bytes);
        for (; status == TC_OK && i < stop; i++) {
            const tc_shard_entry *entry = tc_shard_entry_at(shard, i);
            const uint8_t *data = buffer->data + (entry->offset - offset);
            tc_slot_chain chain = { TC_NO_SLOT, TC_NO_SLOT, 0 };
            status = tc_shard_check(shard, i, data);
            if (status == TC_OK)
                status = tc_slots_append(&held->slots, &chain, data, entry->bytes);
            if (status == TC_OK)
                held->head[record + (i - first)] = chain.first;
        }
        if (status != TC_OK)
            return status;
        record += stop - first;
        held->records += stop - first;
        held->bytes += bytes;
        p->done += bytes;
        if (p->done < p->total)
            show(p, false);
    }
    return TC_OK;
}

static uint64_t bytes_of_share(const tc_store *store, const tc_store_share *share)
{
    uint64_t bytes = 0;

    for (uint64_t id = share->first; id < share->last; id++)
        bytes += store->index.entries[id].bytes;
    return bytes;
}

uint64_t tc_store_load_bytes(const tc_store *store, const tc_store_share *share)
{
    uint64_t all = bytes_of_share(store, share), largest = store->dataset->max_bytes;
    uint64_t bytes = all < READ_BYTES ? all : READ_BYTES; /* a small share needs no more */

    return bytes > largest ? bytes : largest;
}

tc_status tc_store_load(tc_store *store, const tc_store_share *share)
{
    const tc_dataset *dataset = store->dataset;
    progress p = { .split = dataset->split,
                   .total = bytes_of_share(store, share),
                   .start = tc_now() };
    tc_buffer buffer = { 0 };

    tc_status status = tc_buffer_reserve(&buffer, (size_t)tc_store_load_bytes(store, share));
    for (uint32_t s = 0; status == TC_OK && s < share->n_shards; s++) {
        uint64_t first = dataset->first[share->first_shard + s];
        uint64_t end = dataset->first[share->first_shard + s + 1];
        uint64_t from = first > share->first ? first : share->first;
        uint64_t to = end < share->last ? end : share->last;
        status = load_shard(store, share->shards[s], from - first, to - first, from, &buffer, &p);
    }
    tc_buffer_free(&buffer);
    if (status == TC_OK)
        show(&p, true);
    return status;
}
