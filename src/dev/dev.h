#ifndef TC_DEV_DEV_H
#define TC_DEV_DEV_H
/**
 * @file dev.h
 * Find a backend by name; the only place that names them.  Used by: table, app, tests.
 */
#include "dev/backend.h"

/**
 * @param name  "ref", "onednn", "cuda"; NULL: the fastest that probes at least one device here.
 * @retval TC_INVAL      unknown name; the message lists the known.
 * @retval TC_NOSUPPORT  not built in, or no device: with the reason.
 */
tc_status tc_backend_find(const char *name, const tc_backend **backend_p);

/** The i-th backend of this build, or NULL past the last. */
const tc_backend *tc_backend_at(int i);

/** "f32", "f64", "bf16", "f16" and back; -1 for an unknown word. */
const char *tc_precision_name(tc_precision precision);
int tc_precision_find(const char *word);

#endif
