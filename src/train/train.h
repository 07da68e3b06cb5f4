#ifndef TC_TRAIN_TRAIN_H
#define TC_TRAIN_TRAIN_H
/**
 * @file train.h
 * A whole training run: set-up, epochs, evaluation, checkpoints, log, progress.
 *
 * Flow:  tc_train_options_default() -> set fields -> tc_train_run()
 * Used by: app (tricolor-train), tests.
 */
#include "base/status.h"
#include "comm/comm.h"
#include "train/recipe.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *data; /* DIR with train/ and val/ */
    const char *model;
    const char *backend;   /* NULL: the best here */
    const char *precision; /* NULL: the backend's first: f32 */
    const char *store, *files_dir;
    int store_groups;
    const char *allreduce;
    int colors, arity, window; /* 0 (arity -1): defaults */
    int64_t chunk;
    const char *table;
    const char *overlap;  /* "auto", "on", "off" */
    int devices, threads; /* a rank; cores a device, 0: cores of the host / devices on it */
    int loader_threads;   /* 0: as many as the rank has cores, at least 1 */
    int64_t batch;        /* per device */
    int64_t bucket_bytes; /* 0: default */
    int64_t size;         /* input height and width, 0: the model's */
    const char *augment;  /* "auto", "torchvision", "pad", "none" */
    uint64_t seed;
    tc_recipe recipe;
    const char *log, *checkpoint;
    double checkpoint_every; /* epochs */
    int checkpoint_keep;
    bool resume, force; /* force: resume with other options */
    const char *init;   /* safetensors */
    bool evaluate_only;
    const char *predictions;   /* file */
    int eval_every;            /* epochs, 0: only at the end */
    int64_t max_steps;         /* stop after so many steps of the run; 0: no limit */
    const char *dump_order;    /* file, %r is the rank: sample numbers of every slice */
    const char *dump_gradient; /* file: first step's summed gradient, f32 (tests) */
} tc_train_options;

tc_train_options tc_train_options_default(void);

/**
 * Train (or evaluate).  Collective: yes.
 * @retval TC_OK       the run is complete, or was stopped by SIGTERM/SIGUSR1 after a checkpoint.
 * @retval TC_NUMERIC  the loss is not finite: step and rank are named.
 * @retval any other   with the text; every rank returns.
 */
tc_status tc_train_run(tc_comm *comm, const tc_train_options *options);

#endif
