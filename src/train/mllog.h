#ifndef TC_TRAIN_MLLOG_H
#define TC_TRAIN_MLLOG_H
/**
 * @file mllog.h
 * The training log: lines of MLPerf's form,
 * `:::MLLOG {"namespace":"","time_ms":…,"event_type":"POINT_IN_TIME","key":…,"value":…,
 * "metadata":{…}}`, on one line.
 *
 * Flow:  tc_mllog_open() -> tc_mllog_event() … -> tc_mllog_close().   Written by rank 0 alone.
 * Used by: train, sim.   Read by: report.
 */
#include "base/status.h"
#include <stdint.h>

/*
 * Keys.  Values: a number unless said; metadata in parentheses.
 *   submission_benchmark   string: the model          seed, global_batch_size, train_samples,
 *   eval_samples, opt_base_learning_rate
 *   tricolor_config        object: every option and choice, version, hosts, ranks, devices
 *   tricolor_kind          string: "measured", "simulated" or "synthetic"
 *   run_start              null                        epoch_start  null (epoch_num)
 *   epoch_stop             null (epoch_num, dropped: samples dropped, replaced: undecodable)
 *   train_loss             mean over the epoch (epoch_num, step)
 *   train_accuracy         0..1 (epoch_num)
 *   eval_accuracy          top-1, 0..1 (epoch_num, top5, samples, loss)
 *   throughput             images/s of training over the epoch, all ranks (epoch_num)
 *   tricolor_time          object: seconds of the epoch, mean over the ranks, in data, place,
 *                          forward, backward, reduce, comm, update, shuffle, eval, checkpoint,
 *                          total (epoch_num)
 *   run_stop               null (status: "success", "stopped" or "aborted")
 * epoch_num counts from 1.
 */

typedef struct tc_mllog tc_mllog;

/** Append to a file (created where absent).  @param path  NULL: a log that writes nothing. */
tc_status tc_mllog_open(const char *path, tc_mllog **log_p);
/** Close and report a failed write.  NULL accepted. */
tc_status tc_mllog_close(tc_mllog *log);

/** Write one line and flush it.  @param value, metadata  JSON texts; NULL: null and {}. */
void tc_mllog_event(tc_mllog *log, const char *key, const char *value, const char *metadata);
/** The same with a number. */
void tc_mllog_number(tc_mllog *log, const char *key, double value, const char *metadata);

#endif
