/* From options to a run that can take its first step, in the order in which things are needed. */
#include <config.h>

#include "train/run.h"

#include "base/log.h"
#include "base/mem.h"
#include "dev/dev.h"
#include "nn/model.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define BUCKET_MIN ((int64_t)64 << 10) /* bytes: below it a message is all latency */
#define BUCKET_MAX ((int64_t)4 << 20)  /* bytes: above it overlap starts too late */
#define BUCKETS    8                   /* of a gradient between the two */
#define DEPTH      3                   /* steps that the loaders prepare ahead */
#define SMALL      64                  /* pixels: below it a picture is padded, not resized */
#define LOAD_PHASE 3600.0              /* s that loading may take without a word */

tc_status tc_run_agree(tc_run *run, tc_status mine)
{
    return tc_comm_agree(run->comm, mine);
}

/* Every rank must see the same set: a stale copy on one host would train on other pictures. */
static tc_status compare_set(tc_run *run, const tc_dataset *set)
{
    uint64_t mine[3] = { set->records, set->class_hash, set->identity }, first[3];

    memcpy(first, mine, sizeof first);
    tc_status status = tc_comm_bcast(run->comm, first, sizeof first, 0);
    if (status == TC_OK && memcmp(first, mine, sizeof mine) != 0)
        status = tc_fail(TC_FORMAT,
                         "%s: not the data set that rank 0 sees (%" PRIu64 " records here, %" PRIu64
                         " there): copy one to all hosts",
                         set->path, mine[0], first[0]);
    return tc_run_agree(run, status);
}

static tc_status read_datasets(tc_run *run)
{
    const tc_train_options *o = run->opt;
    tc_status status = TC_OK;

    if (!o->evaluate_only)
        status = tc_dataset_read(o->data, "train", &run->train_set);
    if (status == TC_OK)
        status = tc_dataset_read(o->data, "val", &run->val_set);
    if (status == TC_OK && run->train_set != NULL &&
        run->train_set->class_hash != run->val_set->class_hash)
        status = tc_fail(TC_FORMAT,
                         "%s and %s have different classes: pack both from the same class folders",
                         run->train_set->path, run->val_set->path);
    status = tc_run_agree(run, status);
    if (status == TC_OK && run->train_set != NULL)
        status = compare_set(run, run->train_set);
    if (status == TC_OK)
        status = compare_set(run, run->val_set);
    if (status == TC_OK && run->train_set != NULL)
        tc_log(TC_LOG_INFO, "train", "%s: %" PRIu64 " pictures, %" PRId64 " classes, %s",
               run->train_set->path, run->train_set->records, run->train_set->n_classes,
               run->train_set->encoding);
    return status;
}

static tc_status build_model(tc_run *run)
{
    tc_model_options model = tc_train_model(run->opt, run->val_set->n_classes);
    tc_status status = tc_model_build(&model, &run->graph);

    if (status != TC_OK)
        return status;
    tc_log(TC_LOG_INFO, "train", "%s: %" PRId64 " parameters, %.3f GMAC a picture of %" PRId64,
           run->graph->name, run->graph->param_count, 1e-9 * (double)tc_graph_macs(run->graph),
           run->graph->node[0].h);
    return TC_OK;
}

/* Networks of small pictures have a recipe of their own. */
static tc_recipe_kind find_recipe(const tc_run *run)
{
    const char *word = run->opt->recipe_name;

    if (strcmp(word, "auto") == 0)
        return tc_model_size(run->opt->model) < SMALL ? TC_RECIPE_CIFAR : TC_RECIPE_GOYAL;
    return strcmp(word, "cifar") == 0 ? TC_RECIPE_CIFAR : TC_RECIPE_GOYAL;
}

/* Steps and rates, once the size of the data is known. */
static tc_status resolve_recipe(tc_run *run)
{
    const tc_train_options *o = run->opt;
    int64_t devices = (int64_t)run->ranks * o->devices;

    run->slice = o->batch * o->accumulate;
    run->part = o->bn_batch > 0 ? o->bn_batch : o->batch;
    run->global_batch = devices * run->slice;
    if (run->train_set == NULL)
        return TC_OK;
    int64_t records = (int64_t)run->train_set->records;
    if (records < run->global_batch && records < devices)
        return tc_fail(TC_INVAL,
                       "%s: %" PRId64 " pictures are fewer than the %" PRId64 " devices: use fewer",
                       run->train_set->path, records, devices);
    if (records < run->global_batch)
        return tc_fail(TC_INVAL,
                       "%s: %" PRId64 " pictures are fewer than the global batch of %" PRId64
                       " (%d ranks x %d devices x %" PRId64
                       "): --batch times --accumulate may be at most %" PRId64,
                       run->train_set->path, records, run->global_batch, run->ranks, o->devices,
                       run->slice, records / devices);
    run->recipe = o->recipe;
    run->recipe.kind = find_recipe(run);
    run->recipe.steps_per_epoch = records / run->global_batch;
    run->recipe.global_batch = run->global_batch;
    tc_status status = tc_recipe_resolve(&run->recipe);
    if (status != TC_OK)
        return status;
    run->total_steps = tc_recipe_steps(&run->recipe);
    run->end_step =
        o->max_steps > 0 && o->max_steps < run->total_steps ? o->max_steps : run->total_steps;
    return TC_OK;
}

