/* Where a run begins, what it keeps, and BN statistics over all devices. */
#include <config.h>

#include "train/run.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define SAVE_PHASE 600.0 /* s that rank 0 may write while the others wait */

/* Hold the newest checkpoint against the options, and take it.  Local: rank 0 alone. */
static tc_status resume(tc_run *run, const char *options)
{
    const tc_train_options *o = run->opt;

    if (!tc_checkpoint_exists(o->checkpoint)) {
        if (o->evaluate_only)
            return tc_fail(TC_IO, "%s: no complete checkpoint to evaluate", o->checkpoint);
        tc_log(TC_LOG_INFO, "train", "%s: no checkpoint yet, starting from the beginning",
               o->checkpoint);
        return TC_OK;
    }
    tc_status status = tc_checkpoint_load(o->checkpoint, run->graph, &run->state);
    if (status != TC_OK)
        return status;
    if (!o->evaluate_only) {
        status = tc_run_options_compare(run->state.options, options);
        if (status == TC_INVAL && o->force) {
            tc_log(TC_LOG_WARN, "train", "%s: %s", o->checkpoint, tc_error_detail());
            status = TC_OK;
        } else if (status != TC_OK) {
            return tc_fail(status, "%s: %s", o->checkpoint, tc_error_detail());
        }
    }
    tc_log(TC_LOG_INFO, "train", "%s: resumed after step %" PRId64, o->checkpoint, run->state.step);
    return status;
}

/* A new run in the folder of an old one would mix their checkpoints. */
static tc_status claim_folder(tc_run *run)
{
    const tc_train_options *o = run->opt;

    if (o->checkpoint == NULL || o->resume || !tc_checkpoint_exists(o->checkpoint))
        return TC_OK;
    if (!o->force)
        return tc_fail(
            TC_INVAL,
            "%s: holds checkpoints of another run: --resume continues it, --force begins "
            "anew and removes them",
            o->checkpoint);
    return tc_checkpoint_clear(o->checkpoint);
}

/* What is written at the end of a long run must not fail only there. */
static tc_status check_outputs(const tc_run *run)
{
    const tc_train_options *o = run->opt;
    tc_status status = TC_OK;

    if (o->checkpoint != NULL && !o->evaluate_only)
        status = tc_checkpoint_prepare(o->checkpoint);
    if (status == TC_OK && o->predictions != NULL) {
        FILE *file = fopen(o->predictions, "ae"); /* what an earlier run has written stays as yet */
        if (file == NULL)
            return tc_fail(TC_IO, "%s: cannot create: %s", o->predictions, strerror(errno));
        fclose(file);
    }
    return status;
}

/* Take --init's weights.  A run that trains may begin from another number of classes. */
static tc_status read_init(tc_run *run)
{
    const char *path = run->opt->init;
    int64_t classes = run->graph->classes;
    tc_status status = tc_model_load(path, run->graph, run->state.weights, run->state.stats,
                                     run->opt->evaluate_only ? NULL : &classes);

    if (status == TC_OK && classes != run->graph->classes)
        tc_log(TC_LOG_INFO, "train",
               "%s: made for %" PRId64 " classes, not %" PRId64
               ": the last layer begins anew",
               path, classes, run->graph->classes);
    return status;
}

/* Rank 0's part of the start. */
static tc_status read_state(tc_run *run, const char *options)
{
    tc_status status = check_outputs(run);

    if (status == TC_OK)
        status = claim_folder(run);
    if (status == TC_OK && run->opt->init != NULL)
        status = read_init(run);
    if (status == TC_OK && run->opt->resume)
        status = resume(run, options);
    /* A run that --force has made longer is not done any more. */
    if (status == TC_OK && run->opt->checkpoint != NULL && !run->opt->evaluate_only &&
        run->state.step < run->total_steps)
        status = tc_checkpoint_unmark_done(run->opt->checkpoint);
    return status;
}

