#ifndef TC_ALLREDUCE_CACHE_H
#define TC_ALLREDUCE_CACHE_H
/**
 * @file cache.h
 * A text file that keeps what `auto` has chosen: a line each, KEY us=TIME choice=SPEC.
 *
 * Used by: auto.   Local: one rank reads and writes, and tells the others.
 * The key says for whom the choice holds (program, ranks, places, bytes …); a line with another key
 * is somebody else's and stays.
 */
#include "base/status.h"
#include <stddef.h>

/**
 * Look a choice up.
 *
 * @param[out] choice  (size) its spec; "" where the file or the line is not there.
 * @retval TC_IO      the file cannot be read.
 * @retval TC_FORMAT  it holds something else; file and line are named.
 */
tc_status tc_cache_find(const char *path, const char *key, char *choice, size_t size);

/** See that the file can be written, before time is spent; creates it.  @retval TC_IO */
tc_status tc_cache_prepare(const char *path);

/** Add or replace a choice.  The file is replaced as a whole.  @retval TC_IO, TC_FORMAT, TC_NOMEM
 */
tc_status tc_cache_add(const char *path, const char *key, double seconds, const char *choice);

#endif
