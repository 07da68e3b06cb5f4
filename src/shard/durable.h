#ifndef TC_SHARD_DURABLE_H
#define TC_SHARD_DURABLE_H
/**
 * @file durable.h
 * The last steps of writing a file that must be whole or absent.  Used by: shard, data-prep.
 */
#include "base/status.h"
#include <stdio.h>

/** Flush and fsync @p file.  @retval TC_IO names @p path. */
tc_status tc_durable_sync(FILE *file, const char *path);

/** Rename @p tmp to @p path and fsync the folder, so that a power cut cannot undo it. */
tc_status tc_durable_rename(const char *tmp, const char *path);

#endif
