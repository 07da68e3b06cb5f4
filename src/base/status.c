#include <config.h>

#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char detail[1024];

const char *tc_strstatus(tc_status status)
{
    switch (status) {
#define X(name, value, text) \
    case TC_##name:          \
        return text;
        TC_STATUS_TABLE(X)
#undef X
    }
    return "unknown status";
}

tc_status tc_fail(tc_status status, const char *fmt, ...)
{
    char text[sizeof detail]; /* the arguments may be the detail itself */
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    snprintf(detail, sizeof detail, "%s", text);
    return status;
}

const char *tc_error_detail(void)
{
    return detail;
}
