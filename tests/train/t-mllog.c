/* Lines of MLPerf's form: parsed back as JSON, appended, and a write that fails is reported. */
#include <config.h>

#include "train/mllog.h"

#include "../tap.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Parse the next line; NULL where it is not of the form. */
static json_t *next(FILE *file)
{
    char line[4096];

    if (fgets(line, sizeof line, file) == NULL || strncmp(line, ":::MLLOG ", 9) != 0)
        return NULL;
    return json_loads(line + 9, 0, NULL);
}

int main(void)
{
    char path[] = "/tmp/tricolor-mllog.XXXXXX";
    tc_mllog *log = NULL;
    const char *event, *key, *name;
    double value;
    json_int_t ms, epoch;

    close(mkstemp(path));
    bool ok = tc_mllog_open(path, &log) == TC_OK;
    tc_mllog_event(log, "submission_benchmark", "\"resnet20\"", NULL);
    tc_mllog_number(log, "eval_accuracy", 0.1, "{\"epoch_num\":3}");
    tap_ok(ok && tc_mllog_close(log) == TC_OK, "written");
    ok = tc_mllog_open(path, &log) == TC_OK;
    tc_mllog_event(log, "run_stop", NULL, "{\"status\":\"success\"}");
    tc_mllog_number(log, "train_loss", NAN, NULL);
    tap_ok(ok && tc_mllog_close(log) == TC_OK, "written again");

    FILE *file = fopen(path, "r");
    json_t *line = next(file);
    tap_ok(json_unpack(line, "{s:s, s:I, s:s, s:s, s:s, s:{}}", "namespace", &name, "time_ms", &ms,
                       "event_type", &event, "key", &key, "value", &name, "metadata") == 0 &&
               strcmp(event, "POINT_IN_TIME") == 0 && strcmp(key, "submission_benchmark") == 0 &&
               strcmp(name, "resnet20") == 0 && ms > 1500000000000,
           "a string");
    json_decref(line);
    line = next(file);
    tap_ok(json_unpack(line, "{s:s, s:F, s:{s:I}}", "key", &key, "value", &value, "metadata",
                       "epoch_num", &epoch) == 0 &&
               strcmp(key, "eval_accuracy") == 0 && value == 0.1 && epoch == 3,
           "a number comes back exactly, with its metadata");
    json_decref(line);
    line = next(file);
    tap_ok(json_is_null(json_object_get(line, "value")), "null, appended to what was there");
    json_decref(line);
    line = next(file);
    tap_ok(json_is_null(json_object_get(line, "value")), "what is not finite is null");
    json_decref(line);
    fclose(file);
    unlink(path);

    tap_ok(tc_mllog_open(NULL, &log) == TC_OK, "no file: a log that writes nothing");
    tc_mllog_event(log, "run_start", NULL, NULL);
    tap_ok(tc_mllog_close(log) == TC_OK && tc_mllog_close(NULL) == TC_OK, "closed");
    tap_ok(tc_mllog_open("/nowhere/at/all.log", &log) == TC_IO &&
               strstr(tc_error_detail(), "/nowhere/at/all.log") != NULL,
           "a folder that is missing is named");
    if (access("/dev/full", W_OK) == 0) {
        ok = tc_mllog_open("/dev/full", &log) == TC_OK;
        tc_mllog_event(log, "run_start", NULL, NULL);
        tap_ok(ok && tc_mllog_close(log) == TC_IO, "a full disk is reported at the close");
    } else
        tap_skip("a full disk is reported at the close", "no /dev/full");
    return tap_done();
}
