#include <config.h>

#include "table/table_impl.h"

#include "base/clock.h"
#include "base/mem.h"

#include <assert.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <time.h>

/*
 * A step: every worker takes its slice, trains, announces its buckets from the last to the first,
 * and adds up its share of each bucket that all devices have. The main thread meanwhile reduces the
 * buckets that are added up, always in the order n-1 .. 0, which is the same on all ranks. Workers
 * whose backward is over update their replica bucket by bucket as the sums arrive.
 */

enum { BACK_OFF_MIN = 50, BACK_OFF_MAX = 200 }; /* us */

#define ADD_PIECE 2048 /* floats that stay in the first-level cache from device to device */

tc_status tc_optimized_create(tc_table *t)
{
    const tc_graph *graph = t->graph;
    int n = t->compile.n_buckets;
    tc_status status;
    size_t bytes;

    status = tc_alloc(n, sizeof *t->now.arrived, "bucket counts", &t->now.arrived);
    if (status == TC_OK)
        status = tc_alloc(n, sizeof *t->now.shares, "bucket counts", &t->now.shares);
    if (status == TC_OK)
        status = tc_alloc(n, sizeof *t->now.reduced, "bucket marks", &t->now.reduced);
    if (status != TC_OK || !t->compile.training)
        return status;
    t->sum = t->worker[0].gradients;
    if (t->devices == 1)
        return TC_OK;
    status = tc_size_mul(graph->param_count, sizeof *t->sum, 0, &bytes);
    if (status == TC_OK)
        status = t->backend->host_alloc(bytes, (void **)&t->own_sum);
    t->sum = t->own_sum;
    return status;
}

void tc_optimized_destroy(tc_table *t)
{
    tc_free(t->now.arrived);
    tc_free(t->now.shares);
    tc_free(t->now.reduced);
    if (t->own_sum)
        t->backend->host_free(t->own_sum);
}

/* First element of device d's share of [lo, hi); shares begin on cache lines of their own. */
static int64_t share_begin(const tc_table *t, int64_t lo, int64_t hi, int d)
{
    int64_t at = (lo + (hi - lo) * d / t->devices + 15) / 16 * 16;

    if (d == 0)
        return lo;
    return d == t->devices || at > hi ? hi : at;
}

/* Sum this worker's share of bucket b over the devices, in the order of the devices. */
static void add_share(const tc_worker *w, int b)
{
    const tc_table *t = w->table;
    int64_t lo = t->compile.bound[b], hi = t->compile.bound[b + 1];
    int64_t end = share_begin(t, lo, hi, w->index + 1);

    if (t->devices == 1)
        return;
    for (int64_t at = share_begin(t, lo, hi, w->index); at < end; at += ADD_PIECE) {
        int64_t count = end - at < ADD_PIECE ? end - at : ADD_PIECE;
        const float *restrict first = t->worker[0].gradients + at;
        const float *restrict second = t->worker[1].gradients + at;
        float *restrict sum = t->sum + at;
        for (int64_t i = 0; i < count; i++)
            sum[i] = first[i] + second[i];
        for (int d = 2; d < t->devices; d++) {
            const float *restrict more = t->worker[d].gradients + at;
            for (int64_t i = 0; i < count; i++)
                sum[i] += more[i];
        }
    }
}

/* Add up the next share.  Called and returns with the lock held. */
static void next_share(tc_worker *w)
{
    tc_table *t = w->table;
    int b = --w->added;
    double start = tc_now();

    pthread_mutex_unlock(&t->lock);
    add_share(w, b);
    w->times.reduce += tc_now() - start;
    pthread_mutex_lock(&t->lock);
    if (++t->now.shares[b] < t->devices)
        return;
    if (++t->now.whole == t->compile.n_buckets)
        t->now.whole_time = tc_now();
    pthread_cond_broadcast(&t->changed);
}

