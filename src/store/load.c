/* The first load: long sequential reads, every checksum verified, a progress line. */
#include <config.h>

#include "store/store_impl.h"

#include "base/clock.h"
#include "base/log.h"

#include <xxhash.h>

#define READ_MOST  (UINT64_C(16) << 20)
#define READ_LEAST (UINT64_C(1) << 20)
#define READS      64   /* of a share at least: the buffer is little beside the records */
#define ENTRIES    4096 /* of an index, read at a time */
#define QUIET      1.0  /* s: a short load shows its end only */

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

/* The part of this rank's share that lies in one shard. */
typedef struct {
    uint32_t shard;
    uint64_t i;     /* first record, in the shard */
    uint64_t id;    /* the same, in the set */
    uint64_t local; /* its place */
    uint64_t count;
} part;

/* The part at place `local`; false at the end of the share. */
static bool next_part(const tc_store *store, uint64_t local, part *p)
{
    const tc_store_order *order = &store->held.order;
    int rank = tc_comm_rank(store->group);
    uint64_t share = tc_store_order_count(order, rank);

    if (local == share)
        return false;
    p->id = tc_store_order_at(order, rank, local);
    tc_dataset_locate(store->dataset, p->id, &p->shard, &p->i);
    p->local = local;
    p->count = store->dataset->first[p->shard + 1] - p->id;
    if (p->count > share - local)
        p->count = share - local;
    return true;
}

static tc_status survey_part(tc_store *store, const tc_shard *shard, const part *p)
{
    for (uint64_t k = 0; k < p->count; k++) {
        const tc_shard_entry *entry = tc_shard_entry_at(shard, p->i + k);
        if (entry->bytes > INT32_MAX)
            return tc_fail(TC_FORMAT, "%s: record %llu (%s) has %llu bytes, too many for a store",
                           tc_shard_path(shard), (unsigned long long)(p->i + k), entry->name,
                           (unsigned long long)entry->bytes);
        store->held.place[p->local + k] = (tc_place){ .slot = TC_NO_SLOT,
                                                      .bytes = (uint32_t)entry->bytes,
                                                      .label = entry->label,
                                                      .width = entry->width,
                                                      .height = entry->height };
    }
    return TC_OK;
}

tc_status tc_store_survey(tc_store *store)
{
    tc_status status = TC_OK;
    part p = { 0 };

    while (status == TC_OK && next_part(store, p.local + p.count, &p)) {
        tc_shard *shard = NULL;
        status = tc_dataset_open_shard(store->dataset, p.shard, &shard);
        if (status == TC_OK)
            status = survey_part(store, shard, &p);
        tc_shard_close(shard);
    }
    return status;
}

static uint64_t bytes_of_share(const tc_store *store)
{
    uint64_t n = tc_store_order_count(&store->held.order, tc_comm_rank(store->group)), bytes = 0;

    for (uint64_t i = 0; i < n; i++)
        bytes += store->held.place[i].bytes;
    return bytes;
}

/* What a load reads into and from. */
typedef struct {
    uint8_t *data; /* (room) */
    uint64_t room;
    uint8_t *own;            /* `data`, where it is not borrowed */
    uint64_t most;           /* records that are read at once */
    tc_shard_entry *entries; /* (most) */
    progress progress;
} loader;

/* Records of a part, from its first on, that are read at once; *bytes_p: of them together. */
static uint64_t read_length(const tc_store *store, const loader *l, const part *p,
                            uint64_t *bytes_p)
{
    const tc_place *place = &store->held.place[p->local];
    uint64_t n = 0, bytes = 0;

    while (n < p->count && n < l->most && bytes + place[n].bytes <= l->room)
        bytes += place[n++].bytes;
    *bytes_p = bytes;
    return n;
}

