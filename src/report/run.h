#ifndef TC_REPORT_RUN_H
#define TC_REPORT_RUN_H
/**
 * @file run.h
 * What a log says about one training run.  Private to this room.
 *
 * A number that the log does not have is NAN, a text that it does not have is "".
 */
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/** Parts of tricolor_time, in the order in which they are printed. */
#define TC_PARTS 11
extern const char *const tc_part_name[TC_PARTS];
enum { TC_PART_FORWARD = 2, TC_PART_BACKWARD = 3, TC_PART_TOTAL = 10 };

typedef struct {
    int64_t num; /* epoch_num, from 1 */
    double start_ms, stop_ms;
    double train_loss, train_accuracy, eval_accuracy, top5, throughput;
    double dropped, replaced;
    double part[TC_PARTS]; /* seconds */
} tc_epoch;

typedef struct {
    char *path;
    int64_t line; /* of its run_start */
    int resumed;  /* how many times it was taken up again */
    bool cut;     /* the log ends in the middle of a line */
    char model[32], kind[16], status[16];
    char store[16], allreduce[96], table[16], overlap[16], backend[16], precision[16];
    char version[64], hosts[256], choices[512];
    double seed, global_batch, train_samples, eval_samples, base_rate;
    double ranks, devices, batch, planned_epochs;
    double size, start_step; /* of the input; 0 unless it was taken up again */
    double final_accuracy;   /* an eval_accuracy outside of any epoch, or the last one */
    tc_epoch *epoch;         /* ascending by num */
    int64_t n_epochs, epoch_capacity;
} tc_run;

/** Runs in the order of their logs; `n` are in use. */
typedef struct {
    tc_run **run;
    int64_t n, capacity;
} tc_runs;

/**
 * Read the runs of one log and append them.
 * @retval TC_OK      at least one run was added.
 * @retval TC_IO      the file cannot be read.
 * @retval TC_FORMAT  a malformed line (the message says FILE:LINE), or no run at all.
 */
tc_status tc_runs_read(tc_runs *runs, const char *path);
void tc_runs_free(tc_runs *runs);

/** Seconds of the epoch: tricolor_time's total, or what the clock says between its two events. */
double tc_epoch_seconds(const tc_epoch *epoch);

/** Which column of numbers of an epoch. */
typedef double (*tc_epoch_value)(const tc_epoch *epoch, int index);

/** Median over the epochs that have the value, without the first epoch of the run where there are
 *  others (it pays for the start).  NAN where none has. */
double tc_run_median(const tc_run *run, tc_epoch_value value, int index);

double tc_epoch_throughput(const tc_epoch *epoch, int unused);
double tc_epoch_total(const tc_epoch *epoch, int unused);
double tc_epoch_part(const tc_epoch *epoch, int part);

/** Sum of the finished epochs' seconds; NAN where there is none. */
double tc_run_seconds(const tc_run *run);
/** Best and last evaluation, 0..1 or NAN. */
double tc_run_best(const tc_run *run);
double tc_run_final(const tc_run *run);

/** Median of @p n numbers, which are put in order.  NAN for n = 0. */
double tc_median(double *x, int64_t n);

#endif
