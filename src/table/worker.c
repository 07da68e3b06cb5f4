#include <config.h>

#include "table/table_impl.h"

#include "base/log.h"

#include <hwloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

void tc_failure_note(tc_failure *failure, tc_status status)
{
    bool worse = TC_STATUS_IS_FATAL(status) && !TC_STATUS_IS_FATAL(failure->status);

    if (status == TC_OK || (failure->status != TC_OK && !worse))
        return;
    failure->status = status;
    snprintf(failure->text, sizeof failure->text, "%s", tc_error_detail());
}

tc_status tc_failure_raise(const tc_failure *failure)
{
    if (failure->status == TC_OK)
        return TC_OK;
    return tc_fail(failure->status, "%s", failure->text);
}

static void close_job(tc_worker *w)
{
    const tc_backend *backend = w->table->backend;

    backend->step_free(w->step);
    backend->close(w->dev);
}

static void *worker_main(void *arg)
{
    tc_worker *w = arg;
    tc_table *t = w->table;
    tc_job *job;

    pthread_mutex_lock(&t->lock);
    do {
        while (!w->job)
            pthread_cond_wait(&w->posted, &t->lock);
        job = w->job;
        pthread_mutex_unlock(&t->lock);

        w->failure.status = TC_OK;
        memset(&w->times, 0, sizeof w->times);
        job(w);

        pthread_mutex_lock(&t->lock);
        w->job = NULL;
        t->busy--;
        if (TC_STATUS_IS_FATAL(w->failure.status))
            t->now.cancel = true;
        pthread_cond_broadcast(&t->changed);
    } while (job != close_job);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

tc_status tc_workers_start(tc_table *t)
{
    static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGPROF };
    sigset_t all, before;
    int rc = 0;

    /* Signals sent to the process are the main thread's: it votes on them. */
    sigfillset(&all);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&all, own[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int d = 0; d < t->devices && rc == 0; d++) {
        tc_worker *w = &t->worker[d];
        w->table = t;
        w->index = d;
        pthread_cond_init(&w->posted, NULL);
        rc = pthread_create(&w->thread, NULL, worker_main, w);
        if (rc != 0)
            pthread_cond_destroy(&w->posted);
        w->started = rc == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        return tc_fail(TC_NOMEM, "cannot start a thread for each of %d devices: %s", t->devices,
                       strerror(rc));
    return TC_OK;
}

void tc_workers_stop(tc_table *t)
{
    int started = 0;

    while (started < t->devices && t->worker[started].started)
        started++;
    tc_workers_run(t, 0, started, close_job);
    for (int d = 0; d < started; d++) {
        pthread_join(t->worker[d].thread, NULL);
        pthread_cond_destroy(&t->worker[d].posted);
        t->worker[d].started = false;
    }
}

void tc_workers_post(tc_table *t, int first, int count, tc_job *job)
{
    pthread_mutex_lock(&t->lock);
    for (int d = first; d < first + count; d++) {
        t->worker[d].job = job;
        t->busy++;
        pthread_cond_signal(&t->worker[d].posted);
    }
    pthread_mutex_unlock(&t->lock);
}

/* What the last jobs of [first, first + count) failed with, naming the device. */
static tc_status workers_status(const tc_table *t, int first, int count)
{
    const tc_worker *bad = NULL;

    for (int d = first; d < first + count; d++) {
        const tc_worker *w = &t->worker[d];
        bool worse = bad && TC_STATUS_IS_FATAL(w->failure.status) &&
                     !TC_STATUS_IS_FATAL(bad->failure.status);
        if (w->failure.status != TC_OK && (!bad || worse))
            bad = w;
    }
    if (!bad)
        return TC_OK;
    return tc_fail(bad->failure.status, "device %d: %s", t->first_ordinal + bad->index,
                   bad->failure.text);
}

static void wait_idle(tc_table *t)
{
    pthread_mutex_lock(&t->lock);
    while (t->busy > 0)
        pthread_cond_wait(&t->changed, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

tc_status tc_workers_wait(tc_table *t)
{
    wait_idle(t);
    return workers_status(t, 0, t->devices);
}

tc_status tc_workers_run(tc_table *t, int first, int count, tc_job *job)
{
    tc_workers_post(t, first, count, job);
    wait_idle(t);
    return workers_status(t, first, count);
}

void tc_worker_bind(tc_worker *w)
{
    const tc_table *t = w->table;
    hwloc_topology_t topology;
    hwloc_bitmap_t set;
    int rc;

    if (!t->cores)
        return;
    if (hwloc_topology_init(&topology) != 0)
        return;
    set = hwloc_bitmap_alloc();
    for (int i = 0; set && i < t->threads; i++)
        hwloc_bitmap_set(set, (unsigned)t->cores[w->index * t->threads + i]);
    rc = hwloc_topology_load(topology);
    if (rc == 0 && set)
        rc = hwloc_set_cpubind(topology, set, HWLOC_CPUBIND_THREAD);
    if (rc != 0 || !set)
        tc_log(TC_LOG_WARN, "table",
               "device %d could not be bound to processor %d%s; it runs unbound",
               t->first_ordinal + w->index, t->cores[w->index * t->threads],
               t->threads > 1 ? " and the next" : "");
    hwloc_bitmap_free(set);
    hwloc_topology_destroy(topology);
}
