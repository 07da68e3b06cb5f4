#ifndef TC_BASE_CLOCK_H
#define TC_BASE_CLOCK_H
/**
 * @file clock.h
 * Time.  Used by: everything that measures.
 */
#include <stdint.h>

/** Seconds on a monotonic clock of unspecified origin. */
double tc_now(void);

/** Milliseconds since the Unix epoch, for log lines. */
int64_t tc_unix_ms(void);

/** Sleep about @p us microseconds (a back-off, never a wait for a condition). */
void tc_sleep_us(int64_t us);

#endif
