#ifndef TC_STORE_WINDOWS_H
#define TC_STORE_WINDOWS_H
/**
 * @file windows.h
 * Where the records of this rank's next positions lie in the shards.  Private to store/.
 *
 * A rank knows which records it will be asked for, so it looks ahead: the index entries of a window
 * of positions are read together, in the order in which they lie on the disk.  Nothing of the set
 * is kept but a few windows.
 *
 * Flow:  tc_windows_create() -> tc_windows_find() …, tc_windows_reset() every epoch
 *        -> tc_windows_free()
 */
#include "store/handles.h"
#include "store/order.h"

typedef struct tc_windows tc_windows;

/** One record, in its shard. */
typedef struct {
    uint64_t id, local;
    uint32_t shard;
    int32_t label;
    uint64_t i; /* in the shard */
    uint64_t offset, bytes, checksum;
    uint32_t width, height;
} tc_located;

/**
 * Not collective: read and check the indexes of this rank's share of the shards, so that the ranks
 * of the group have seen them all and an entry can be believed later; then set up the windows.
 *
 * @param order   borrowed; of the epoch at hand whenever something is looked for.
 * @param advise  tell the kernel to read the bytes of the records as well.
 * @retval TC_IO, TC_FORMAT  of a shard.
 */
tc_status tc_windows_create(const tc_dataset *dataset, tc_handles *handles,
                            const tc_store_order *order, int rank, bool advise,
                            tc_windows **windows_p);
void tc_windows_free(tc_windows *windows); /* NULL accepted */

/** Forget the epoch; nobody may be looking. */
void tc_windows_reset(tc_windows *windows);

/** Positions that are looked ahead. */
uint64_t tc_windows_size(const tc_windows *windows);

/**
 * Find the record at this rank's position @p local; fill its window, and the next, where needed.
 *
 * Thread-safe: yes.   Blocks: on the file system.   @retval TC_IO, TC_FORMAT
 */
tc_status tc_windows_find(tc_windows *windows, uint64_t local, tc_located *located_p);

#endif
