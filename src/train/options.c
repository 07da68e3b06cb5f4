#include <config.h>

#include "train/run.h"

#include "allreduce/spec.h"
#include "dev/dev.h"
#include "nn/model.h"

#include <stdio.h>
#include <string.h>

tc_train_options tc_train_options_default(void)
{
    return (tc_train_options){
        .model = "resnet50",
        .aux = "none",
        .store = "memory",
        .store_groups = 1,
        .allreduce = "multicolor",
        .arity = -1,
        .table = "optimized",
        .overlap = "auto",
        .devices = 1,
        .batch = 32,
        .accumulate = 1,
        .augment = "auto",
        .recipe_name = "auto",
        .seed = 1,
        .recipe = tc_recipe_default(),
        .checkpoint_every = 1.0,
        .checkpoint_keep = 3,
        .eval_every = 1,
    };
}

/* The i-th word of a list, for check_word(). */
typedef const char *word_at(int i);

static const char *store_word(int i)
{
    static const char *const word[] = { "memory", "shards", "files" };

    return i < 3 ? word[i] : NULL;
}

static const char *table_word(int i)
{
    static const char *const word[] = { "optimized", "baseline" };

    return i < 2 ? word[i] : NULL;
}

static const char *overlap_word(int i)
{
    static const char *const word[] = { "auto", "on", "off" };

    return i < 3 ? word[i] : NULL;
}

static const char *recipe_word(int i)
{
    static const char *const word[] = { "auto", "goyal", "cifar" };

    return i < 3 ? word[i] : NULL;
}

static const char *augment_word(int i)
{
    static const char *const word[] = { "auto", "torchvision", "pad", "none" };

    return i < 4 ? word[i] : NULL;
}

static const char *precision_word(int i)
{
    return i >= TC_F32 && i <= TC_F16 ? tc_precision_name((tc_precision)i) : NULL;
}

static const char *backend_word(int i)
{
    const tc_backend *backend = tc_backend_at(i);

    return backend ? backend->name : NULL;
}

/* Refuse a word that the list does not hold, and print the list. */
static tc_status check_word(const char *option, const char *word, word_at *at)
{
    char known[512] = "";
    size_t n = 0;

    for (int i = 0; at(i) != NULL; i++) {
        if (strcmp(word, at(i)) == 0)
            return TC_OK;
        if (n < sizeof known)
            n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", at(i));
    }
    return tc_fail(TC_INVAL, "--%s=%s: unknown; it may be: %s", option, word, known);
}

static tc_status check_words(const tc_train_options *o)
{
    const struct {
        const char *option, *word;
        word_at *at;
    } list[] = {
        { "model", o->model, tc_model_name },      { "aux", o->aux, tc_aux_name },
        { "backend", o->backend, backend_word },   { "precision", o->precision, precision_word },
        { "store", o->store, store_word },         { "table", o->table, table_word },
        { "overlap", o->overlap, overlap_word },   { "augment", o->augment, augment_word },
        { "recipe", o->recipe_name, recipe_word },
    };
    tc_status status = TC_OK;

    for (size_t i = 0; status == TC_OK && i < sizeof list / sizeof list[0]; i++)
        if (list[i].word != NULL) /* NULL: left to the program */
            status = check_word(list[i].option, list[i].word, list[i].at);
    return status;
}

static tc_status check_numbers(const tc_train_options *o)
{
    const struct {
        const char *option;
        double value, low, high;
    } list[] = {
        { "devices", o->devices, 1, 1024 },
        { "threads", o->threads, 0, 4096 },
        { "loader-threads", o->loader_threads, 0, 4096 },
        { "batch", (double)o->batch, 1, 1 << 20 },
        { "accumulate", (double)o->accumulate, 1, 1 << 20 },
        { "bn-batch", (double)o->bn_batch, 0, 1 << 20 },
        { "size", (double)o->size, 0, 1 << 14 },
        { "store-groups", o->store_groups, 1, 1 << 20 },
        { "colors", o->colors, 0, 1 << 20 },
        { "arity", o->arity, -1, 1 << 20 },
        { "window", o->window, 0, 1 << 20 },
        { "chunk", (double)o->chunk, 0, 0x1p31 - 1 },
        { "bucket-bytes", (double)o->bucket_bytes, 0, 0x1p50 },
        { "checkpoint-keep", o->checkpoint_keep, 1, 1e6 },
        { "checkpoint-every", o->checkpoint_every, 1e-9, 1e9 },
        { "eval-every", o->eval_every, -1, 1 << 30 },
        { "max-steps", (double)o->max_steps, 0, 0x1p50 },
        { "sync-steps", (double)o->sync_steps, 0, 1e6 },
        { "epochs", o->recipe.epochs, 1e-9, 1e9 },
    };

    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (!(list[i].value >= list[i].low && list[i].value <= list[i].high))
            return tc_fail(TC_INVAL, "--%s=%g: out of range [%g, %g]", list[i].option,
                           list[i].value, list[i].low, list[i].high);
    return TC_OK;
}

