#ifndef TC_STORE_HANDLES_H
#define TC_STORE_HANDLES_H
/**
 * @file handles.h
 * Shards of a set, opened when they are needed, a bounded number at a time.  Private to store/.
 *
 * Flow:  tc_handles_create() -> tc_handles_borrow() -> tc_handles_release() … -> tc_handles_free()
 */
#include "shard/dataset.h"

typedef struct tc_handles tc_handles;

/** @param dataset  borrowed.
 *  @param most     shards open at a time, at least 1; 0: a quarter of the limit of open
 *                  files, at most 512.   @retval TC_NOMEM */
tc_status tc_handles_create(const tc_dataset *dataset, uint32_t most, tc_handles **handles_p);
void tc_handles_free(tc_handles *handles); /* NULL accepted */

/**
 * Open shard i < n_shards, without its index, or find it open.
 *
 * Thread-safe: yes.   Blocks: on the file system, and while all that may be open are borrowed.
 * @param[out] shard_p  valid until tc_handles_release().   @retval as tc_dataset_open_bare()
 */
tc_status tc_handles_borrow(tc_handles *handles, uint32_t i, const tc_shard **shard_p);
void tc_handles_release(tc_handles *handles, uint32_t i);

#endif
