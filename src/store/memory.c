/* The paper's store: the whole set in the memory of the ranks of a group. */
#include <config.h>

#include "store/store_impl.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>

#define SLOW_BYTES 5e6  /* a second, of a file system or network that is still believed to work */
#define SLOW_START 60.0 /* s */

/* Where the records lie at first: the set in as many parts as ranks, so that each reads long runs.
 */
static tc_store_order order_of_load(const tc_store *store)
{
    uint64_t ranks = store->order.ranks;
    tc_store_order order = { .records = store->order.records, .ranks = ranks };

    order.block = (order.records + ranks - 1) / ranks;
    order.block += order.block == 0;
    return order;
}

/* The tables of the records held here, and all that the shards' indexes say of this rank's share.
 */
static tc_status survey(tc_store *store)
{
    tc_store_held *held = &store->held;
    const tc_dataset *dataset = store->dataset;
    int rank = tc_comm_rank(store->group);

    held->order = order_of_load(store);
    uint64_t share = tc_store_order_count(&held->order, rank);
    uint64_t room = tc_store_order_count(&store->order, rank);
    held->room = share > room ? share : room;
    if (held->room > UINT32_MAX - 1)
        return tc_fail(TC_NOSUPPORT,
                       "%s: %llu records in one rank; a store takes fewer than "
                       "2^32 - 1: use more ranks",
                       dataset->path, (unsigned long long)held->room);
    held->slots.bytes = tc_slots_size(dataset->records > 0 ? dataset->bytes / dataset->records : 0);
    tc_status status =
        tc_alloc((int64_t)held->room, sizeof *held->place, "places of the records", &held->place);
    if (status == TC_OK)
        status =
            tc_alloc((int64_t)held->room, sizeof *held->next, "places of the records", &held->next);
    return status == TC_OK ? tc_store_survey(store) : status;
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

/* Say how much memory the fullest rank will take in the fullest epoch of the run, and refuse what
 * does not fit.  Collective. */
static tc_status announce(tc_store *store, uint64_t slots)
{
    const tc_dataset *dataset = store->dataset;
    const tc_store_held *held = &store->held;
    int ranks = tc_comm_size(store->group);
    uint64_t round =
        ranks > 1 ? (unsigned)ranks * tc_rounds_piece(ranks, store->round_bytes, dataset->bytes)
                  : 0;
    uint64_t tables = 2 * held->room * sizeof *held->place; /* taken already */
    uint64_t bytes = tc_slots_memory(&held->slots, slots) +
                     tc_exchange_bytes(ranks, store->round_bytes, dataset->bytes, held->room);
    uint64_t loading = tc_store_load_bytes(store, round);
    double most[2] = { (double)(bytes + tables), (double)loading };

    tc_status status = tc_comm_max(store->world, most, 2);
    if (status != TC_OK)
        return status;
    tc_log(TC_LOG_INFO, "store",
           "%s: %llu records, %.1f MB, over %d rank%s in each of %d group%s: at most %.1f MB a "
           "rank in epochs %llu to %llu, and %.1f MB while it loads",
           dataset->split, (unsigned long long)dataset->records, (double)dataset->bytes / 1e6,
           ranks, ranks == 1 ? "" : "s", store->groups, store->groups == 1 ? "" : "s",
           most[0] / 1e6, (unsigned long long)store->order.epoch,
           (unsigned long long)store->last_epoch, most[1] / 1e6);
    return check_fit(store, bytes + loading, tables);
}

static tc_status take(tc_store *store, uint64_t slots)
{
    tc_status status = tc_slots_reserve(&store->held.slots, slots);

    if (status == TC_OK)
        status = tc_exchange_allocate(&store->exchange, store->group, store->round_bytes,
                                      store->dataset->bytes, store->held.room);
    return status;
}

/* Have the slots that are due, where more are needed than was planned for. */
static tc_status grow(tc_store *store, const tc_store_due *due)
{
    tc_slots *s = &store->held.slots;

    if (due->slots <= s->count)
        return TC_OK;
    uint64_t slots = tc_rounds_slots(due->slots, store->order.ranks);
    tc_status status =
        check_fit(store, tc_slots_memory(s, slots - s->count), tc_slots_memory(s, s->count));
    if (status == TC_OK)
        status = tc_slots_reserve(s, slots);
    return status;
}

/* Run the exchange to store->order and look whether all that is due came.  Collective; votes on
 * @p mine first. */
static tc_status move(tc_store *store, tc_status mine)
{
    tc_store_held *held = &store->held;
    uint64_t records = tc_store_order_count(&store->order, tc_comm_rank(store->group));
    tc_store_due due;

    tc_status status = tc_comm_agree(store->world, mine);
    if (status != TC_OK)
        return status;
    tc_exchange_plan(&store->exchange, held, &store->order);
    status = tc_exchange_due(&store->exchange, store->group, &due);
    if (status == TC_OK)
        status = tc_comm_agree(store->world, grow(store, &due));
    if (status != TC_OK)
        return status;
    tc_comm_phase(store->world, "moving records", SLOW_START + (double)held->bytes / SLOW_BYTES);
    mine = tc_exchange_run(&store->exchange, store->group, held);
    if (mine == TC_OK && (held->records != records || held->bytes != due.bytes))
        mine = tc_fail(TC_FORMAT,
                       "%s: %llu records (%llu bytes) came for epoch %llu, %llu (%llu) were due",
                       store->dataset->path, (unsigned long long)held->records,
                       (unsigned long long)held->bytes, (unsigned long long)store->order.epoch,
                       (unsigned long long)records, (unsigned long long)due.bytes);
    return tc_comm_agree(store->world, mine);
}

static tc_status memory_open(tc_store *store)
{
    uint64_t slots = 0;

    tc_comm_phase(store->world, "planning the memory", SLOW_START + 600.0);
    tc_status status = tc_store_need(store, survey(store), &slots);
    if (status == TC_OK) {
        slots = tc_rounds_slots(slots, store->order.ranks);
        status = tc_comm_agree(store->world, announce(store, slots));
    }
    if (status == TC_OK)
        status = tc_comm_agree(store->world, take(store, slots));
    if (status != TC_OK)
        return status;
    tc_comm_phase(store->world, "loading the data set",
                  SLOW_START + (double)store->dataset->bytes / SLOW_BYTES);
    return move(store, tc_store_load(store));
}

static tc_status memory_begin_epoch(tc_store *store)
{
    return move(store, TC_OK);
}

static tc_status memory_borrow(tc_store *store, uint64_t pos, uint64_t id, tc_buffer *scratch,
                               tc_record *rec_p)
{
    const tc_store_held *held = &store->held;
    const tc_place *place = &held->place[tc_store_order_local(&store->order, pos)];
    const uint8_t *data;

    if (place->bytes <= held->slots.bytes) {
        data = tc_slot_data(&held->slots, place->slot);
    } else {
        tc_status status = tc_buffer_reserve(scratch, place->bytes);
        if (status != TC_OK)
            return status;
        tc_slots_copy(&held->slots, place->slot, scratch->data, place->bytes);
        data = scratch->data;
    }
    *rec_p = (tc_record){ .data = data,
                          .bytes = place->bytes,
                          .id = id,
                          .label = place->label,
                          .width = place->width,
                          .height = place->height };
    return TC_OK;
}

static void memory_describe(tc_store *store)
{
    snprintf(
        store->choices, sizeof store->choices,
        "memory, %d group%s, %llu of %llu records and %.1f MB in this rank, slots of %u bytes, "
        "rounds of %.1f MB",
        store->groups, store->groups == 1 ? "" : "s", (unsigned long long)store->held.records,
        (unsigned long long)store->dataset->records, (double)store->held.bytes / 1e6,
        store->held.slots.bytes,
        (double)(store->exchange.piece * (unsigned)store->exchange.ranks) / 1e6);
}

static void memory_close(tc_store *store)
{
    tc_exchange_free(&store->exchange);
    tc_slots_free(&store->held.slots);
    tc_free(store->held.place);
    tc_free(store->held.next);
}

const tc_store_kind tc_store_memory_kind = {
    .name = "memory",
    .open = memory_open,
    .begin_epoch = memory_begin_epoch,
    .borrow = memory_borrow,
    .describe = memory_describe,
    .close = memory_close,
};
