#ifndef TC_TRAIN_CHECKPOINT_H
#define TC_TRAIN_CHECKPOINT_H
/**
 * @file checkpoint.h
 * Checkpoints: two safetensors files, `model` (a state_dict under torchvision's names) and `state`
 * (momentum, step, best accuracy, options), written to temporary names, synced, renamed.
 *
 * DIR/step-000001234/{model,state}.safetensors; the last K are kept; DIR/latest names the newest
 * complete one; DIR/DONE marks a finished run.   Used by: train, app.
 */
#include "base/status.h"
#include "nn/graph.h"
#include <stdbool.h>
#include <stdint.h>

#define TC_CHECKPOINT_VERSION 1

typedef struct {
    int64_t step;  /* steps done over the run */
    double best;   /* best eval accuracy so far, -1: none */
    double epoch[4]; /* sums of the epoch begun: loss, count, top-1, top-5; 0 at its start */
    char *options; /* JSON text of the options that must agree on resume; tc_free() */
    float *weights, *momentum, *stats; /* flat vectors, graph order */
} tc_checkpoint;

/** Take memory for a graph's vectors.  Free with tc_checkpoint_free(). */
tc_status tc_checkpoint_create(const tc_graph *graph, tc_checkpoint *ckpt);
void tc_checkpoint_free(tc_checkpoint *ckpt);

/** Whether dir holds a complete checkpoint. */
bool tc_checkpoint_exists(const char *dir);
/** Remove every checkpoint and mark in dir (a new run in an old folder).  @retval TC_IO */
tc_status tc_checkpoint_clear(const char *dir);

/** Save under dir (created), keep the newest @p keep.  Rank 0 alone calls it.  @retval TC_IO */
tc_status tc_checkpoint_save(const char *dir, int keep, const tc_graph *graph,
                             const tc_checkpoint *ckpt);
/** Load the newest complete checkpoint.
 *  @retval TC_IO      none there, or unreadable.
 *  @retval TC_FORMAT  damaged, written by another version, other shapes. */
tc_status tc_checkpoint_load(const char *dir, const tc_graph *graph, tc_checkpoint *ckpt);

/** The options that the newest complete checkpoint was made with, as JSON; tc_free() them.
 *  @retval TC_IO, TC_FORMAT  as above. */
tc_status tc_checkpoint_options(const char *dir, char **options_p);

/** Create dir and see that it can be written to, before hours are spent.  @retval TC_IO */
tc_status tc_checkpoint_prepare(const char *dir);

/** Write DIR/DONE / remove it (a run that goes on) / say whether it is there.  @retval TC_IO */
tc_status tc_checkpoint_mark_done(const char *dir);
tc_status tc_checkpoint_unmark_done(const char *dir);
bool tc_checkpoint_is_done(const char *dir);

/** Weights and statistics alone, to and from one safetensors file; @p steps goes to every BN's
 *  num_batches_tracked. */
tc_status tc_model_save(const char *path, const tc_graph *graph, int64_t steps,
                        const float *weights, const float *stats);
/** @param classes_p  NULL: the file must fit exactly.  Else a file for another number of classes is
 *      taken, too: its last layer is left out, the one in @p weights stays; receives the number. */
tc_status tc_model_load(const char *path, const tc_graph *graph, float *weights, float *stats,
                        int64_t *classes_p);

#endif