/* The backend's callback: this device has the gradient of bucket b. */
static void bucket_there(void *arg, int b)
{
    tc_worker *w = arg;
    tc_table *t = w->table;

    w->announced = b;
    pthread_mutex_lock(&t->lock);
    if (++t->now.arrived[b] == t->devices)
        pthread_cond_broadcast(&t->changed);
    while (w->added > 0 && t->now.arrived[w->added - 1] == t->devices)
        next_share(w);
    pthread_mutex_unlock(&t->lock);
}

/* Slice, placement, forward, criterion and backward. */
static tc_status train_slice(tc_worker *w)
{
    tc_table *t = w->table;
    tc_step_events events = { .bucket = bucket_there, .arg = w };
    tc_loader_slice got;
    tc_status status;

    status = tc_loader_get(t->call.loader, t->call.index, w->index, &got, &w->times.data);
    if (status != TC_OK)
        return status;
    const tc_slice slice = { got.count, got.images, got.labels, got.offset };
    status = tc_slice_train(w, &slice, &events);
    tc_loader_release(t->call.loader, t->call.index, w->index);
    return status;
}

/* Announce what a failed device owes the others, with its gradient as it is, then add up the
 * shares that wait for slower devices. */
static void end_backward(tc_worker *w)
{
    tc_table *t = w->table;

    /* Its last updates may still be reading the sum that is about to be overwritten. */
    if (w->announced == t->compile.n_buckets) {
        tc_metrics ignored;
        tc_failure_note(&w->failure, t->backend->metrics(w->step, &ignored));
    }
    while (w->announced > 0)
        bucket_there(w, w->announced - 1);
    pthread_mutex_lock(&t->lock);
    t->now.ended++;
    pthread_cond_broadcast(&t->changed);
    while (w->added > 0 && !t->now.cancel) {
        if (t->now.arrived[w->added - 1] == t->devices)
            next_share(w);
        else
            pthread_cond_wait(&t->changed, &t->lock);
    }
    pthread_mutex_unlock(&t->lock);
}

/* Wait until bucket b is reduced; false: the step is cancelled.  What was waited after the last
 * backward on this rank is exposed communication; before that it is waiting for a slower device. */
static bool await_reduced(tc_worker *w, int b)
{
    tc_table *t = w->table;
    double start = tc_now(), end;
    bool there;

    pthread_mutex_lock(&t->lock);
    while (!t->now.reduced[b] && !t->now.cancel)
        pthread_cond_wait(&t->changed, &t->lock);
    there = t->now.reduced[b];
    end = tc_now();
    if (t->allreduce && end > fmax(start, t->now.whole_time))
        w->times.comm += end - fmax(start, t->now.whole_time);
    pthread_mutex_unlock(&t->lock);
    return there;
}

static void train_job(tc_worker *w)
{
    tc_table *t = w->table;

    w->announced = w->added = t->compile.n_buckets;
    memset(&w->metrics, 0, sizeof w->metrics);
    tc_failure_note(&w->failure, train_slice(w));
    if (TC_STATUS_IS_FATAL(w->failure.status))
        return;
    end_backward(w);
    for (int b = t->compile.n_buckets - 1; b >= 0 && await_reduced(w, b); b--) {
        double start = tc_now();
        tc_status status = t->backend->update(w->step, b, t->sum, t->call.sgd);
        w->times.update += tc_now() - start;
        tc_failure_note(&w->failure, status);
        if (TC_STATUS_IS_FATAL(status))
            return;
    }
}

/* Whether the main thread may start bucket b, which is next. */
static bool may_start(const tc_table *t, int b)
{
    if (t->overlaps || !t->allreduce)
        return t->now.shares[b] == t->devices;
    return t->now.ended == t->devices && t->now.whole == t->compile.n_buckets;
}

/*
 * Nothing moved: leave the core to others. While a device computes the main thread sleeps at once;
 * afterwards it is the sums that everybody waits for, and it offers the core without leaving it
 * until it has been idle for a while. A change of the step's state ends the sleep. The lock is
 * held.
 */
