/* The paper's store: the whole set in the memory of the ranks of a group. */
#include <config.h>

#include "store/store_impl.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>

#define SLOW_BYTES 5e6  /* a second, of a file system or network that is still believed to work */
#define SLOW_START 60.0 /* s */

/* Records, bytes and slots that this rank holds in an order. */
typedef struct {
    uint64_t records, bytes, slots;
} load;

static load load_of_order(const tc_store *store, const tc_store_order *order)
{
    int me = tc_comm_rank(store->group);
    load l = { 0 };

    for (uint64_t pos = 0; pos < order->records; pos++) {
        if (tc_store_order_holder(order, pos) != me)
            continue;
        uint64_t bytes = store->index.entries[tc_store_order_record(order, pos)].bytes;
        l.records++;
        l.bytes += bytes;
        l.slots += tc_slots_for(bytes);
    }
    return l;
}

static uint64_t slots_of_share(const tc_store *store, const tc_store_share *share)
{
    uint64_t slots = 0;

    for (uint64_t id = share->first; id < share->last; id++)
        slots += tc_slots_for(store->index.entries[id].bytes);
    return slots;
}

/* Some room for what differs between epochs and for records under way. */
static uint64_t with_slack(const tc_store *store, uint64_t slots)
{
    return slots + slots / 50 + (uint64_t)tc_comm_size(store->group) + 16;
}

/* Refuse what does not fit.  @p bytes: what would be taken now, `held` bytes are taken already. */
static tc_status check_fit(const tc_store *store, uint64_t bytes, uint64_t held)
{
    uint64_t limit = store->memory_limit;
    const char *what = "the limit is";

    if (limit > 0)
        limit = limit > held ? limit - held : 0;
    else {
        limit = tc_store_free_memory("", tc_comm_local_size(store->world));
        what = "its share of the host's free memory is";
    }
    if (bytes <= limit)
        return TC_OK;
    return tc_fail(TC_NOMEM,
                   "%s: the store needs %.1f MB of memory in this rank, %s %.1f MB; use more "
                   "ranks, fewer --store-groups, or --store shards",
                   store->dataset->path, (double)bytes / 1e6, what, (double)limit / 1e6);
}

static uint64_t slot_bytes(uint64_t slots)
{
    return slots * (TC_SLOT_BYTES + sizeof(uint32_t));
}

/* Take all memory, after saying how much that is. */
static tc_status plan(tc_store *store, const tc_store_share *share, const load *due,
                      uint64_t *slots_p)
{
    const tc_dataset *dataset = store->dataset;
    int ranks = tc_comm_size(store->group);
    uint64_t start = slots_of_share(store, share), slots = due->slots > start ? due->slots : start;

    slots = with_slack(store, slots);
    uint64_t bytes = slot_bytes(slots) + dataset->records * sizeof(uint32_t) +
                     tc_exchange_bytes(ranks, store->round_bytes, dataset->bytes);
    uint64_t loading = tc_store_load_bytes(store, share);
    uint64_t held = tc_store_index_bytes(dataset->records), open = tc_store_share_bytes(share);
    tc_log(TC_LOG_INFO, "store",
           "%s: %llu records, %.1f MB, over %d rank%s in each of %d group%s: %.1f MB a rank, and "
           "%.1f MB while it loads",
           dataset->split, (unsigned long long)dataset->records, (double)dataset->bytes / 1e6,
           ranks, ranks == 1 ? "" : "s", store->groups, store->groups == 1 ? "" : "s",
           (double)(bytes + held) / 1e6, (double)(loading + open) / 1e6);
    *slots_p = slots;
    return check_fit(store, bytes + loading, held + open);
}

static tc_status take(tc_store *store, uint64_t slots)
{
    tc_store_held *held = &store->held;
    int64_t n = (int64_t)store->dataset->records;

    tc_status status = tc_slots_reserve(&held->slots, slots);
    if (status == TC_OK)
        status = tc_alloc(n, sizeof *held->head, "places of the records", &held->head);
    if (status == TC_OK)
        status = tc_exchange_allocate(&store->exchange, tc_comm_size(store->group),
                                      store->round_bytes, store->dataset->bytes);
    for (int64_t i = 0; status == TC_OK && i < n; i++)
        held->head[i] = TC_NO_SLOT;
    return status;
}

/* Run the exchange to store->order and look whether all that is due came.  Collective; votes on
 * @p mine first. */
