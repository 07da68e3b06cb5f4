#include <config.h>

#include "store/handles.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/resource.h>

#define MOST  512
#define LEAST 4
#define NONE  UINT32_MAX

typedef struct {
    uint32_t shard; /* NONE: empty */
    tc_shard *open; /* NULL: some thread is opening it */
    uint32_t users;
    uint64_t used; /* time of the last use */
} handle;

struct tc_handles {
    const tc_dataset *dataset;
    pthread_mutex_t lock; /* of everything below */
    pthread_cond_t change;
    uint32_t most;
    handle *handle; /* (most) */
    uint32_t *at;   /* (n_shards) its handle, or NONE */
    uint64_t clock;
};

/* The MPI, the log and the other store need descriptors as well. */
static uint32_t allowed(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur / 4 > MOST)
        return MOST;
    return limit.rlim_cur / 4 > LEAST ? (uint32_t)(limit.rlim_cur / 4) : LEAST;
}

tc_status tc_handles_create(const tc_dataset *dataset, uint32_t most, tc_handles **handles_p)
{
    tc_handles *h = NULL;

    tc_status status = tc_alloc(1, sizeof *h, "open shards", &h);
    if (status != TC_OK)
        return status;
    h->dataset = dataset;
    h->most = most > 0 ? most : allowed();
    if (h->most > dataset->n_shards)
        h->most = dataset->n_shards;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->change, NULL);
    status = tc_alloc(h->most, sizeof *h->handle, "open shards", &h->handle);
    if (status == TC_OK)
        status = tc_alloc(dataset->n_shards, sizeof *h->at, "open shards", &h->at);
    if (status != TC_OK) {
        tc_handles_free(h);
        return status;
    }
    for (uint32_t i = 0; i < h->most; i++)
        h->handle[i].shard = NONE;
    for (uint32_t i = 0; i < dataset->n_shards; i++)
        h->at[i] = NONE;
    *handles_p = h;
    return TC_OK;
}

void tc_handles_free(tc_handles *h)
{
    if (h == NULL)
        return;
    for (uint32_t i = 0; h->handle != NULL && i < h->most; i++)
        tc_shard_close(h->handle[i].open);
    pthread_cond_destroy(&h->change);
    pthread_mutex_destroy(&h->lock);
    tc_free(h->handle);
    tc_free(h->at);
    tc_free(h);
}

/* An empty handle, else the one that was not used for the longest time; NULL: all are in use. */
static handle *find_victim(tc_handles *h)
{
    handle *best = NULL;

    for (uint32_t i = 0; i < h->most; i++) {
        handle *x = &h->handle[i];
        if (x->shard == NONE)
            return x;
        if (x->users == 0 && (best == NULL || x->used < best->used))
            best = x;
    }
    return best;
}

/* Open shard i in place of another.  Called and left with the lock, which is open in between. */
static tc_status replace(tc_handles *h, handle *x, uint32_t i)
{
    tc_shard *old = x->open, *open = NULL;

    if (x->shard != NONE)
        h->at[x->shard] = NONE;
    h->at[i] = (uint32_t)(x - h->handle);
    *x = (handle){ .shard = i, .users = 1 };
    pthread_mutex_unlock(&h->lock);
    tc_shard_close(old);
    tc_status status = tc_dataset_open_bare(h->dataset, i, &open);
    pthread_mutex_lock(&h->lock);
    x->open = open;
    if (status != TC_OK) { /* those that wait for it try themselves */
        h->at[i] = NONE;
        *x = (handle){ .shard = NONE };
    }
    pthread_cond_broadcast(&h->change);
    return status;
}

tc_status tc_handles_borrow(tc_handles *h, uint32_t i, const tc_shard **shard_p)
{
    tc_status status = TC_OK;

    pthread_mutex_lock(&h->lock);
    for (;;) {
        handle *x = h->at[i] != NONE ? &h->handle[h->at[i]] : NULL;
        if (x != NULL && x->open != NULL) {
            x->users++;
            x->used = ++h->clock;
            *shard_p = x->open;
            break;
        }
        handle *victim = x == NULL ? find_victim(h) : NULL;
        if (victim != NULL) {
            status = replace(h, victim, i);
            if (status == TC_OK) {
                victim->used = ++h->clock;
                *shard_p = victim->open;
            }
            break;
        }
        pthread_cond_wait(&h->change, &h->lock);
    }
    pthread_mutex_unlock(&h->lock);
    return status;
}

void tc_handles_release(tc_handles *h, uint32_t i)
{
    pthread_mutex_lock(&h->lock);
    if (--h->handle[h->at[i]].users == 0)
        pthread_cond_broadcast(&h->change);
    pthread_mutex_unlock(&h->lock);
}