tc_status tc_run_start_state(tc_run *run)
{
    tc_checkpoint *s = &run->state;
    char *options = NULL;

    tc_graph_init_weights(run->graph, run->opt->seed, s->weights);
    tc_graph_init_stats(run->graph, s->stats);
    tc_status status = tc_run_options_json(run, &options);
    if (status == TC_OK && run->rank == 0)
        status = read_state(run, options);
    tc_free(s->options);
    s->options = options; /* of this run, for its checkpoints */
    status = tc_run_agree(run, status);

    /* One reader, whatever the number of ranks; its files need not be on every host. */
    size_t params = (size_t)run->graph->param_count * sizeof(float);
    if (status == TC_OK)
        status = tc_comm_bcast(run->comm, &s->step, sizeof s->step, 0);
    if (status == TC_OK)
        status = tc_comm_bcast(run->comm, &s->best, sizeof s->best, 0);
    if (status == TC_OK)
        status = tc_comm_bcast(run->comm, s->epoch, sizeof s->epoch, 0);
    if (status == TC_OK)
        status = tc_comm_bcast(run->comm, s->weights, params, 0);
    if (status == TC_OK)
        status = tc_comm_bcast(run->comm, s->momentum, params, 0);
    if (status == TC_OK)
        status =
            tc_comm_bcast(run->comm, s->stats, (size_t)run->graph->stat_count * sizeof(float), 0);
    return status;
}

/* Sum the statistics of this rank's devices into stat_sum.  Local. */
static tc_status sum_devices(tc_run *run)
{
    int64_t n = run->graph->stat_count;
    float *one = run->state.stats;
    tc_status status = TC_OK;

    memset(run->stat_sum, 0, (size_t)n * sizeof *run->stat_sum);
    for (int d = 0; status == TC_OK && d < run->opt->devices; d++) {
        status = tc_table_read(run->table, d, TC_VEC_STATS, one);
        for (int64_t i = 0; status == TC_OK && i < n; i++)
            run->stat_sum[i] += (double)one[i];
    }
    return status;
}

/*
 * Optimized: the mean over all devices, in rank order in double.  Baseline: those of rank 0's
 * device 0, as Torch evaluates with its first replica's.  Written back to every device, so that a
 * resumed run equals an undisturbed one.
 */
tc_status tc_run_average_stats(tc_run *run)
{
    int64_t n = run->graph->stat_count;
    bool baseline = strcmp(run->opt->table, "baseline") == 0;
    double devices = (double)run->ranks * run->opt->devices;
    tc_status status;

    if (n == 0)
        return TC_OK;
    if (baseline)
        status = tc_table_read(run->table, 0, TC_VEC_STATS, run->state.stats);
    else
        status = sum_devices(run);
    status = tc_run_agree(run, status);
    if (status == TC_OK && baseline)
        status = tc_comm_bcast(run->comm, run->state.stats, (size_t)n * sizeof(float), 0);
    else if (status == TC_OK)
        status = tc_comm_sum(run->comm, run->stat_sum, n);
    if (status != TC_OK)
        return status;
    for (int64_t i = 0; !baseline && i < n; i++)
        run->state.stats[i] = (float)(run->stat_sum[i] / devices);
    return tc_run_agree(run, tc_table_write(run->table, TC_VEC_STATS, run->state.stats));
}

/* Rank 0's replica goes to disk; the others wait for its word.  Statistics are averaged already. */
tc_status tc_run_save(tc_run *run)
{
    const tc_train_options *o = run->opt;
    double start = tc_now();
    tc_status status = TC_OK;

    if (o->checkpoint == NULL)
        return TC_OK;
    _Static_assert(sizeof run->epoch == sizeof run->state.epoch, "the same four sums");
    memset(run->state.epoch, 0, sizeof run->state.epoch);
    if (run->state.step % run->recipe.steps_per_epoch != 0)
        memcpy(run->state.epoch, &run->epoch, sizeof run->epoch);
    tc_comm_phase(run->comm, "checkpoint", SAVE_PHASE);
    if (run->rank == 0) {
        status = tc_table_read(run->table, 0, TC_VEC_WEIGHTS, run->state.weights);
        if (status == TC_OK)
            status = tc_table_read(run->table, 0, TC_VEC_MOMENTUM, run->state.momentum);
        if (status == TC_OK)
            status = tc_checkpoint_save(o->checkpoint, o->checkpoint_keep, run->graph, &run->state);
    }
    status = tc_run_agree(run, status);
    tc_comm_phase(run->comm, "training", 0.0);
    run->times.checkpoint += tc_now() - start;
    return status;
}

/* A run is done when its last evaluation has been written, too. */
tc_status tc_run_mark_done(tc_run *run)
{
    tc_status status = TC_OK;

    if (run->rank == 0 && run->opt->checkpoint != NULL && run->state.step >= run->total_steps &&
        !tc_checkpoint_is_done(run->opt->checkpoint))
        status = tc_checkpoint_mark_done(run->opt->checkpoint);
    return tc_run_agree(run, status);
}
