#ifndef TC_PACK_SUMS_H
#define TC_PACK_SUMS_H
/**
 * @file sums.h
 * --md5: the sums that ImageNet's files are published with, and what they are held against.
 * Used by: create.
 */
#include "data-prep/commands.h"

/** Before anything is read: refuse a folder, which has no sum; check the devkit's, if one is given.
 *  Does nothing without --md5. */
tc_status tc_sums_begin(const tc_create_options *options);

/** @param found  MD5 of the whole of @p source.  @retval TC_FORMAT  another is wanted. */
tc_status tc_sums_check(const tc_create_options *options, const char *source, const char *found);

#endif
