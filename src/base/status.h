#ifndef TC_BASE_STATUS_H
#define TC_BASE_STATUS_H
/**
 * @file status.h
 * Status codes, and the text that explains the last failure of this thread.
 *
 * Flow:  the function that first knows the cause calls tc_fail(); every caller returns the status
 *        unchanged; main() hands it to tc_exit() (comm/comm.h), which prints the text.
 * Used by: everything.
 */

/** X-macro table: name, value, text.  The values are what tc_comm_agree() sends. */
#define TC_STATUS_TABLE(X)                                        \
    X(OK,        0, "success")                                    \
    X(INVAL,    -1, "invalid argument")                           \
    X(NOMEM,    -2, "out of memory")                              \
    X(IO,       -3, "input/output error")                         \
    X(FORMAT,   -4, "malformed data")                             \
    X(NOSUPPORT,-5, "not supported by this build or device")      \
    X(PEER,     -6, "another rank failed")                        \
    X(STOPPED,  -7, "stopped by a signal")                        \
    X(NUMERIC,  -8, "not a finite number")                        \
    X(DEVICE,  -20, "device error")                               \
    X(MPI,     -21, "MPI error")                                  \
    X(TIMEOUT, -22, "timed out")

typedef enum {
#define X(name, value, text) TC_##name = value,
    TC_STATUS_TABLE(X)
#undef X
} tc_status;

/** Fatal statuses are not voted on: they unwind to main(), which aborts the job. */
#define TC_STATUS_IS_FATAL(s) ((s) <= TC_DEVICE)

#define TC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/** Return the fixed text of a status. */
const char *tc_strstatus(tc_status status);

/**
 * Set this thread's error text (at most 1023 bytes, the rest is cut) and return @p status, so that
 * callers can `return tc_fail(TC_IO, "%s: %s", path, strerror(errno))`.
 *
 * The text names the file, the record and the remedy.  Thread-safe: yes (thread-local).
 */
tc_status tc_fail(tc_status status, const char *fmt, ...) TC_PRINTF(2, 3);

/** Return this thread's error text; "" before the first tc_fail().  Never NULL. */
const char *tc_error_detail(void);

#endif
