#ifndef TC_TRAIN_RUN_H
#define TC_TRAIN_RUN_H
/**
 * @file run.h
 * The state of a run, shared by the files of this folder.   Private to train.
 *
 * Every function here is called by all ranks together and returns the same verdict on all of them,
 * unless it says "local".
 */
#include "allreduce/allreduce.h"
#include "comm/comm.h"
#include "dev/backend.h"
#include "loader/loader.h"
#include "nn/model.h"
#include "shard/dataset.h"
#include "store/store.h"
#include "table/table.h"
#include "train/checkpoint.h"
#include "train/mllog.h"
#include "train/train.h"
#include <stdio.h>

/** Sums of metrics over pictures. */
typedef struct {
    double loss, count, top1, top5;
} tc_sums;

/** Where an epoch's seconds went; a vector of doubles, so that it can be averaged over the ranks.
 */
typedef struct {
    tc_table_times table;
    double shuffle, eval, checkpoint, total;
} tc_epoch_times;

/** Dumps for tests (dump.c). */
typedef struct {
    FILE *order, *loss;
    float *initial; /* weights before the first step, for the gradient */
} tc_dumps;

typedef struct {
    tc_comm *comm;
    const tc_train_options *opt;
    int rank, ranks;

    tc_dataset *train_set, *val_set; /* train_set is NULL where a run only evaluates */
    tc_graph *graph;
    const tc_backend *backend;
    tc_precision precision;
    tc_augment augment;
    int cores; /* this rank's share of the host's */
    int threads, loader_threads;
    int *bind;            /* (devices * threads) logical processors, or NULL */
    int64_t slice;        /* pictures of a device and step: batch * accumulate */
    int64_t part;         /* of which so many are trained at a time */
    int64_t global_batch; /* B */
    tc_recipe recipe;     /* resolved */
    int64_t total_steps;  /* of the whole run */
    int64_t end_step;     /* where this run ends: total_steps or max_steps */
    int64_t *bound;
    int n_buckets;

    tc_allreduce_options sums; /* what --allreduce asks for */
    tc_allreduce *allreduce;
    tc_store *train_store, *val_store;
    tc_loader *train_loader, *val_loader;
    tc_table *table;
    tc_checkpoint state; /* host copies; state.step counts the steps done */
    double *stat_sum;    /* (stat_count) BN statistics summed over the devices */
    tc_mllog *log;
    tc_dumps dumps;

    /* The loop. */
    tc_status failed; /* first failure of this rank since the last reduction */
    char failed_text[1024];
    bool stop; /* a signal has arrived, voted on */
    int64_t sync_steps, since_sync;
    tc_sums recent, epoch; /* this rank's since the last reduction; all ranks' of this epoch */
    double sync_at;        /* time of the last reduction */
    double start_at;       /* time of the first step */
    int64_t start_step;
    tc_sums eval;         /* of the last evaluation */
    double throughput;    /* images/s of the last epoch */
    double train_seconds; /* of this epoch's steps and shuffle */
    tc_epoch_times times;
} tc_run;

/* setup.c */
tc_status tc_run_set_up(tc_run *run);
void tc_run_tear_down(tc_run *run); /* local */
/* Vote, and go on only where all can. */
tc_status tc_run_agree(tc_run *run, tc_status mine);

/* cores.c */
tc_status tc_run_plan_cores(tc_run *run);

/* sums.c */
#define TC_ALLREDUCE_BUCKETS "allreduce_buckets" /* key of a checkpoint's options: specs */
tc_status tc_run_read_allreduce(tc_run *run); /* local */
tc_status tc_run_create_allreduce(tc_run *run);
bool tc_run_same_sums(const char *a, const char *b); /* local; of what allreduces chose */

/* config.c */
tc_model_options tc_train_model(const tc_train_options *o, int64_t classes); /* local */
tc_status tc_run_options_json(const tc_run *run, char **text_p);        /* local; tc_free() it */
tc_status tc_run_options_compare(const char *theirs, const char *ours); /* local */
tc_status tc_run_config_json(const tc_run *run, char **text_p);         /* local; tc_free() it */

/* state.c */
tc_status tc_run_start_state(tc_run *run);   /* initial weights, --init or --resume */
tc_status tc_run_average_stats(tc_run *run); /* and write them back to every device */
tc_status tc_run_save(tc_run *run);          /* checkpoint */
tc_status tc_run_mark_done(tc_run *run);     /* where the run is complete and no mark is there */

/* loop.c */
tc_status tc_run_train(tc_run *run);
int64_t tc_run_epoch_steps(const tc_run *run, int64_t epoch); /* local */

/* evaluate.c */
tc_status tc_run_evaluate(tc_run *run, bool last);

/* events.c: rank 0 writes, the others return at once */
void tc_events_start(tc_run *run);
void tc_events_epoch_start(tc_run *run, int64_t epoch);
void tc_events_epoch_stop(tc_run *run, int64_t epoch, int64_t dropped, int64_t replaced,
                          const tc_epoch_times *times);
void tc_events_eval(tc_run *run, int64_t epoch);
void tc_events_stop(tc_run *run, tc_status status);
void tc_events_progress(tc_run *run, int64_t epoch, const tc_sums *recent, double seconds,
                        bool done);

/* dump.c, local */
tc_status tc_dumps_open(tc_run *run);
tc_status tc_dumps_close(tc_run *run);
void tc_dumps_step(tc_run *run);
void tc_dumps_slice(void *run, int64_t step, int device, const tc_loader_slice *slice);
tc_status tc_dumps_gradient(tc_run *run); /* after the first step */
void tc_dumps_loss(tc_run *run, const tc_sums *recent);

#endif
