#ifndef TC_BASE_PARSE_H
#define TC_BASE_PARSE_H
/**
 * @file parse.h
 * Numbers from text that people typed.  Used by: allreduce, app.
 */
#include "base/status.h"
#include <stdint.h>

/**
 * Read a whole number, optionally of K, M or G (2^10, 2^20, 2^30; also KiB …): "64K".
 *
 * @param name  What it is, for the message: "chunk", "--sizes".
 * @retval TC_INVAL  no such number, or outside [low, high]; *value_p is untouched.
 */
tc_status tc_parse_size(const char *name, const char *text, int64_t low, int64_t high,
                        int64_t *value_p);

#endif
