/* What a run says: the lines of its log, the progress line, and one line an epoch. */
#include <config.h>

#include "train/run.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void event_text(tc_run *run, const char *key, const char *text)
{
    json_t *string = json_string(text);
    char *dump = json_dumps(string, JSON_ENCODE_ANY);

    tc_mllog_event(run->log, key, dump, NULL);
    free(dump);
    json_decref(string);
}

void tc_events_start(tc_run *run)
{
    char *config = NULL;

    if (run->rank != 0)
        return;
    event_text(run, "submission_benchmark", run->opt->model);
    event_text(run, "tricolor_kind", "measured");
    tc_mllog_number(run->log, "seed", (double)run->opt->seed, NULL);
    tc_mllog_number(run->log, "global_batch_size", (double)run->global_batch, NULL);
    if (run->train_set != NULL) {
        tc_mllog_number(run->log, "train_samples", (double)run->train_set->records, NULL);
        tc_mllog_number(run->log, "opt_base_learning_rate", run->recipe.lr, NULL);
    }
    tc_mllog_number(run->log, "eval_samples", (double)run->val_set->records, NULL);
    if (tc_run_config_json(run, &config) == TC_OK)
        tc_mllog_event(run->log, "tricolor_config", config, NULL);
    tc_free(config);
    tc_mllog_event(run->log, "run_start", NULL, NULL);
}

void tc_events_epoch_start(tc_run *run, int64_t epoch)
{
    char meta[64];

    if (run->rank != 0)
        return;
    snprintf(meta, sizeof meta, "{\"epoch_num\":%" PRId64 "}", epoch + 1);
    tc_mllog_event(run->log, "epoch_start", NULL, meta);
}

void tc_events_eval(tc_run *run, int64_t epoch)
{
    const tc_sums *e = &run->eval;
    char meta[192];

    if (run->rank != 0)
        return;
    snprintf(meta, sizeof meta,
             "{\"epoch_num\":%" PRId64 ",\"top5\":%.9g,\"samples\":%.0f,\"loss\":%.9g}", epoch + 1,
             e->top5 / e->count, e->count, e->loss / e->count);
    tc_mllog_number(run->log, "eval_accuracy", e->top1 / e->count, meta);
}

static void write_times(tc_run *run, const char *meta, const tc_epoch_times *t)
{
    char text[512];

    snprintf(text, sizeof text,
             "{\"data\":%.6f,\"place\":%.6f,\"forward\":%.6f,\"backward\":%.6f,\"reduce\":%.6f,"
             "\"comm\":%.6f,\"update\":%.6f,\"shuffle\":%.6f,\"eval\":%.6f,\"checkpoint\":%.6f,"
             "\"total\":%.6f}",
             t->table.data, t->table.place, t->table.forward, t->table.backward, t->table.reduce,
             t->table.comm, t->table.update, t->shuffle, t->eval, t->checkpoint, t->total);
    tc_mllog_event(run->log, "tricolor_time", text, meta);
}

void tc_events_epoch_stop(tc_run *run, int64_t epoch, int64_t dropped, int64_t replaced,
                          const tc_epoch_times *times)
{
    const tc_sums *s = &run->epoch;
    char meta[160], eval[96] = "";

    if (run->rank != 0)
        return;
    snprintf(meta, sizeof meta, "{\"epoch_num\":%" PRId64 ",\"step\":%" PRId64 "}", epoch + 1,
             run->state.step);
    tc_mllog_number(run->log, "train_loss", s->loss / s->count, meta);
    snprintf(meta, sizeof meta, "{\"epoch_num\":%" PRId64 "}", epoch + 1);
    tc_mllog_number(run->log, "train_accuracy", s->top1 / s->count, meta);
    tc_mllog_number(run->log, "throughput", run->throughput, meta);
    write_times(run, meta, times);
    snprintf(meta, sizeof meta,
             "{\"epoch_num\":%" PRId64 ",\"dropped\":%" PRId64 ",\"replaced\":%" PRId64 "}",
             epoch + 1, dropped, replaced);
    tc_mllog_event(run->log, "epoch_stop", NULL, meta);

    if (run->eval.count > 0.0 && times->eval > 0.0)
        snprintf(eval, sizeof eval, ", eval top-1 %.2f %% loss %.4f",
                 100.0 * run->eval.top1 / run->eval.count, run->eval.loss / run->eval.count);
    tc_log(TC_LOG_INFO, "train",
           "epoch %" PRId64 "/%g: loss %.4f, top-1 %.2f %%%s; %.1f images/s, %.1f s (data %.1f, "
           "communication %.1f, shuffle %.1f, evaluation %.1f)",
           epoch + 1, run->recipe.epochs, s->loss / s->count, 100.0 * s->top1 / s->count, eval,
           run->throughput, times->total, times->table.data, times->table.comm, times->shuffle,
           times->eval);
    if (dropped > 0 && epoch * run->recipe.steps_per_epoch <= run->start_step)
        tc_log(TC_LOG_INFO, "train",
               "each epoch leaves out %" PRId64 " of %" PRIu64
               " pictures, the rest of a division by "
               "the global batch; others every time",
               dropped, run->train_set->records);
    if (replaced > 0)
        tc_log(TC_LOG_WARN, "train",
               "%" PRId64 " pictures could not be decoded and were replaced by "
               "the mean colour",
               replaced);
}

void tc_events_stop(tc_run *run, tc_status status)
{
    bool complete = status == TC_OK && run->state.step >= run->total_steps;
    char meta[64];

    if (run->rank != 0)
        return;
    snprintf(meta, sizeof meta, "{\"status\":\"%s\"}",
             complete                                  ? "success"
             : status == TC_OK || status == TC_STOPPED ? "stopped"
                                                       : "aborted");
    tc_mllog_event(run->log, "run_stop", NULL, meta);
}

/* "3 min 20 s" */
static const char *duration(double seconds, char text[48])
{
    long s = seconds < 0.0 ? 0 : seconds > 1e9 ? 1000000000L : (long)(seconds + 0.5);

    if (s >= 3600)
        snprintf(text, 48, "%ld h %02ld min", s / 3600, s / 60 % 60);
    else if (s >= 60)
        snprintf(text, 48, "%ld min %02ld s", s / 60, s % 60);
    else
        snprintf(text, 48, "%ld s", s);
    return text;
}

void tc_events_progress(tc_run *run, int64_t epoch, const tc_sums *recent, double seconds,
                        bool done)
{
    int64_t spe = run->recipe.steps_per_epoch, step = run->state.step - epoch * spe;
    double spent = tc_now() - run->start_at;
    double left = spent * (double)(run->end_step - run->state.step) /
                  (double)(run->state.step - run->start_step);
    char text[48];

    if (run->rank == 0)
        tc_progress(done,
                    "epoch %" PRId64 "/%g step %" PRId64 "/%" PRId64
                    "  loss %.4f  %.0f images/s  %s left",
                    epoch + 1, run->recipe.epochs, step, tc_run_epoch_steps(run, epoch),
                    recent->loss / recent->count, recent->count / seconds, duration(left, text));
}
