/* Reading a training log: `:::MLLOG {…}` lines among any other text. */
#include <config.h>

#include "report/run.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define MARK ":::MLLOG"

/* Where reading stands in one file. */
typedef struct {
    tc_runs *runs;
    const char *path;
    int64_t line, first; /* first: index of this file's first run */
    tc_run header;       /* what stood before run_start; its path and epochs stay empty */
    tc_run *now;         /* the run at hand, or NULL before the first run_start */
    bool fresh;          /* run_start was seen, but no epoch yet */
    bool ahead;          /* the header of the next run has begun */
} reader;

static void clear_epoch(tc_epoch *e, int64_t num)
{
    *e = (tc_epoch){ .num = num, .start_ms = NAN, .stop_ms = NAN };
    e->train_loss = e->train_accuracy = e->eval_accuracy = e->top5 = e->throughput = NAN;
    e->dropped = e->replaced = NAN;
    for (int i = 0; i < TC_PARTS; i++)
        e->part[i] = NAN;
}

static void clear_run(tc_run *run)
{
    *run = (tc_run){ .final_accuracy = NAN };
    run->seed = run->global_batch = run->train_samples = run->eval_samples = NAN;
    run->size = run->start_step = NAN;
    run->base_rate = run->ranks = run->devices = run->batch = run->planned_epochs = NAN;
}

static tc_status no_memory(const reader *r)
{
    return tc_fail(TC_NOMEM, "%s: no memory for its runs", r->path);
}

/* Append an empty run that takes over the header. */
static tc_status add_run(reader *r)
{
    tc_runs *runs = r->runs;
    tc_run *run;

    if (runs->n == runs->capacity) {
        int64_t capacity = 2 * runs->capacity + 8;
        void *more = realloc(runs->run, (size_t)capacity * sizeof(tc_run *));
        if (!more)
            return no_memory(r);
        runs->run = more;
        runs->capacity = capacity;
    }
    run = malloc(sizeof *run);
    char *path = strdup(r->path);
    if (!run || !path) {
        free(run);
        free(path);
        return no_memory(r);
    }
    *run = r->header;
    run->path = path;
    run->line = r->line;
    runs->run[runs->n++] = r->now = run;
    clear_run(&r->header);
    return TC_OK;
}

/* Find the epoch, or put it in its place. */
static tc_epoch *get_epoch(tc_run *run, int64_t num)
{
    int64_t at = run->n_epochs;

    while (at > 0 && run->epoch[at - 1].num >= num)
        at--;
    if (at < run->n_epochs && run->epoch[at].num == num)
        return &run->epoch[at];
    if (run->n_epochs == run->epoch_capacity) {
        int64_t capacity = 2 * run->epoch_capacity + 16;
        void *more = realloc(run->epoch, (size_t)capacity * sizeof *run->epoch);
        if (!more)
            return NULL;
        run->epoch = more;
        run->epoch_capacity = capacity;
    }
    memmove(&run->epoch[at + 1], &run->epoch[at], (size_t)(run->n_epochs - at) * sizeof(tc_epoch));
    run->n_epochs++;
    clear_epoch(&run->epoch[at], num);
    return &run->epoch[at];
}

static void copy_text(char *to, size_t size, const json_t *value)
{
    if (json_is_string(value))
        snprintf(to, size, "%s", json_string_value(value));
    else if (json_is_boolean(value))
        snprintf(to, size, "%s", json_is_true(value) ? "on" : "off");
}

static void copy_number(double *to, const json_t *value)
{
    if (json_is_number(value))
        *to = json_number_value(value);
}

/* "3 hosts", or the names where the log lists them. */
static void copy_hosts(tc_run *run, const json_t *c)
{
    const json_t *hosts = json_object_get(c, "hosts"), *item;
    const char *host = json_string_value(json_object_get(c, "host"));
    size_t i, size = sizeof run->hosts, used = 0;

    copy_text(run->hosts, size, hosts);
    json_array_foreach(hosts, i, item)
    {
        if (json_is_string(item) && used < size)
            used += (size_t)snprintf(run->hosts + used, size - used, "%s%s", i ? ", " : "",
                                     json_string_value(item));
    }
    if (json_is_integer(hosts))
        snprintf(run->hosts, size, "%lld%s%s", (long long)json_integer_value(hosts),
                 host ? ", the first " : "", host ? host : "");
}