static tc_augment find_augment(const tc_run *run)
{
    const char *word = run->opt->augment;

    if (strcmp(word, "none") == 0)
        return TC_AUGMENT_NONE;
    if (strcmp(word, "pad") == 0)
        return TC_AUGMENT_PAD;
    if (strcmp(word, "torchvision") == 0)
        return TC_AUGMENT_RANDOM_RESIZED;
    return run->graph->node[0].h < SMALL ? TC_AUGMENT_PAD : TC_AUGMENT_RANDOM_RESIZED;
}

/* Buckets are the same whether they overlap or not: so the sums are, bit by bit.  The baseline of
 * the paper is one MPI_Allreduce of the flat gradient. */
static tc_status plan_buckets(tc_run *run)
{
    int64_t bytes = run->opt->bucket_bytes;

    if (bytes == 0) {
        bytes = run->graph->param_count * (int64_t)sizeof(float) / BUCKETS;
        bytes = bytes < BUCKET_MIN ? BUCKET_MIN : bytes > BUCKET_MAX ? BUCKET_MAX : bytes;
    }
    if (tc_allreduce_blocks(run->sums.algorithm) || run->opt->evaluate_only)
        bytes = 0;
    return tc_graph_buckets(run->graph, bytes, &run->bound, &run->n_buckets);
}

/* What is decided before any large memory is taken. */
static tc_status plan(tc_run *run)
{
    const tc_train_options *o = run->opt;
    tc_status status = build_model(run);

    if (status == TC_OK)
        status = resolve_recipe(run);
    if (status == TC_OK)
        status = tc_backend_find(o->backend, &run->backend);
    if (status == TC_OK)
        status = tc_run_read_allreduce(run);
    if (status == TC_OK)
        status = plan_buckets(run);
    if (status == TC_OK)
        status = tc_checkpoint_create(run->graph, &run->state);
    if (status == TC_OK)
        status = tc_alloc(run->graph->stat_count, sizeof *run->stat_sum, "sums of BN statistics",
                          &run->stat_sum);
    if (status != TC_OK)
        return status;
    run->precision = o->precision ? (tc_precision)tc_precision_find(o->precision) : TC_F32;
    run->augment = find_augment(run);
    return tc_dumps_open(run);
}

static tc_status open_store(tc_run *run, const char *split, bool shuffle, uint64_t epoch,
                            tc_store **store_p)
{
    const tc_train_options *o = run->opt;
    char files[4096];
    const tc_store_options options = { .kind = o->store,
                                       .dir = o->data,
                                       .split = split,
                                       .files = o->files_dir ? files : NULL,
                                       .groups = o->store_groups,
                                       .devices = o->devices,
                                       .batch = run->slice,
                                       .shuffle = shuffle,
                                       .epochs = shuffle ? (uint64_t)ceil(run->recipe.epochs) : 0,
                                       .seed = o->seed };

    if (o->files_dir != NULL)
        snprintf(files, sizeof files, "%s/%s", o->files_dir, split);
    tc_status status = tc_store_open(run->comm, &options, epoch, store_p);
    if (status == TC_OK)
        tc_log(TC_LOG_INFO, "store", "%s: %s", split, tc_store_choices(*store_p));
    return status;
}

static tc_status open_stores(tc_run *run)
{
    tc_status status = TC_OK;

    tc_comm_phase(run->comm, "load", LOAD_PHASE);
    if (run->train_set != NULL)
        status = open_store(run, "train", true,
                            (uint64_t)(run->state.step / run->recipe.steps_per_epoch),
                            &run->train_store);
    if (status == TC_OK && run->opt->eval_every >= 0)
        status = open_store(run, "val", false, 0, &run->val_store);
    tc_comm_phase(run->comm, "set-up", 0.0);
    return status;
}

static tc_status create_loader(tc_run *run, tc_store *store, tc_augment augment,
                               tc_loader **loader_p)
{
    tc_loader_options options = { .store = store,
                                  .rank = run->rank,
                                  .ranks = run->ranks,
                                  .devices = run->opt->devices,
                                  .batch = run->slice,
                                  .size = run->graph->node[0].h,
                                  .augment = augment,
                                  .seed = run->opt->seed,
                                  .threads = run->loader_threads,
                                  .depth = DEPTH };

    if (store == NULL)
        return TC_OK;
    if (store == run->train_store && run->dumps.order != NULL) {
        options.observe = tc_dumps_slice;
        options.observe_arg = run;
    }
    memcpy(options.mean, run->graph->mean, sizeof options.mean);
    return tc_loader_create(&options, loader_p);
}

