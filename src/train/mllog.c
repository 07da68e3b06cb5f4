#include <config.h>

#include "train/mllog.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct tc_mllog {
    FILE *file; /* NULL: writes nothing */
    char *path;
    int error; /* errno of the first failed write */
};

tc_status tc_mllog_open(const char *path, tc_mllog **log_p)
{
    tc_mllog *log = NULL;
    tc_status status = tc_alloc(1, sizeof *log, "log", &log);

    if (status != TC_OK)
        return status;
    if (path != NULL) {
        status = tc_alloc((int64_t)strlen(path) + 1, 1, "log", &log->path);
        if (status == TC_OK) {
            strcpy(log->path, path);
            log->file = fopen(path, "ae");
            if (log->file == NULL)
                status = tc_fail(TC_IO, "%s: cannot open the log: %s", path, strerror(errno));
        }
    }
    if (status != TC_OK) {
        tc_free(log->path);
        tc_free(log);
        return status;
    }
    *log_p = log;
    return TC_OK;
}

tc_status tc_mllog_close(tc_mllog *log)
{
    tc_status status = TC_OK;

    if (log == NULL)
        return TC_OK;
    if (log->file != NULL && fclose(log->file) != 0 && log->error == 0)
        log->error = errno;
    if (log->error != 0)
        status = tc_fail(TC_IO, "%s: the log is not complete: %s", log->path, strerror(log->error));
    tc_free(log->path);
    tc_free(log);
    return status;
}

void tc_mllog_event(tc_mllog *log, const char *key, const char *value, const char *metadata)
{
    if (log == NULL || log->file == NULL)
        return;
    errno = EIO;
    int rc =
        fprintf(log->file,
                ":::MLLOG {\"namespace\":\"\",\"time_ms\":%lld,\"event_type\":\"POINT_IN_TIME\","
                "\"key\":\"%s\",\"value\":%s,\"metadata\":%s}\n",
                (long long)tc_unix_ms(), key, value ? value : "null", metadata ? metadata : "{}");
    if ((rc < 0 || fflush(log->file) != 0) && log->error == 0)
        log->error = errno;
}

void tc_mllog_number(tc_mllog *log, const char *key, double value, const char *metadata)
{
    char text[40];

    /* JSON has no word for what is not finite. */
    snprintf(text, sizeof text, isfinite(value) ? "%.17g" : "null", value);
    tc_mllog_event(log, key, text, metadata);
}