/* What the parts of the trainer chose, one sentence each. */
static void copy_choices(tc_run *run, const json_t *c)
{
    static const char *const key[] = { "choices", "allreduce", "table_choices", "train_store",
                                       "train_loader" };
    size_t used = 0, size = sizeof run->choices;

    for (size_t i = 0; i < sizeof key / sizeof key[0]; i++) {
        const char *text = json_string_value(json_object_get(c, key[i]));
        if (text && strcmp(text, run->allreduce) != 0 && used < size)
            used +=
                (size_t)snprintf(run->choices + used, size - used, "%s%s", used ? "; " : "", text);
    }
}

static void read_config(tc_run *run, const json_t *c)
{
    const struct {
        const char *key;
        char *to;
        size_t size;
    } text[] = {
        { "model", run->model, sizeof run->model },
        { "store", run->store, sizeof run->store },
        { "allreduce", run->allreduce, sizeof run->allreduce },
        { "table", run->table, sizeof run->table },
        { "overlap", run->overlap, sizeof run->overlap },
        { "backend", run->backend, sizeof run->backend },
        { "precision", run->precision, sizeof run->precision },
        { "version", run->version, sizeof run->version },
    };
    const struct {
        const char *key;
        double *to;
    } number[] = {
        { "ranks", &run->ranks },
        { "devices", &run->devices },
        { "batch", &run->batch },
        { "epochs", &run->planned_epochs },
        { "size", &run->size },
        { "start_step", &run->start_step },
        { "global_batch_size", &run->global_batch },
    };

    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
        copy_text(text[i].to, text[i].size, json_object_get(c, text[i].key));
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        copy_number(number[i].to, json_object_get(c, number[i].key));
    /* "allreduce" may say how as well as what; the option's word then has a key of its own.  The
     * same for overlap: what was asked for, and what came of it. */
    copy_text(run->allreduce, sizeof run->allreduce, json_object_get(c, "allreduce_name"));
    copy_text(run->overlap, sizeof run->overlap, json_object_get(c, "overlaps"));
    copy_number(&run->planned_epochs, json_object_get(json_object_get(c, "recipe"), "epochs"));
    copy_hosts(run, c);
    copy_choices(run, c);
}

/* Events that describe the run; true where the key is one of them. */
static bool read_header(tc_run *run, const char *key, const json_t *value)
{
    const struct {
        const char *key;
        double *to;
    } number[] = {
        { "seed", &run->seed },
        { "global_batch_size", &run->global_batch },
        { "train_samples", &run->train_samples },
        { "eval_samples", &run->eval_samples },
        { "opt_base_learning_rate", &run->base_rate },
    };

    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++) {
        if (strcmp(key, number[i].key) == 0) {
            copy_number(number[i].to, value);
            return true;
        }
    }
    if (strcmp(key, "submission_benchmark") == 0)
        copy_text(run->model, sizeof run->model, value);
    else if (strcmp(key, "tricolor_kind") == 0)
        copy_text(run->kind, sizeof run->kind, value);
    else if (strcmp(key, "tricolor_config") == 0)
        read_config(run, value);
    else
        return false;
    return true;
}

static void read_epoch_event(tc_run *run, tc_epoch *e, const char *key, const json_t *value,
                             const json_t *meta, double ms)
{
    if (strcmp(key, "epoch_start") == 0) {
        e->start_ms = ms;
    } else if (strcmp(key, "epoch_stop") == 0) {
        e->stop_ms = ms;
        copy_number(&e->dropped, json_object_get(meta, "dropped"));
        copy_number(&e->replaced, json_object_get(meta, "replaced"));
    } else if (strcmp(key, "train_loss") == 0) {
        copy_number(&e->train_loss, value);
    } else if (strcmp(key, "train_accuracy") == 0) {
        copy_number(&e->train_accuracy, value);
    } else if (strcmp(key, "throughput") == 0) {
        copy_number(&e->throughput, value);
    } else if (strcmp(key, "eval_accuracy") == 0) {
        copy_number(&e->eval_accuracy, value);
        copy_number(&e->top5, json_object_get(meta, "top5"));
        copy_number(&run->final_accuracy, value);
    } else if (strcmp(key, "tricolor_time") == 0) {
        for (int i = 0; i < TC_PARTS; i++)
            copy_number(&e->part[i], json_object_get(value, tc_part_name[i]));
    }
}

/* A run that was taken up again writes its header and run_start a second time.  Does `again`, which
 * begins after its first step, go on with the run before it in this file? */
static bool continues(const tc_run *before, const tc_run *again)
{
    return strcmp(before->status, "success") != 0 && strcmp(before->model, again->model) == 0;
}

