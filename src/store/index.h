#ifndef TC_STORE_INDEX_H
#define TC_STORE_INDEX_H
/**
 * @file index.h
 * What every rank knows of every record.  Each rank of a group reads the indexes of its own share
 * of the shards and tells the others, so that the file system serves each index about once a group.
 * Private to store/.
 */
#include "comm/comm.h"
#include "shard/dataset.h"
#include "store/store.h"

typedef struct {
    uint64_t checksum;
    uint32_t bytes;
    int32_t label;
    uint32_t width, height;
} tc_store_entry;

typedef struct {
    uint64_t records;
    tc_store_entry *entries; /* (records) */
    uint64_t *name_at;       /* (records) into names */
    char *names;
} tc_store_index;

/** The records [first, last) that this rank reads, and their shards, opened. */
typedef struct {
    uint64_t first, last;
    uint32_t first_shard, n_shards;
    tc_shard **shards; /* (n_shards) */
} tc_store_share;

/** First record of rank r's share among `ranks`. */
static inline uint64_t tc_store_share_first(uint64_t records, int r, int ranks)
{
    return (uint64_t)((unsigned __int128)records * (unsigned)r / (unsigned)ranks);
}

/** Not collective: open the shards of the share of this rank in @p group.  @retval TC_IO, … */
tc_status tc_store_share_open(const tc_dataset *dataset, const tc_comm *group,
                              tc_store_share *share);
void tc_store_share_close(tc_store_share *share);
/** Bytes that the indexes of its open shards take, names estimated. */
uint64_t tc_store_share_bytes(const tc_store_share *share);

/** Fill the index from all ranks' shares.  Collective over world; votes on @p mine (the status of
 *  opening the share) before it communicates. */
tc_status tc_store_index_gather(tc_comm *world, tc_comm *group, const tc_dataset *dataset,
                                const tc_store_share *share, tc_status mine, tc_store_index *index);
void tc_store_index_free(tc_store_index *index);

/** Record `id`, whose bytes are at @p data. */
static inline tc_record tc_store_index_record(const tc_store_index *index, uint64_t id,
                                              const uint8_t *data)
{
    const tc_store_entry *entry = &index->entries[id];

    return (tc_record){ .data = data,
                        .bytes = entry->bytes,
                        .id = id,
                        .label = entry->label,
                        .width = entry->width,
                        .height = entry->height };
}

/** Bytes that an index of this data set takes, names estimated. */
uint64_t tc_store_index_bytes(uint64_t records);

#endif
