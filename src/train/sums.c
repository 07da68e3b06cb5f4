/* How the gradients are summed: what --allreduce says, what `auto` chooses, what a resumed run had
 * chosen. */
#include <config.h>

#include "train/run.h"

#include "allreduce/spec.h"
#include "base/log.h"
#include "base/mem.h"

#include <jansson.h>
#include <string.h>

enum { SPEC_SIZE = 160 };

tc_status tc_run_read_allreduce(tc_run *run)
{
    const tc_train_options *o = run->opt;
    tc_allreduce_spec spec;
    tc_status status = tc_allreduce_spec_parse(o->allreduce, &spec);

    if (status != TC_OK)
        return status;
    run->sums = spec.options;
    if (run->sums.colors == 0)
        run->sums.colors = o->colors;
    if (run->sums.arity < 0)
        run->sums.arity = o->arity;
    if (run->sums.chunk == 0)
        run->sums.chunk = o->chunk;
    if (run->sums.window == 0)
        run->sums.window = o->window;
    run->sums.cache = o->choices;
    run->sums.topology = o->topology;
    run->sums.overlapped = strcmp(o->overlap, "off") != 0 && strcmp(o->table, "optimized") == 0;
    return TC_OK;
}

/* What decides no sum, only how it travels. */
static bool is_about_travel(const char *word)
{
    return strncmp(word, "chunk=", 6) == 0 || strncmp(word, "window=", 7) == 0 ||
           strncmp(word, "memory=", 7) == 0;
}

/* The next word that decides sums, or "". */
static size_t next_word(const char **text_p)
{
    *text_p += strspn(*text_p, " ");
    while (is_about_travel(*text_p)) {
        *text_p += strcspn(*text_p, " ");
        *text_p += strspn(*text_p, " ");
    }
    return strcspn(*text_p, " ");
}

bool tc_run_same_sums(const char *a, const char *b)
{
    size_t length, other;

    do {
        length = next_word(&a);
        other = next_word(&b);
        if (length != other || strncmp(a, b, length) != 0)
            return false;
        a += length;
        b += length;
    } while (length > 0);
    return true;
}

/* The choice that the newest checkpoint holds for as many buckets and ranks: specs (n_buckets,
 * SPEC_SIZE), or nothing.  Local: rank 0. */
static tc_status read_choice(const tc_run *run, char *specs)
{
    char *text = NULL;
    tc_status status = tc_checkpoint_options(run->opt->checkpoint, &text);

    if (status != TC_OK)
        return status;
    json_t *options = json_loads(text, 0, NULL);
    const json_t *list = json_object_get(options, TC_ALLREDUCE_BUCKETS);
    bool fits = json_integer_value(json_object_get(options, "ranks")) == run->ranks &&
                json_array_size(list) == (size_t)run->n_buckets;
    for (int b = 0; fits && b < run->n_buckets; b++) {
        const char *spec = json_string_value(json_array_get(list, (size_t)b));
        snprintf(specs + (size_t)b * SPEC_SIZE, SPEC_SIZE, "%s", spec != NULL ? spec : "");
    }
    json_decref(options);
    tc_free(text);
    return TC_OK;
}

/* Ask rank 0 for the choice of the run that is resumed; "" where there is none. */
static tc_status share_choice(tc_run *run, char *specs)
{
    const tc_train_options *o = run->opt;
    tc_status status = TC_OK;

    if (run->rank == 0 && o->resume && tc_checkpoint_exists(o->checkpoint))
        status = read_choice(run, specs);
    status = tc_run_agree(run, status);
    if (status == TC_OK)
        status = tc_comm_bcast(run->comm, specs, (size_t)run->n_buckets * SPEC_SIZE, 0);
    return status;
}

static tc_status read_specs(const tc_run *run, const char *specs, tc_allreduce_options *options)
{
    for (int b = 0; b < run->n_buckets; b++) {
        tc_allreduce_spec spec;
        tc_status status = tc_allreduce_spec_parse(specs + (size_t)b * SPEC_SIZE, &spec);
        if (status != TC_OK)
            return tc_fail(status, "%s: bucket %d of the checkpoint: %s", run->opt->checkpoint, b,
                           tc_error_detail());
        options[b] = spec.options;
        options[b].topology = run->sums.topology;
    }
    return TC_OK;
}

/* auto: what the checkpoint says, so that a resumed run adds in the same order; else measure. */
static tc_status create_auto(tc_run *run, const int64_t *count)
{
    tc_allreduce_options *options = NULL;
    char *specs = NULL;
    tc_status status = tc_alloc(run->n_buckets, sizeof *options, "choices", &options);

    if (status == TC_OK)
        status = tc_alloc(run->n_buckets, SPEC_SIZE, "choices", &specs);
    status = tc_run_agree(run, status);
    if (status == TC_OK)
        status = share_choice(run, specs);
    if (status == TC_OK && specs[0] == '\0')
        status = tc_allreduce_create(run->comm, &run->sums, run->n_buckets, count, &run->allreduce);
    else if (status == TC_OK) {
        tc_log(TC_LOG_INFO, "train", "allreduce auto: as the checkpoint's run");
        status = tc_run_agree(run, read_specs(run, specs, options));
        if (status == TC_OK)
            status = tc_allreduce_create_each(run->comm, options, run->n_buckets, count,
                                              &run->allreduce);
    }
    tc_free(specs);
    tc_free(options);
    return status;
}

tc_status tc_run_create_allreduce(tc_run *run)
{
    int64_t *count = NULL;

    if (run->ranks == 1 || run->opt->evaluate_only)
        return TC_OK;
    tc_status status = tc_alloc(run->n_buckets, sizeof *count, "bucket sizes", &count);
    status = tc_run_agree(run, status);
    if (status != TC_OK)
        return status;
    for (int b = 0; b < run->n_buckets; b++)
        count[b] = run->bound[b + 1] - run->bound[b];
    if (strcmp(run->sums.algorithm, "auto") == 0)
        status = create_auto(run, count);
    else
        status = tc_allreduce_create(run->comm, &run->sums, run->n_buckets, count, &run->allreduce);
    tc_free(count);
    return status;
}
