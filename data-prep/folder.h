#ifndef TC_PACK_FOLDER_H
#define TC_PACK_FOLDER_H
/**
 * @file folder.h
 * The folder of a split while it is written.  Used by: create, extract.
 */
#include "base/status.h"
#include <stdbool.h>

/** Make a folder and those above it.  @retval TC_IO */
tc_status tc_make_folders(const char *path);

/** Lock the folder of a split against a second packer.  *lock_p is closed by the caller.
 *  @retval TC_IO  locked; unreadable. */
tc_status tc_folder_claim(const char *path, int *lock_p);

/** Remove what an interrupted packer left under temporary names; with @p keep, its journal and its
 *  shards stay.  @retval TC_IO */
tc_status tc_folder_sweep(const char *path, bool keep);

/** Remove the mark of a finished set, then its shards and create.tsv. */
tc_status tc_folder_clear(const char *path);

#endif
