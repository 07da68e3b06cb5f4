/* Records read from the shards as they are needed: for sets larger than the memory. */
#include <config.h>

#include "store/store_impl.h"

#include <stdio.h>
#include <xxhash.h>

static tc_status shards_open(tc_store *store)
{
    tc_comm_phase(store->world, "checking the shards", 600.0);
    tc_status status = tc_windows_create(store->dataset, store->handles, &store->order,
                                         tc_comm_rank(store->group), true, &store->windows);
    return tc_comm_agree(store->world, status);
}

static tc_status shards_begin_epoch(tc_store *store)
{
    tc_windows_reset(store->windows); /* nothing is borrowed, so nobody looks */
    return TC_OK;
}

/* Read a record's bytes. */
static tc_status read_record(tc_store *store, uint64_t local, tc_buffer *scratch, tc_located *at)
{
    const tc_shard *shard;

    tc_status status = tc_windows_find(store->windows, local, at);
    if (status == TC_OK)
        status = tc_buffer_reserve(scratch, (size_t)at->bytes);
    if (status == TC_OK)
        status = tc_handles_borrow(store->handles, at->shard, &shard);
    if (status != TC_OK)
        return status;
    status = tc_shard_read_range(shard, at->offset, scratch->data, (size_t)at->bytes);
    tc_handles_release(store->handles, at->shard);
    return status;
}

static tc_status shards_borrow(tc_store *store, uint64_t pos, uint64_t id, tc_buffer *scratch,
                               tc_record *rec_p)
{
    tc_located at;

    tc_status status = read_record(store, tc_store_order_local(&store->order, pos), scratch, &at);
    if (status != TC_OK)
        return tc_store_unread(store, id, status);
    if (XXH3_64bits(scratch->data, (size_t)at.bytes) != at.checksum)
        return tc_store_damaged(store, id);
    *rec_p = (tc_record){ .data = scratch->data,
                          .bytes = at.bytes,
                          .id = id,
                          .label = at.label,
                          .width = at.width,
                          .height = at.height };
    return TC_OK;
}

static void shards_describe(tc_store *store)
{
    snprintf(store->choices, sizeof store->choices,
             "shards, %llu records read from %u shards as needed, %llu ahead",
             (unsigned long long)store->dataset->records, store->dataset->n_shards,
             (unsigned long long)tc_windows_size(store->windows));
}

static void shards_close(tc_store *store)
{
    (void)store; /* windows and handles are closed with the store */
}

const tc_store_kind tc_store_shards_kind = {
    .name = "shards",
    .open = shards_open,
    .begin_epoch = shards_begin_epoch,
    .borrow = shards_borrow,
    .describe = shards_describe,
    .close = shards_close,
};
