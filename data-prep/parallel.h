#ifndef TC_PACK_PARALLEL_H
#define TC_PACK_PARALLEL_H
/**
 * @file parallel.h
 * The same job for every number below a count, on several threads.  Used by: verify, extract.
 */
#include "base/status.h"
#include <stdint.h>

/**
 * Call job(context, thread, i) for every i < count, 0 <= thread < threads.  A job that fails ends
 * the loop; the failure of the lowest i that was reached is returned, with its text.
 *
 * Blocks: until all threads have ended.   @retval TC_NOMEM  no thread could be started.
 */
tc_status tc_parallel(int threads, uint64_t count,
                      tc_status (*job)(void *context, int thread, uint64_t i), void *context);

#endif
