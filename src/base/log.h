#ifndef TC_BASE_LOG_H
#define TC_BASE_LOG_H
/**
 * @file log.h
 * Messages to people, on stderr, one write a line: `tricolor: rank 3 host n5 store: …`.
 *
 * stdout carries results only.  INFO and PROGRESS lines appear on rank 0 alone, WARN and ERROR on
 * every rank.  The rank is the one piece of state kept per process: set once, by the communicator.
 * Used by: everything.
 */
#include "base/status.h"
#include <stdbool.h>

typedef enum { TC_LOG_ERROR, TC_LOG_WARN, TC_LOG_INFO, TC_LOG_DEBUG } tc_log_level;

/** Name this process in its messages.  @param rank  -1: not under MPI, the rank is left out. */
void tc_log_set_rank(int rank);

/** Show messages up to @p level (default TC_LOG_INFO). */
void tc_log_set_level(tc_log_level level);

/**
 * Write one line.  @param module  The room that speaks: "store", "table", …
 * Thread-safe: yes.  Keeps errno.
 */
void tc_log(tc_log_level level, const char *module, const char *fmt, ...) TC_PRINTF(3, 4);

/**
 * Show a live progress line on rank 0: on a terminal it overwrites itself, elsewhere it is printed
 * as an ordinary line at most every 10 s.  Thread-safe: yes.
 *
 * @param done  true for the last state of this activity: always printed, ended with a newline.
 */
void tc_progress(bool done, const char *fmt, ...) TC_PRINTF(2, 3);

#endif