static tc_status move(tc_store *store, const load *due, tc_status mine)
{
    const tc_store_held *held = &store->held;

    if (mine == TC_OK)
        mine = tc_exchange_plan(&store->exchange, store->group, held, &store->order);
    tc_status status = tc_comm_agree(store->world, mine);
    if (status != TC_OK)
        return status;
    tc_comm_phase(store->world, "moving records", SLOW_START + (double)held->bytes / SLOW_BYTES);
    mine = tc_exchange_run(&store->exchange, store->group, &store->index, &store->held);
    if (mine == TC_OK && (due->records != held->records || due->bytes != held->bytes))
        mine = tc_fail(TC_FORMAT,
                       "%s: %llu records (%llu bytes) came for epoch %llu, %llu (%llu) were due",
                       store->dataset->path, (unsigned long long)held->records,
                       (unsigned long long)held->bytes, (unsigned long long)store->order.epoch,
                       (unsigned long long)due->records, (unsigned long long)due->bytes);
    return tc_comm_agree(store->world, mine);
}

static tc_status memory_open(tc_store *store, const tc_store_share *share)
{
    load due = load_of_order(store, &store->order);
    uint64_t slots;

    tc_status status = tc_comm_agree(store->world, plan(store, share, &due, &slots));
    if (status == TC_OK)
        status = tc_comm_agree(store->world, take(store, slots));
    if (status != TC_OK)
        return status;
    tc_comm_phase(store->world, "loading the data set",
                  SLOW_START + (double)store->dataset->bytes / SLOW_BYTES);
    return move(store, &due, tc_store_load(store, share));
}

static tc_status memory_begin_epoch(tc_store *store)
{
    tc_slots *s = &store->held.slots;
    tc_status mine = TC_OK;

    if (tc_comm_size(store->group) == 1)
        return TC_OK; /* all is here already, in every group alike */
    load due = load_of_order(store, &store->order);
    if (due.slots > s->count) { /* the slack of the first epoch was too little */
        uint64_t slots = with_slack(store, due.slots);
        mine = check_fit(store, slot_bytes(slots - s->count), slot_bytes(s->count));
        if (mine == TC_OK)
            mine = tc_slots_reserve(s, slots);
        tc_log(TC_LOG_INFO, "store", "%s: epoch %llu takes more: now %.1f MB of slots in rank 0",
               store->dataset->split, (unsigned long long)store->order.epoch,
               (double)slot_bytes(s->count) / 1e6);
    }
    return move(store, &due, mine);
}

static tc_status memory_borrow(tc_store *store, uint64_t pos, uint64_t id, tc_buffer *scratch,
                               tc_record *rec_p)
{
    const tc_store_entry *entry = &store->index.entries[id];
    const tc_store_held *held = &store->held;
    uint32_t first = held->head[id];
    const uint8_t *data;

    if (first == TC_NO_SLOT)
        return tc_fail(TC_INVAL, "%s: position %llu, record %llu, is not here",
                       store->dataset->path, (unsigned long long)pos, (unsigned long long)id);
    if (entry->bytes <= TC_SLOT_BYTES) {
        data = tc_slot_data(&held->slots, first);
    } else {
        tc_status status = tc_buffer_reserve(scratch, entry->bytes);
        if (status != TC_OK)
            return status;
        tc_slots_copy(&held->slots, first, scratch->data, entry->bytes);
        data = scratch->data;
    }
    *rec_p = tc_store_index_record(&store->index, id, data);
    return TC_OK;
}

static void memory_describe(tc_store *store)
{
    snprintf(store->choices, sizeof store->choices,
             "memory, %d group%s, %llu of %llu records and %.1f MB in this rank, rounds of %.1f MB",
             store->groups, store->groups == 1 ? "" : "s", (unsigned long long)store->held.records,
             (unsigned long long)store->dataset->records, (double)store->held.bytes / 1e6,
             (double)(store->exchange.piece * (unsigned)store->exchange.ranks) / 1e6);
}

static void memory_close(tc_store *store)
{
    tc_exchange_free(&store->exchange);
    tc_slots_free(&store->held.slots);
    tc_free(store->held.head);
}

const tc_store_kind tc_store_memory_kind = {
    .name = "memory",
    .indexed = true,
    .open = memory_open,
    .begin_epoch = memory_begin_epoch,
    .borrow = memory_borrow,
    .describe = memory_describe,
    .close = memory_close,
};