static void back_off(tc_table *t, double idle_since)
{
    double idle = tc_now() - idle_since;
    int64_t us = idle > 1e-3 ? BACK_OFF_MAX : BACK_OFF_MIN;
    struct timespec until;

    if (t->now.ended == t->devices && idle < 1e-6 * BACK_OFF_MAX) {
        pthread_mutex_unlock(&t->lock);
        sched_yield();
        pthread_mutex_lock(&t->lock);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += us * 1000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&t->changed, &t->lock, &until);
}

/* Move what is in flight, the lock held but given back meanwhile. */
static tc_status move_buckets(tc_table *t, int *flying, double *idle_since)
{
    tc_progress_mode mode = t->overlaps ? TC_POLL : TC_BLOCK;
    tc_status status;
    bool moved = false;
    int done = TC_NONE;

    pthread_mutex_unlock(&t->lock);
    status = tc_allreduce_progress(t->allreduce, mode, NULL, &done, &moved);
    pthread_mutex_lock(&t->lock);
    if (status != TC_OK)
        return status;
    assert(mode == TC_POLL || done >= 0);
    if (moved || done >= 0)
        *idle_since = tc_now();
    if (done >= 0) {
        t->now.reduced[done] = true;
        (*flying)--;
        pthread_cond_broadcast(&t->changed);
    } else if (!moved) {
        back_off(t, *idle_since);
    }
    return TC_OK;
}

/* Start bucket b, the lock held but given back meanwhile. */
static tc_status start_bucket(tc_table *t, int b, int *flying)
{
    tc_status status;

    if (!t->allreduce) {
        t->now.reduced[b] = true;
        pthread_cond_broadcast(&t->changed);
        return TC_OK;
    }
    pthread_mutex_unlock(&t->lock);
    status = tc_allreduce_start(t->allreduce, b, t->sum + t->compile.bound[b]);
    pthread_mutex_lock(&t->lock);
    (*flying)++;
    return status;
}

/* The main thread's part of a step: every bucket summed over all ranks. */
static tc_status reduce_buckets(tc_table *t)
{
    int next = t->compile.n_buckets - 1, flying = 0;
    double idle_since = tc_now();
    tc_status status = TC_OK;

    pthread_mutex_lock(&t->lock);
    while (status == TC_OK && (next >= 0 || flying > 0) && !t->now.cancel) {
        if (next >= 0 && may_start(t, next))
            status = start_bucket(t, next--, &flying);
        else if (flying > 0)
            status = move_buckets(t, &flying, &idle_since);
        else
            pthread_cond_wait(&t->changed, &t->lock);
    }
    if (status != TC_OK) {
        t->now.cancel = true;
        pthread_cond_broadcast(&t->changed);
    }
    pthread_mutex_unlock(&t->lock);
    return status;
}

/* The times of the device that was last to have its gradients: a single one's, so that the parts
 * add up to no more than the step. */
static const tc_table_times *slowest(const tc_table *t)
{
    const tc_table_times *last = NULL;
    double most = -1;

    for (int d = 0; d < t->devices; d++) {
        const tc_table_times *s = &t->worker[d].times;
        double busy = s->data + s->place + s->backward + s->reduce;
        if (busy > most) {
            most = busy;
            last = s;
        }
    }
    return last;
}

tc_status tc_optimized_train(tc_table *t, tc_metrics *metrics_p)
{
    int n = t->compile.n_buckets;
    tc_failure failure = { .status = TC_OK };

    memset(t->now.arrived, 0, (size_t)n * sizeof *t->now.arrived);
    memset(t->now.shares, 0, (size_t)n * sizeof *t->now.shares);
    memset(t->now.reduced, 0, (size_t)n * sizeof *t->now.reduced);
    t->now.ended = t->now.whole = 0;
    t->now.whole_time = INFINITY;
    t->now.cancel = false;

    tc_workers_post(t, 0, t->devices, train_job);
    tc_failure_note(&failure, reduce_buckets(t));
    tc_failure_note(&failure, tc_workers_wait(t));
    memset(metrics_p, 0, sizeof *metrics_p);
    for (int d = 0; d < t->devices; d++)
        tc_metrics_add(metrics_p, &t->worker[d].metrics);
    tc_times_add(&t->times, slowest(t));
    return tc_failure_raise(&failure);
}
