#ifndef TC_TABLE_TABLE_IMPL_H
#define TC_TABLE_TABLE_IMPL_H
/*
 * Private to src/table: the table, its workers and the hand-over between them.
 *
 * Every device has one worker thread, which makes all calls on it (dev/backend.h).  The main thread
 * posts a job to some workers and waits until they have ended it; the arguments lie in table->call,
 * the results in the worker.  One mutex guards the mailboxes and the state of the step: a step
 * takes it a few dozen times, so that nothing finer is worth its risk.
 */
#include "table/table.h"

#include <pthread.h>

typedef struct tc_worker tc_worker;
typedef struct tc_parts tc_parts;
typedef void tc_job(tc_worker *w); /* notes its failures in w->failure */

/* The first failure of something that goes on after it; a fatal one replaces one that is not. */
typedef struct {
    tc_status status;
    char text[1024]; /* tc_fail()'s, which is kept per thread and may be overwritten meanwhile */
} tc_failure;

struct tc_worker {
    tc_table *table;
    int index; /* of the device in this rank */
    pthread_t thread;
    bool started;
    pthread_cond_t posted;
    tc_job *job; /* under table->lock; NULL: idle */

    /* The worker's own while it has a job, the main thread's otherwise. */
    tc_failure failure; /* of its last job */
    tc_dev *dev;
    tc_step *step;
    float *gradients; /* (param_count), host_gradients(step) */
    tc_parts *parts;  /* NULL: slices are trained whole */
    int slot;         /* where the next slice goes */
    int announced;    /* lowest bucket that this device has announced in this step */
    int added;        /* lowest bucket whose share it has added up */
    tc_metrics metrics;
    tc_table_times times; /* of its last job */
};

struct tc_table {
    const tc_backend *backend;
    const tc_graph *graph;
    int devices, threads, first_ordinal;
    int *cores; /* (devices*threads) or NULL */
    int64_t batch, part;
    float scale; /* 1/B */
    tc_compile_options compile; /* its bound is the table's copy */
    tc_allreduce *allreduce;
    bool baseline, overlaps;
    tc_worker *worker; /* (devices) */
    float *sum;        /* (param_count) what is reduced: device 0's gradients, or own */
    float *own_sum;    /* (param_count) optimized, more than one device */
    tc_table_times times;
    char backend_choices[512], choices[1024];

    pthread_mutex_t lock;
    pthread_cond_t changed; /* a job has ended, or anything below has changed */
    bool lock_made;
    int busy; /* workers with a job */

    /* Arguments of the job at hand, set while all workers are idle. */
    struct {
        tc_loader *loader;
        int64_t index; /* the loader's step */
        const tc_sgd *sgd;
        tc_vector vec;
        float *out, *logits;
        const float *in;
    } call;

    /* optimized: one training step, under the lock. */
    struct {
        int *arrived;     /* (n_buckets) devices that have the gradient of the bucket */
        int *shares;      /* (n_buckets) devices that have added up their share of it */
        bool *reduced;    /* (n_buckets) the sum over all ranks is there */
        int ended;        /* devices whose backward is over */
        int whole;        /* buckets that all devices have added up */
        double whole_time; /* when the last became so; infinite before */
        bool cancel;      /* a fatal status: nobody waits any more */
    } now;

    /* baseline: what device 0 keeps for all. */
    struct {
        uint8_t *images; /* (devices*batch,H,W,3) u8 */
        int32_t *labels; /* (devices*batch) */
        float *offset;   /* (devices*batch,3) */
        bool with_offset;
        float *logits, *dlogits; /* (devices*batch,classes) */
        float *weights;          /* (param_count) on their way from device 0 */
        float *zeros;            /* (param_count) */
        bool stale;              /* the others have not got device 0's weights yet */
        double data;             /* seconds that gathering waited for the loader */
    } base;
};

void tc_failure_note(tc_failure *failure, tc_status status);
tc_status tc_failure_raise(const tc_failure *failure);

/* Start the thread of every worker.  tc_workers_stop() also after a failure. */
tc_status tc_workers_start(tc_table *table);
void tc_workers_stop(tc_table *table);
/* Hand a job to workers [first, first + count), all idle. */
void tc_workers_post(tc_table *table, int first, int count, tc_job *job);
/* Wait for all jobs; the failure of the lowest device, a fatal one before others. */
tc_status tc_workers_wait(tc_table *table);
/* Post and wait: a meeting of all. */
tc_status tc_workers_run(tc_table *table, int first, int count, tc_job *job);
/* Bind the calling worker to its cores; a failure is a warning. */
void tc_worker_bind(tc_worker *w);

/* parts.c.  Train or evaluate a slice, in parts where the table was told so; metrics are added to
 * the worker's, times of placement and training to its times. */
tc_status tc_parts_create(tc_table *table);
void tc_parts_destroy(tc_table *table);
tc_status tc_slice_train(tc_worker *w, const tc_slice *slice, const tc_step_events *events);
/* The first `valid` pictures are no padding; logits: NULL or (count, classes). */
tc_status tc_slice_evaluate(tc_worker *w, const tc_slice *slice, int64_t valid, float *logits);

/* Sums, field by field. */
void tc_times_add(tc_table_times *to, const tc_table_times *from);
void tc_metrics_add(tc_metrics *to, const tc_metrics *from);

tc_status tc_optimized_create(tc_table *table);
void tc_optimized_destroy(tc_table *table);
tc_status tc_optimized_train(tc_table *table, tc_metrics *metrics_p);

tc_status tc_baseline_create(tc_table *table);
void tc_baseline_destroy(tc_table *table);
tc_status tc_baseline_train(tc_table *table, tc_metrics *metrics_p);
/* Bring device 0's weights to the others, where they are not there yet. */
tc_status tc_baseline_broadcast(tc_table *table);

#endif
