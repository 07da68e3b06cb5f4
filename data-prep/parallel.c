#include <config.h>

#include "data-prep/parallel.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    uint64_t count;
    tc_status (*job)(void *context, int thread, uint64_t i);
    void *context;
    _Atomic uint64_t next;
    atomic_bool stop;
    pthread_mutex_t lock; /* of the failure */
    tc_status status;
    uint64_t failed;
    char text[1024];
} loop;

typedef struct {
    loop *loop;
    int number;
    pthread_t thread;
} hand;

static void *run(void *argument)
{
    hand *self = argument;
    loop *l = self->loop;

    while (!atomic_load(&l->stop)) {
        uint64_t i = atomic_fetch_add(&l->next, 1);
        if (i >= l->count)
            break;
        tc_status status = l->job(l->context, self->number, i);
        if (status == TC_OK)
            continue;
        atomic_store(&l->stop, true);
        pthread_mutex_lock(&l->lock);
        if (l->status == TC_OK || i < l->failed) {
            l->status = status;
            l->failed = i;
            snprintf(l->text, sizeof l->text, "%s", tc_error_detail());
        }
        pthread_mutex_unlock(&l->lock);
    }
    return NULL;
}

tc_status tc_parallel(int threads, uint64_t count,
                      tc_status (*job)(void *context, int thread, uint64_t i), void *context)
{
    loop l = { .count = count, .job = job, .context = context };
    hand *hands = NULL;
    int running = 0;

    tc_status status = tc_alloc(threads, sizeof *hands, "threads", &hands);
    if (status != TC_OK)
        return status;
    pthread_mutex_init(&l.lock, NULL);
    for (int t = 0; t < threads; t++) {
        hands[t] = (hand){ .loop = &l, .number = t };
        int rc = pthread_create(&hands[t].thread, NULL, run, &hands[t]);
        if (rc != 0) { /* fewer do as well, none does not */
            status = tc_fail(TC_NOMEM, "no thread can be started: %s", strerror(rc));
            break;
        }
        running++;
    }
    for (int t = 0; t < running; t++)
        pthread_join(hands[t].thread, NULL);
    pthread_mutex_destroy(&l.lock);
    tc_free(hands);
    if (l.status != TC_OK)
        return tc_fail(l.status, "%s", l.text);
    return running > 0 ? TC_OK : status;
}