static tc_status create_table(tc_run *run)
{
    const tc_train_options *o = run->opt;
    const tc_table_options options = { .kind = o->table,
                                       .backend = run->backend,
                                       .graph = run->graph,
                                       .devices = o->devices,
                                       .threads = run->threads,
                                       .first_ordinal = tc_comm_local_rank(run->comm) * o->devices,
                                       .cores = run->bind,
                                       .batch = run->slice,
                                       .part = run->part,
                                       .global_batch = run->global_batch,
                                       .precision = run->precision,
                                       .n_buckets = run->n_buckets,
                                       .bound = run->bound,
                                       .allreduce = run->allreduce,
                                       .overlap = strcmp(o->overlap, "off") != 0,
                                       .training = !o->evaluate_only,
                                       .deterministic = true };

    return tc_table_create(&options, &run->table);
}

/* Say what the main parts take before they take it; store and loader add the records. */
static void announce_memory(tc_run *run)
{
    const tc_train_options *o = run->opt;
    double mb = 1e-6, side = (double)run->graph->node[0].h;
    double vectors = 4.0 * (double)run->graph->param_count * (o->devices * 3 + 2);
    double ring = (double)DEPTH * o->devices * (double)run->slice * side * side * 3.0;

    tc_log(TC_LOG_INFO, "train",
           "a rank's memory: %.1f MB of weights, gradients and momentum, %.1f MB of pictures ready "
           "for its devices, the devices' activations, and the records",
           mb * vectors, mb * ring * (run->train_set ? 2.0 : 1.0));
}

/* Say whether communication hides behind backward, and why not. */
static void announce_overlap(tc_run *run)
{
    const tc_train_options *o = run->opt;
    bool wanted = strcmp(o->overlap, "off") != 0, acts = tc_table_overlaps(run->table);
    const char *why =
        run->ranks == 1                          ? "there is one rank"
        : !wanted                                ? "--overlap off"
        : strcmp(o->table, "optimized") != 0     ? "the baseline table meets after backward"
        : !tc_allreduce_overlaps(run->allreduce) ? "this allreduce blocks until it is done"
                                                 : "the table does not overlap";

    if (acts)
        tc_log(TC_LOG_INFO, "train", "overlap: on, %d buckets", run->n_buckets);
    else
        tc_log(TC_LOG_INFO, "train", "overlap: %s: %s", wanted ? "cannot act" : "off", why);
}

/* Hand weights, momentum and statistics to every device. */
static tc_status fill_table(tc_run *run)
{
    tc_status status = tc_table_write(run->table, TC_VEC_WEIGHTS, run->state.weights);

    if (status == TC_OK && !run->opt->evaluate_only)
        status = tc_table_write(run->table, TC_VEC_MOMENTUM, run->state.momentum);
    if (status == TC_OK)
        status = tc_table_write(run->table, TC_VEC_STATS, run->state.stats);
    return status;
}

tc_status tc_run_set_up(tc_run *run)
{
    tc_status status = tc_mllog_open(run->rank == 0 ? run->opt->log : NULL, &run->log);

    status = tc_run_agree(run, status);
    if (status == TC_OK)
        status = read_datasets(run);
    if (status == TC_OK)
        status = tc_run_agree(run, plan(run));
    if (status == TC_OK)
        status = tc_run_plan_cores(run);
    if (status == TC_OK)
        status = tc_run_create_allreduce(run);
    if (status == TC_OK)
        status = tc_run_start_state(run);
    if (status != TC_OK)
        return status;
    announce_memory(run);
    status = open_stores(run);
    if (status != TC_OK)
        return status;
    status = create_loader(run, run->train_store, run->augment, &run->train_loader);
    if (status == TC_OK)
        status = create_loader(run, run->val_store, TC_AUGMENT_NONE, &run->val_loader);
    if (status == TC_OK)
        status = create_table(run);
    if (status == TC_OK)
        status = fill_table(run);
    status = tc_run_agree(run, status);
    if (status != TC_OK)
        return status;
    tc_log(TC_LOG_INFO, "train", "%s", tc_table_choices(run->table));
    if (run->allreduce != NULL)
        tc_log(TC_LOG_INFO, "train", "allreduce: %s", tc_allreduce_choices(run->allreduce));
    if (!run->opt->evaluate_only)
        announce_overlap(run);
    return TC_OK;
}

/* In the reverse order; every part accepts that it was never made. */
void tc_run_tear_down(tc_run *run)
{
    tc_table_destroy(run->table);
    tc_loader_destroy(run->val_loader);
    tc_loader_destroy(run->train_loader);
    tc_store_close(run->val_store);
    tc_store_close(run->train_store);
    tc_allreduce_destroy(run->allreduce);
    tc_free(run->bind);
    tc_free(run->stat_sum);
    tc_checkpoint_free(&run->state);
    tc_free(run->bound);
    tc_graph_free(run->graph);
    tc_dataset_free(run->val_set);
    tc_dataset_free(run->train_set);
}