/* Fold the run at hand, still without epochs, into the one before it in this file. */
static void merge_into_previous(reader *r)
{
    tc_run *again = r->now, *before = r->runs->run[r->runs->n - 2];
    tc_run old = *before;

    *before = *again; /* the newer header */
    before->path = old.path;
    before->line = old.line;
    before->epoch = old.epoch;
    before->n_epochs = old.n_epochs;
    before->epoch_capacity = old.epoch_capacity;
    before->final_accuracy = old.final_accuracy;
    before->resumed = old.resumed + 1;
    free(again->path);
    free(again);
    r->runs->n--;
    r->now = before;
}

/* Does an event of the header belong to the next run?  Yes before run_start and after an epoch or
 * the end; and where the model is named a second time, as by a run that was killed at once. */
static bool header_is_ahead(reader *r, const char *key)
{
    if (r->now && *r->now->model && strcmp(key, "submission_benchmark") == 0)
        r->ahead = true;
    return r->ahead || !r->now || r->now->n_epochs > 0 || *r->now->status;
}

static tc_status event(reader *r, const json_t *object)
{
    const char *key = json_string_value(json_object_get(object, "key"));
    const json_t *value = json_object_get(object, "value");
    const json_t *meta = json_object_get(object, "metadata");
    const json_t *num = json_object_get(meta, "epoch_num");
    double ms = NAN;

    if (!key)
        return tc_fail(TC_FORMAT, "%s:%lld: a log line without a key", r->path, (long long)r->line);
    copy_number(&ms, json_object_get(object, "time_ms"));
    if (strcmp(key, "run_start") == 0) {
        tc_status status = add_run(r);
        if (status != TC_OK)
            return status;
        r->fresh = true;
        r->ahead = false;
        if (r->runs->n - r->first >= 2 && r->now->start_step > 0.0 &&
            continues(r->runs->run[r->runs->n - 2], r->now))
            merge_into_previous(r);
        return TC_OK;
    }
    if (strcmp(key, "run_stop") == 0) {
        if (r->now)
            copy_text(r->now->status, sizeof r->now->status, json_object_get(meta, "status"));
        return TC_OK;
    }
    if (header_is_ahead(r, key) ? read_header(&r->header, key, value)
                                : read_header(r->now, key, value))
        return TC_OK;
    if (!r->now)
        return TC_OK; /* an event of no run: nothing to hang it on */
    if (!json_is_integer(num)) {
        if (strcmp(key, "eval_accuracy") == 0)
            copy_number(&r->now->final_accuracy, value);
        return TC_OK;
    }
    int64_t epoch_num = json_integer_value(num);
    if (r->fresh && r->runs->n - r->first >= 2 && epoch_num > 1 &&
        continues(r->runs->run[r->runs->n - 2], r->now))
        merge_into_previous(r);
    r->fresh = false;
    tc_epoch *e = get_epoch(r->now, epoch_num);
    if (!e)
        return no_memory(r);
    read_epoch_event(r->now, e, key, value, meta, ms);
    return TC_OK;
}

/* One line.  A marker at its start must be followed by JSON; elsewhere (behind the tag of a
 * launcher) it counts only if it is. */
static tc_status read_line(reader *r, const char *line, bool whole)
{
    const char *at = strstr(line, MARK);
    json_error_t error;

    if (!at)
        return TC_OK;
    const char *json = at + strlen(MARK);
    json += strspn(json, " \t");
    if (*json != '{' && at != line)
        return TC_OK;
    json_t *object = json_loads(json, 0, &error);
    if (!json_is_object(object)) {
        json_decref(object);
        if (!whole && r->now) { /* the writer was killed in the middle of a line */
            r->now->cut = true;
            return TC_OK;
        }
        return tc_fail(TC_FORMAT, "%s:%lld: malformed log line: %s", r->path, (long long)r->line,
                       object ? "not an object" : error.text);
    }
    tc_status status = event(r, object);
    json_decref(object);
    return status;
}

tc_status tc_runs_read(tc_runs *runs, const char *path)
{
    reader r = { .runs = runs, .path = path, .first = runs->n };
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    ssize_t bytes;
    tc_status status = TC_OK;

    if (!file)
        return tc_fail(TC_IO, "%s: cannot read the log: %s", path, strerror(errno));
    clear_run(&r.header);
    errno = 0;
    while (status == TC_OK && (bytes = getline(&line, &capacity, file)) > 0) {
        r.line++;
        status = read_line(&r, line, line[bytes - 1] == '\n');
    }
    if (status == TC_OK && ferror(file))
        status = tc_fail(TC_IO, "%s: cannot read the log: %s", path, strerror(errno));
    if (status == TC_OK && runs->n == r.first)
        status = tc_fail(TC_FORMAT,
                         "%s: no run in it (no %s line with run_start); is it the file that "
                         "tricolor-train wrote with --log?",
                         path, MARK);
    free(line);
    fclose(file);
    return status;
}
