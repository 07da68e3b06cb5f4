#ifndef TC_TRAIN_TRAIN_H
#define TC_TRAIN_TRAIN_H
/**
 * @file train.h
 * A whole training run: set-up, epochs, evaluation, checkpoints, log, progress.
 *
 * Flow:  tc_train_block_signals() -> tc_train_options_default() -> set fields
 *        -> tc_train_options_check() -> tc_comm_init() -> tc_train_run() -> tc_exit()
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
    bool stride_in_1x1; /* bottlenecks: see tc_model_options */
    const char *aux;    /* googlenetbn: "none", "idle", "train" */
    bool describe;      /* nothing is trained, and no data needed */
    const char *backend;   /* NULL: the best here */
    const char *precision; /* NULL: f32 */
    const char *store;     /* "memory", "shards", "files" */
    const char *files_dir; /* files: DIR with train/ and val/; NULL: data/SPLIT/files */
    int store_groups;
    const char *allreduce; /* NAME or NAME:KEY=VALUE,…: see allreduce/spec.h */
    const char *choices;   /* NULL, or where allreduce auto keeps what it chose */
    const char *topology;  /* NULL, or the file of hosts and their leaf switches */
    int colors, arity, window; /* 0 (arity -1): defaults */
    int64_t chunk;             /* bytes; 0: default */
    const char *table;         /* "optimized", "baseline" */
    const char *overlap;       /* "auto", "on", "off" */
    int devices, threads;      /* a rank; cores a device, 0: cores of the host / devices on it */
    bool bind;            /* bind devices to cores even where the launcher has not bound ranks */
    int loader_threads;   /* 0: as many as the rank has cores, at least 1 */
    int64_t batch;        /* per device and pass */
    int64_t accumulate;   /* passes a step: a device's gradient is the sum of so many batches */
    int64_t bn_batch;     /* pictures that share BN statistics, a divisor of batch; 0: batch */
    int64_t bucket_bytes; /* 0: an eighth of the gradient, 64 KiB to 4 MiB */
    int64_t size;         /* input height and width, 0: the model's */
    const char *augment;  /* "auto", "torchvision", "pad", "none" */
    uint64_t seed;
    const char *recipe_name; /* "auto" (by the model), "goyal", "cifar": what recipe leaves open */
    tc_recipe recipe;
    const char *log, *checkpoint;
    double checkpoint_every; /* epochs */
    int checkpoint_keep;
    bool resume;      /* from the newest checkpoint; from the start where there is none */
    bool force;       /* resume with other options; begin anew over old checkpoints */
    const char *init; /* safetensors to start from */
    bool evaluate_only;
    const char *predictions; /* file for the last evaluation's, tab-separated */
    int eval_every;          /* epochs; 0: only at the end; -1: never */
    int64_t max_steps;       /* stop after so many steps of the run (tests, timing); 0: no limit */
    int64_t sync_steps;      /* steps between two metric reductions; 0: about one second */
    const char *dump_order; /* file pattern with %r (rank): record numbers of every slice (tests) */
    const char *dump_gradient; /* file: first step's summed gradient, f32 (tests) */
    const char *dump_loss;     /* file: mean loss since the last reduction, at every one (tests) */
} tc_train_options;

tc_train_options tc_train_options_default(void);

/** Check words and ranges; knows neither data nor ranks.  @retval TC_INVAL  wrong use, with the
 *  option's name and what it may be. */
tc_status tc_train_options_check(const tc_train_options *options);

/** Block SIGTERM and SIGUSR1 in this thread and those it will start, so that a run can take them at
 *  a step's end.  Called first in main(), before MPI starts its threads. */
void tc_train_block_signals(void);

/** Print the network as a table to @p stream (a FILE *); the number of classes is the data set's
 *  where one is given, else 1000.  @retval TC_INVAL, TC_IO */
tc_status tc_train_describe(const tc_train_options *options, void *stream);

/**
 * Train (or evaluate), and print one line of results to stdout on rank 0.  Collective: yes.
 *
 * @retval TC_OK       the run is complete, or was stopped by SIGTERM/SIGUSR1 after a checkpoint.
 * @retval TC_STOPPED  stopped by a signal, and no folder for a checkpoint was given.
 * @retval TC_NUMERIC  the loss is not finite: step and rank are named.
 * @retval any other   with the text; every rank returns.
 */
tc_status tc_train_run(tc_comm *comm, const tc_train_options *options);

#endif
