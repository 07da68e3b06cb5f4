#ifndef TC_TESTS_TAP_H
#define TC_TESTS_TAP_H
/* The Test Anything Protocol: one line a check, the plan last, so that a lost process shows. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int tap_n;

/* Report one result; returns the condition.  Under MPI only rank 0 calls it. */
__attribute__((format(printf, 2, 3))) static inline bool tap_ok(bool cond, const char *fmt, ...)
{
    va_list ap;

    printf("%sok %d - ", cond ? "" : "not ", ++tap_n);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    fflush(stdout);
    return cond;
}

/* One check that cannot run here, with the reason. */
static inline void tap_skip(const char *name, const char *why)
{
    printf("ok %d - %s # SKIP %s\n", ++tap_n, name, why);
    fflush(stdout);
}

/* Print the plan.  Returns main()'s status: the verdict is in the stream. */
static inline int tap_done(void)
{
    printf("1..%d\n", tap_n);
    fflush(stdout);
    return 0;
}
#endif
