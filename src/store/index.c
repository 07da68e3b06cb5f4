#include <config.h>

#include "store/index.h"

#include "base/mem.h"

#include <string.h>

/* Only for the announcement: bytes of a name, and of a record in an open shard, as it stands in
 * the file and unpacked. */
#define NAME_GUESS        32
#define OPEN_RECORD_BYTES (64 + NAME_GUESS + sizeof(tc_shard_entry))

tc_status tc_store_share_open(const tc_dataset *dataset, const tc_comm *group,
                              tc_store_share *share)
{
    int rank = tc_comm_rank(group), ranks = tc_comm_size(group);
    uint32_t last_shard;
    uint64_t i;

    *share = (tc_store_share){ .first = tc_store_share_first(dataset->records, rank, ranks),
                               .last = tc_store_share_first(dataset->records, rank + 1, ranks) };
    if (share->first == share->last)
        return TC_OK; /* fewer records than ranks */
    tc_dataset_locate(dataset, share->first, &share->first_shard, &i);
    tc_dataset_locate(dataset, share->last - 1, &last_shard, &i);
    uint32_t n = last_shard - share->first_shard + 1;
    tc_status status = tc_alloc(n, sizeof *share->shards, "open shards", &share->shards);
    for (; status == TC_OK && share->n_shards < n; share->n_shards += status == TC_OK)
        status = tc_dataset_open_shard(dataset, share->first_shard + share->n_shards,
                                       &share->shards[share->n_shards]);
    return status;
}

void tc_store_share_close(tc_store_share *share)
{
    for (uint32_t i = 0; i < share->n_shards; i++)
        tc_shard_close(share->shards[i]);
    tc_free(share->shards);
    *share = (tc_store_share){ 0 };
}

uint64_t tc_store_share_bytes(const tc_store_share *share)
{
    uint64_t records = 0;

    for (uint32_t i = 0; i < share->n_shards; i++)
        records += tc_shard_records(share->shards[i]);
    return records * OPEN_RECORD_BYTES;
}

static const tc_shard_entry *entry_of(const tc_store_share *share, const tc_dataset *dataset,
                                      uint64_t id)
{
    uint32_t shard;
    uint64_t i;

    tc_dataset_locate(dataset, id, &shard, &i);
    return tc_shard_entry_at(share->shards[shard - share->first_shard], i);
}

static tc_status allocate(tc_store_index *index, uint64_t records)
{
    index->records = records;
    tc_status status =
        tc_alloc((int64_t)records, sizeof *index->entries, "index of the store", &index->entries);
    if (status == TC_OK)
        status = tc_alloc((int64_t)records, sizeof *index->name_at, "names of the store",
                          &index->name_at);
    return status;
}

/* This rank's part of the table; *names_p: bytes of its names. */
static tc_status fill(tc_store_index *index, const tc_dataset *dataset, const tc_store_share *share,
                      uint64_t *names_p)
{
    uint64_t names = 0;

    for (uint64_t id = share->first; id < share->last; id++) {
        const tc_shard_entry *entry = entry_of(share, dataset, id);
        if (entry->bytes > INT32_MAX)
            return tc_fail(TC_FORMAT, "%s: record %llu (%s) has %llu bytes, too many for a store",
                           dataset->path, (unsigned long long)id, entry->name,
                           (unsigned long long)entry->bytes);
        index->entries[id] = (tc_store_entry){ .checksum = entry->checksum,
                                               .bytes = (uint32_t)entry->bytes,
                                               .label = entry->label,
                                               .width = entry->width,
                                               .height = entry->height };
        index->name_at[id] = names;
        names += strlen(entry->name) + 1;
    }
    *names_p = names;
    return TC_OK;
}

/* Every rank tells the others its part; `before` (ranks + 1): bytes of names before each part. */
static tc_status tell(tc_comm *group, tc_store_index *index, const uint64_t *before)
{
    int ranks = tc_comm_size(group);
    tc_status status = TC_OK;

    for (int r = 0; status == TC_OK && r < ranks; r++) {
        uint64_t first = tc_store_share_first(index->records, r, ranks);
        uint64_t n = tc_store_share_first(index->records, r + 1, ranks) - first;
        status = tc_comm_bcast(group, index->entries + first, n * sizeof *index->entries, r);
        if (status == TC_OK)
            status = tc_comm_bcast(group, index->name_at + first, n * sizeof *index->name_at, r);
        if (status == TC_OK)
            status = tc_comm_bcast(group, index->names + before[r], before[r + 1] - before[r], r);
    }
    return status;
}

/* Bytes of names before each rank's part, from everybody's own number.  Collective: group. */
static tc_status add_up(tc_comm *group, uint64_t mine, uint64_t *before)
{
    int ranks = tc_comm_size(group);
    tc_status status = tc_comm_allgather(group, &mine, sizeof mine, before + 1);

    before[0] = 0;
    for (int r = 0; r < ranks; r++)
        before[r + 1] += before[r];
    return status;
}

tc_status tc_store_index_gather(tc_comm *world, tc_comm *group, const tc_dataset *dataset,
                                const tc_store_share *share, tc_status mine, tc_store_index *index)
{
    int rank = tc_comm_rank(group);
    uint64_t names = 0, *before = NULL;

    if (mine == TC_OK)
        mine = allocate(index, dataset->records);
    if (mine == TC_OK)
        mine = tc_alloc(tc_comm_size(group) + 1, sizeof *before, "shares of the names", &before);
    if (mine == TC_OK)
        mine = fill(index, dataset, share, &names);
    tc_status status = tc_comm_agree(world, mine);
    if (status != TC_OK)
        goto free_before;
    status = add_up(group, names, before);
    if (status != TC_OK)
        goto free_before;

    mine = tc_alloc((int64_t)before[tc_comm_size(group)], 1, "names of the store", &index->names);
    for (uint64_t id = share->first; mine == TC_OK && id < share->last; id++) {
        index->name_at[id] += before[rank];
        strcpy(index->names + index->name_at[id], entry_of(share, dataset, id)->name);
    }
    status = tc_comm_agree(world, mine);
    if (status == TC_OK)
        status = tell(group, index, before);
free_before:
    tc_free(before);
    return status;
}

void tc_store_index_free(tc_store_index *index)
{
    tc_free(index->entries);
    tc_free(index->name_at);
    tc_free(index->names);
    *index = (tc_store_index){ 0 };
}

uint64_t tc_store_index_bytes(uint64_t records)
{
    return records * (sizeof(tc_store_entry) + sizeof(uint64_t) + NAME_GUESS);
}
