/*
 * The epochs: steps, the metric reduction that also carries failures and signals, checkpoints.
 *
 * A step adds no collective of its own to the allreduce.  Every `sync_steps` steps, at an epoch's
 * end and before a checkpoint, all ranks add up their metrics in one small reduction: a rank that
 * has failed, a loss that is not finite and a signal travel in it.  Until then a failed rank goes
 * on taking part in the steps, so that nobody waits for it; what it spoils is never saved.
 */
#include <config.h>

#include "train/run.h"

#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define SYNC_SECONDS 1.0  /* between two reductions, about */
#define SYNC_MAX     1000 /* steps */

static void stop_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGUSR1);
}

void tc_train_block_signals(void)
{
    sigset_t set;

    stop_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* Whether SIGTERM or SIGUSR1 has come since the last call.  They are blocked, so they wait here. */
static bool take_signal(void)
{
    static const struct timespec now = { 0, 0 };
    sigset_t set;
    bool came = false;

    stop_signals(&set);
    while (sigtimedwait(&set, NULL, &now) > 0)
        came = true;
    return came;
}

/* Keep the first failure of this rank for the next reduction. */
static void note_failure(tc_run *run, tc_status status)
{
    if (run->failed != TC_OK)
        return;
    run->failed = status;
    strncpy(run->failed_text, tc_error_detail(), sizeof run->failed_text - 1);
}

/* Name the first layer whose statistics are no numbers: there the forward pass overflowed. */
static tc_status not_finite(tc_run *run)
{
    for (int d = 0; d < run->opt->devices; d++) {
        if (tc_table_read(run->table, d, TC_VEC_STATS, run->state.stats) != TC_OK)
            break;
        for (int i = 0; i < run->graph->n_stats; i++) {
            const tc_stat *s = &run->graph->stat[i];
            for (int64_t c = 0; c < 2 * s->channels; c++)
                if (!isfinite(run->state.stats[s->offset + c]))
                    return tc_fail(
                        TC_NUMERIC,
                        "step %" PRId64 ", rank %d: the loss is not finite; the first layer "
                        "that overflowed on device %d is %s: try a lower --lr or a longer "
                        "--warmup",
                        run->state.step, run->rank, d, s->name);
        }
    }
    return tc_fail(TC_NUMERIC,
                   "step %" PRId64
                   ", rank %d: the loss is not finite: try a lower --lr or a longer "
                   "--warmup",
                   run->state.step, run->rank);
}

/* Steps until the next reduction.  Computed from sums that all ranks have alike. */
static void plan_sync(tc_run *run, double mean_seconds)
{
    double step = mean_seconds / (double)run->since_sync;

    if (run->opt->sync_steps > 0)
        run->sync_steps = run->opt->sync_steps;
    else if (step > SYNC_SECONDS / SYNC_MAX)
        run->sync_steps = (int64_t)fmax(1.0, SYNC_SECONDS / step);
    else
        run->sync_steps = SYNC_MAX;
    run->since_sync = 0;
}

/* The metric reduction.  After it run->epoch holds all ranks' sums and run->stop the vote. */
static tc_status sync_ranks(tc_run *run, int64_t epoch)
{
    enum { FAILED, STOP, SECONDS, LOSS, COUNT, TOP1, TOP5, WORDS };
    double x[WORDS] = { 0 }, now = tc_now();

    x[FAILED] = run->failed != TC_OK;
    x[STOP] = take_signal();
    x[SECONDS] = now - run->sync_at;
    x[LOSS] = run->recent.loss;
    x[COUNT] = run->recent.count;
    x[TOP1] = run->recent.top1;
    x[TOP5] = run->recent.top5;
    tc_status status = tc_comm_sum(run->comm, x, WORDS);
    if (status != TC_OK)
        return status;
    if (x[FAILED] > 0.0)
        return tc_run_agree(
            run, run->failed == TC_OK ? TC_OK : tc_fail(run->failed, "%s", run->failed_text));
    const tc_sums recent = { x[LOSS], x[COUNT], x[TOP1], x[TOP5] };
    run->epoch.loss += recent.loss;
    run->epoch.count += recent.count;
    run->epoch.top1 += recent.top1;
    run->epoch.top5 += recent.top5;
    run->recent = (tc_sums){ 0 };
    run->stop = run->stop || x[STOP] > 0.0;
    tc_dumps_loss(run, &recent);
    plan_sync(run, x[SECONDS] / run->ranks);
    tc_events_progress(run, epoch, &recent, x[SECONDS] / run->ranks, false);
    run->sync_at = tc_now();
    return TC_OK;
}

/* One step of the epoch.  Only fatal statuses come back; others wait for the reduction. */
static tc_status train_step(tc_run *run, int64_t step)
{
    const tc_recipe *r = &run->recipe;
    const tc_sgd sgd = { .lr = (float)tc_recipe_rate(r, run->state.step),
                         .momentum = (float)r->momentum,
                         .weight_decay = (float)r->weight_decay,
                         .nesterov = r->nesterov };
    tc_metrics metrics = { 0 };

    tc_dumps_step(run);
    tc_status status = tc_table_train(run->table, run->train_loader, step, &sgd, &metrics);
    if (TC_STATUS_IS_FATAL(status))
        return status;
    if (status == TC_OK && !isfinite(metrics.loss))
        status = not_finite(run);
    if (status == TC_OK && run->state.step == 0)
        status = tc_dumps_gradient(run);
    if (status != TC_OK)
        note_failure(run, status);
    run->recent.loss += metrics.loss;
    run->recent.count += (double)metrics.count;
    run->recent.top1 += (double)metrics.top1;
    run->recent.top5 += (double)metrics.top5;
    run->state.step++;
    run->since_sync++;
    return TC_OK;
}

/* A checkpoint is due at this step of the run; the end of an epoch saves after its evaluation. */
static bool save_due(const tc_run *run)
{
    int64_t every = llround(run->opt->checkpoint_every * (double)run->recipe.steps_per_epoch);

    return run->opt->checkpoint != NULL && run->state.step % (every > 0 ? every : 1) == 0;
}

static tc_status save_between(tc_run *run)
{
    tc_status status = tc_run_average_stats(run);

    if (status == TC_OK)
        status = tc_run_save(run);
    run->sync_at = tc_now(); /* its time is no step's */
    return status;
}

int64_t tc_run_epoch_steps(const tc_run *run, int64_t epoch)
{
    int64_t spe = run->recipe.steps_per_epoch, left = run->end_step - epoch * spe;

    return left < spe ? left : spe;
}

/* Steps [first, steps) of an epoch; ends early where a signal was voted. */
static tc_status train_steps(tc_run *run, int64_t epoch, int64_t first, int64_t steps)
{
    tc_status status = TC_OK;

    for (int64_t step = first; status == TC_OK && step < steps && !run->stop; step++) {
        bool last = step + 1 == steps;
        status = train_step(run, step);
        bool save = status == TC_OK && !last && save_due(run);
        if (status == TC_OK && (last || save || run->since_sync >= run->sync_steps))
            status = sync_ranks(run, epoch);
        if (status == TC_OK && save && !run->stop)
            status = save_between(run);
    }
    return status;
}

/* Average an epoch's times over the ranks, and sum the replaced pictures. */
static tc_status gather_times(tc_run *run, tc_epoch_times *times, double *replaced)
{
    _Static_assert(sizeof *times % sizeof(double) == 0, "a vector of doubles");
    enum { N = sizeof *times / sizeof(double) };
    double x[N + 1];

    memcpy(x, times, sizeof *times);
    x[N] = *replaced;
    tc_status status = tc_comm_sum(run->comm, x, N + 1);
    for (int i = 0; i < N; i++)
        x[i] /= run->ranks;
    memcpy(times, x, sizeof *times);
    *replaced = x[N];
    return status;
}

/* What follows the last step of an epoch: statistics, evaluation, checkpoint. */
static tc_status close_epoch(tc_run *run, int64_t epoch)
{
    const tc_train_options *o = run->opt;
    bool last = run->stop || run->state.step == run->end_step;
    bool eval = o->eval_every >= 0 && (!run->stop || run->state.step == run->end_step) &&
                (last || (o->eval_every > 0 && (epoch + 1) % o->eval_every == 0));
    tc_status status = TC_OK, evaluated = TC_OK;

    if (eval || last || save_due(run))
        status = tc_run_average_stats(run);
    if (status == TC_OK && eval) {
        double start = tc_now();
        evaluated = tc_run_evaluate(run, last);
        if (evaluated != TC_OK)
            note_failure(run, evaluated);
        run->times.eval = tc_now() - start;
    }
    /* What was trained is saved, whatever became of the evaluation: all ranks have its status. */
    if (status == TC_OK && !TC_STATUS_IS_FATAL(evaluated) && (last || save_due(run)))
        status = tc_run_save(run);
    if (status == TC_OK && evaluated != TC_OK)
        return tc_fail(evaluated, "%s", run->failed_text);
    if (status == TC_OK && eval)
        tc_events_eval(run, epoch);
    if (status == TC_OK && run->state.step == run->total_steps)
        status = tc_run_mark_done(run);
    return status;
}

static tc_status train_epoch(tc_run *run, int64_t epoch)
{
    int64_t first = run->state.step - epoch * run->recipe.steps_per_epoch;
    int64_t steps = tc_run_epoch_steps(run, epoch);
    double start = tc_now();

    run->times = (tc_epoch_times){ 0 };
    run->epoch = run->recent = (tc_sums){ 0 };
    if (first > 0) /* resumed in the middle: the epoch's loss is that of all its pictures */
        memcpy(&run->epoch, run->state.epoch, sizeof run->epoch);
    double before = run->epoch.count;
    tc_events_epoch_start(run, epoch);
    tc_status status = tc_store_begin_epoch(run->train_store, (uint64_t)epoch);
    run->times.shuffle = tc_now() - start;
    if (status == TC_OK)
        status =
            tc_run_agree(run, tc_loader_begin(run->train_loader, (uint64_t)epoch, first, steps));
    if (status != TC_OK)
        return status;
    run->sync_at = tc_now();
    status = train_steps(run, epoch, first, steps);
    tc_loader_end(run->train_loader);
    if (status != TC_OK)
        return status;
    run->train_seconds = tc_now() - start - run->times.checkpoint;
    run->throughput = (run->epoch.count - before) / run->train_seconds;
    tc_table_take_times(run->table, &run->times.table);
    status = close_epoch(run, epoch);
    if (status != TC_OK)
        return status;
    double replaced = (double)tc_loader_replaced(run->train_loader);
    run->times.total = tc_now() - start;
    status = gather_times(run, &run->times, &replaced);
    /* An epoch that a signal cut is logged when it has been resumed and completed. */
    if (status == TC_OK && run->state.step == epoch * run->recipe.steps_per_epoch + steps)
        tc_events_epoch_stop(run, epoch,
                             (int64_t)run->train_set->records -
                                 run->recipe.steps_per_epoch * run->global_batch,
                             (int64_t)replaced, &run->times);
    return status;
}

tc_status tc_run_train(tc_run *run)
{
    tc_status status = TC_OK;

    if (run->state.step >= run->end_step) {
        tc_log(TC_LOG_INFO, "train", "the run is complete: step %" PRId64 " of %" PRId64,
               run->state.step, run->total_steps);
        if (run->opt->eval_every >= 0)
            status = tc_run_evaluate(run, true);
        return status == TC_OK ? tc_run_mark_done(run) : status;
    }
    run->sync_steps = run->opt->sync_steps > 0 ? run->opt->sync_steps : 1;
    run->start_at = tc_now();
    run->start_step = run->state.step;
    tc_comm_phase(run->comm, "training", 0.0);
    while (status == TC_OK && run->state.step < run->end_step && !run->stop)
        status = train_epoch(run, run->state.step / run->recipe.steps_per_epoch);
    if (status == TC_OK && run->stop && run->state.step < run->end_step) {
        if (run->opt->checkpoint == NULL)
            return tc_fail(TC_STOPPED,
                           "stopped by a signal after step %" PRId64
                           "; nothing is saved without --checkpoint DIR",
                           run->state.step);
        tc_log(TC_LOG_INFO, "train",
               "stopped by a signal after step %" PRId64 " of %" PRId64
               "; --resume goes on from there",
               run->state.step, run->total_steps);
    }
    return status;
}