/* Put record k of those that were read, at `offset` of the data, into slots. */
static tc_status keep(tc_store *store, const loader *l, const part *p, uint64_t k, uint64_t offset)
{
    tc_slot_chain chain = { TC_NO_SLOT, TC_NO_SLOT, 0 };
    tc_place *place = &store->held.place[p->local + k];
    const tc_shard_entry *entry = &l->entries[k];

    if (entry->bytes != place->bytes || entry->offset != l->entries[0].offset + offset)
        return tc_fail(TC_FORMAT, "%s/%05u.shard: record %llu changed while it was loaded",
                       store->dataset->path, p->shard, (unsigned long long)(p->i + k));
    if (XXH3_64bits(l->data + offset, place->bytes) != entry->checksum)
        return tc_store_damaged(store, p->id + k);
    tc_status status = tc_slots_append(&store->held.slots, &chain, l->data + offset, place->bytes);
    if (status == TC_OK)
        place->slot = chain.first;
    return status;
}

static tc_status load_part(tc_store *store, loader *l, part p, const tc_shard *shard)
{
    tc_store_held *held = &store->held;
    uint64_t bytes;

    while (p.count > 0) {
        uint64_t offset = 0, n = read_length(store, l, &p, &bytes);
        tc_status status = tc_shard_fetch_entries(shard, p.i, n, l->entries);
        if (status == TC_OK)
            status = tc_shard_read_range(shard, l->entries[0].offset, l->data, (size_t)bytes);
        for (uint64_t k = 0; status == TC_OK && k < n; k++) {
            status = keep(store, l, &p, k, offset);
            offset += held->place[p.local + k].bytes;
        }
        if (status != TC_OK)
            return status;
        held->records += n;
        held->bytes += bytes;
        p = (part){ p.shard, p.i + n, p.id + n, p.local + n, p.count - n };
        l->progress.done += bytes;
        if (l->progress.done < l->progress.total)
            show(&l->progress, false);
    }
    return TC_OK;
}

/* Bytes of the data that are read at a time, about. */
static uint64_t read_bytes(const tc_store *store)
{
    uint64_t bytes = bytes_of_share(store) / READS, largest = store->dataset->max_bytes;

    bytes = bytes < READ_LEAST ? READ_LEAST : bytes > READ_MOST ? READ_MOST : bytes;
    if (bytes > store->dataset->bytes)
        bytes = store->dataset->bytes;
    return bytes > largest ? bytes : largest;
}

static uint64_t most_records(const tc_store *store)
{
    return store->held.room < ENTRIES ? store->held.room : ENTRIES;
}

uint64_t tc_store_load_bytes(const tc_store *store, uint64_t round)
{
    uint64_t data = read_bytes(store);

    return (data > round ? data : 0) + most_records(store) * sizeof(tc_shard_entry);
}

static tc_status allocate(tc_store *store, loader *l)
{
    tc_exchange *x = &store->exchange;
    uint64_t round = x->piece * (unsigned)x->ranks;

    l->room = read_bytes(store);
    l->most = most_records(store);
    tc_status status =
        tc_alloc((int64_t)l->most, sizeof *l->entries, "entries of shards", &l->entries);
    if (status == TC_OK && x->send != NULL && l->room <= round)
        l->data = x->send;
    else if (status == TC_OK)
        status = tc_alloc((int64_t)l->room, 1, "buffer of the load", &l->own);
    if (l->own != NULL)
        l->data = l->own;
    return status;
}

tc_status tc_store_load(tc_store *store)
{
    loader l = { .progress = { .split = store->dataset->split,
                               .total = bytes_of_share(store),
                               .start = tc_now() } };
    part p = { 0 };

    tc_status status = allocate(store, &l);
    while (status == TC_OK && next_part(store, p.local + p.count, &p)) {
        tc_shard *shard = NULL;
        status = tc_dataset_open_bare(store->dataset, p.shard, &shard);
        if (status == TC_OK)
            status = load_part(store, &l, p, shard);
        tc_shard_close(shard);
    }
    if (status == TC_OK)
        show(&l.progress, true);
    tc_free(l.entries);
    tc_free(l.own);
    return status;
}
