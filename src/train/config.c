/* The options and choices of a run as JSON: for the log, and for a checkpoint to hold against. */
#include <config.h>

#include "train/run.h"

#include "allreduce/spec.h"
#include "base/mem.h"
#include "dev/dev.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *const augment_name[] = { "none", "pad", "torchvision" };

/* 64-bit values as text: JSON readers may keep integers as doubles. */
static json_t *hex(uint64_t x)
{
    char text[24];

    snprintf(text, sizeof text, "%016" PRIx64, x);
    return json_string(text);
}

static tc_status to_text(json_t *json, char **text_p)
{
    char *dump = json ? json_dumps(json, JSON_COMPACT) : NULL;
    tc_status status = TC_OK;

    if (dump == NULL)
        status = tc_fail(TC_NOMEM, "the options could not be written as JSON");
    if (status == TC_OK)
        status = tc_alloc((int64_t)strlen(dump) + 1, 1, "options", text_p);
    if (status == TC_OK)
        strcpy(*text_p, dump);
    free(dump);
    json_decref(json);
    return status;
}

static json_t *recipe_json(const tc_recipe *r)
{
    json_t *milestones = json_array();

    for (int i = 0; i < r->n_milestones; i++)
        json_array_append_new(milestones, json_real(r->milestone[i]));
    return json_pack("{s:s, s:f, s:f, s:f, s:o, s:f, s:f, s:f, s:b, s:f}", "schedule",
                     r->schedule == TC_SCHEDULE_COSINE ? "cosine" : "step", "lr", r->lr,
                     "warmup_start", r->warmup_start, "warmup", r->warmup, "milestones", milestones,
                     "gamma", r->gamma, "momentum", r->momentum, "weight_decay", r->weight_decay,
                     "nesterov", r->nesterov, "epochs", r->epochs);
}

/* What decides the numbers of a run.  Store, overlap and loader threads do not: they may change
 * between a checkpoint and its continuation. */
static json_t *options_object(const tc_run *run)
{
    const tc_train_options *o = run->opt;

    return json_pack(
        "{s:s, s:b, s:s, s:I, s:I, s:o, s:o, s:s, s:s, s:i, s:i, s:i, s:I, s:I, s:I, s:s, s:s, "
        "s:s, s:I, s:o, s:i}",
        "model", o->model, "stride_in_1x1", o->stride_in_1x1, "aux", o->aux, "classes",
        (json_int_t)run->graph->classes, "size", (json_int_t)run->graph->node[0].h, "data",
        hex(run->train_set ? run->train_set->identity : 0), "seed", hex(o->seed), "backend",
        run->backend->name, "precision", tc_precision_name(run->precision), "ranks", run->ranks,
        "devices", o->devices, "threads", run->threads, "batch", (json_int_t)o->batch, "accumulate",
        (json_int_t)o->accumulate, "bn_batch", (json_int_t)run->part, "augment",
        augment_name[run->augment], "table", o->table, "allreduce",
        run->allreduce ? tc_allreduce_choices(run->allreduce) : "none", "bucket_bytes",
        (json_int_t)o->bucket_bytes, "recipe", recipe_json(&run->recipe), "buckets",
        run->n_buckets);
}

/* Each bucket's, so that `auto' can go on with what it chose. */
static json_t *allreduce_json(const tc_run *run)
{
    json_t *list = json_array();

    for (int b = 0; b < run->n_buckets; b++) {
        const tc_allreduce_spec spec = { .options = tc_allreduce_of_bucket(run->allreduce, b) };
        char text[160];
        tc_allreduce_spec_print(&spec, text, sizeof text);
        json_array_append_new(list, json_string(text));
    }
    return list;
}

tc_status tc_run_options_json(const tc_run *run, char **text_p)
{
    json_t *options = options_object(run);

    if (options != NULL && run->allreduce != NULL)
        json_object_set_new(options, TC_ALLREDUCE_BUCKETS, allreduce_json(run));
    return to_text(options, text_p);
}

tc_status tc_run_options_compare(const char *theirs, const char *ours)
{
    json_t *a = json_loads(theirs, 0, NULL), *b = json_loads(ours, 0, NULL), *value;
    const char *key;
    tc_status status = TC_OK;

    if (!json_is_object(a))
        status = tc_fail(TC_FORMAT, "the checkpoint's options are not JSON");
    json_object_foreach(b, key, value)
    {
        json_t *other = json_object_get(a, key);
        if (status != TC_OK || (other != NULL && json_equal(value, other)) ||
            strcmp(key, TC_ALLREDUCE_BUCKETS) == 0)
            continue;
        if (strcmp(key, "allreduce") == 0 && json_is_string(other) &&
            tc_run_same_sums(json_string_value(value), json_string_value(other)))
            continue;
        char *was = other ? json_dumps(other, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        char *is = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        status =
            tc_fail(TC_INVAL,
                    "the checkpoint was made with another `%s`: %s, now %s; --force goes on, but "
                    "the result will not equal an undisturbed run's",
                    key, was ? was : "none", is ? is : "?");
        free(was);
        free(is);
    }
    json_decref(a);
    json_decref(b);
    return status;
}

/* Everything else that helps to understand or repeat a run. */
tc_status tc_run_config_json(const tc_run *run, char **text_p)
{
    const tc_train_options *o = run->opt;
    json_t *config = options_object(run);
    json_t *more = json_pack(
        "{s:s, s:s, s:i, s:s, s:s, s:s, s:i, s:i, s:i, s:b, s:I, s:I, s:f, s:s, s:s?, s:s?, s:s?, "
        "s:s?}",
        "version", PACKAGE_VERSION, "store", o->store, "store_groups", o->store_groups, "overlap",
        o->overlap, "host", tc_comm_host(run->comm), "encoding", run->val_set->encoding, "hosts",
        tc_comm_host_count(run->comm), "cores", run->cores, "loader_threads", run->loader_threads,
        "overlaps", tc_table_overlaps(run->table), "steps", (json_int_t)run->total_steps,
        "start_step", (json_int_t)run->state.step, "checkpoint_every", o->checkpoint_every,
        "table_choices", tc_table_choices(run->table), "train_store",
        run->train_store ? tc_store_choices(run->train_store) : NULL, "train_loader",
        run->train_loader ? tc_loader_choices(run->train_loader) : NULL, "val_store",
        run->val_store ? tc_store_choices(run->val_store) : NULL, "allreduce_name", o->allreduce);

    if (config != NULL && more != NULL)
        json_object_update(config, more);
    json_decref(more);
    return to_text(config, text_p);
}