/* The rest of it is checked when the ranks are known. */
static tc_status check_allreduce(const tc_train_options *o)
{
    tc_allreduce_spec spec;
    tc_status status = tc_allreduce_spec_parse(o->allreduce, &spec);

    if (status != TC_OK)
        return tc_fail(status, "--allreduce=%s: %s", o->allreduce, tc_error_detail());
    if (spec.mpi_algorithm != 0)
        return tc_fail(TC_INVAL,
                       "--allreduce=%s: mpi takes what the MPI library chooses; only "
                       "tricolor-allreduce compares its algorithms",
                       o->allreduce);
    return TC_OK;
}

tc_model_options tc_train_model(const tc_train_options *o, int64_t classes)
{
    tc_model_options model = {
        .name = o->model, .classes = classes, .size = o->size, .stride_in_1x1 = o->stride_in_1x1
    };

    for (int i = 0; tc_aux_name(i) != NULL; i++)
        if (strcmp(o->aux, tc_aux_name(i)) == 0)
            model.aux = (tc_aux)i;
    return model;
}

static tc_status check_parts(const tc_train_options *o)
{
    bool parts = o->accumulate > 1 || (o->bn_batch > 0 && o->bn_batch < o->batch);

    if (o->bn_batch > 0 && o->batch % o->bn_batch != 0)
        return tc_fail(TC_INVAL, "--bn-batch=%lld does not divide --batch=%lld",
                       (long long)o->bn_batch, (long long)o->batch);
    if (parts && strcmp(o->table, "baseline") == 0)
        return tc_fail(TC_INVAL, "--accumulate and --bn-batch need --table=optimized: the baseline "
                                 "trains every batch whole, as Torch did");
    return TC_OK;
}

tc_status tc_train_options_check(const tc_train_options *o)
{
    tc_recipe recipe = o->recipe;
    tc_status status = check_words(o);

    if (status == TC_OK)
        status = check_numbers(o);
    if (status == TC_OK)
        status = check_allreduce(o);
    if (status == TC_OK)
        status = check_parts(o);
    if (status != TC_OK || o->describe)
        return status;
    /* Its criterion sees the main logits alone, as in Torch. */
    if (strcmp(o->aux, "train") == 0 && strcmp(o->table, "baseline") == 0)
        return tc_fail(TC_INVAL,
                       "--aux=train needs --table=optimized: the baseline table's criterion "
                       "carries the main loss alone; --aux=idle goes with both");
    if (o->data == NULL)
        return tc_fail(TC_INVAL, "--data DIR is needed: a data set made by tricolor-pack");
    if (o->resume && o->checkpoint == NULL)
        return tc_fail(TC_INVAL, "--resume needs --checkpoint DIR");
    if (o->resume && o->init != NULL)
        return tc_fail(TC_INVAL, "--resume and --init exclude each other: where would it begin?");
    if (o->evaluate_only && !o->resume && o->init == NULL)
        return tc_fail(TC_INVAL,
                       "--evaluate needs weights: --init FILE, or --checkpoint DIR --resume");
    if (o->eval_every < 0 && (o->predictions != NULL || o->evaluate_only))
        return tc_fail(TC_INVAL, "--eval-every=-1 excludes --evaluate and --predictions");
    /* The recipe's own ranges; what the data decides is checked again with the data. */
    recipe.steps_per_epoch = recipe.global_batch = 1;
    return tc_recipe_resolve(&recipe);
}
