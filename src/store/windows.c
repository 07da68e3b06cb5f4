#include <config.h>

#include "store/windows.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdlib.h>

#define STEPS   4 /* of a rank, in a window */
#define LEAST   64
#define MOST    8192
#define WINDOWS 3 /* at hand, ahead, and one for who is late */

typedef struct {
    uint64_t number;    /* places local / size; UINT64_MAX: none */
    bool ready;         /* else a thread is filling it */
    uint64_t used;      /* time of the last use */
    tc_located *places; /* (size) by local */
    tc_located *sorted; /* (size) scratch of who fills it */
} window;

struct tc_windows {
    const tc_dataset *dataset;
    tc_handles *handles;
    const tc_store_order *order;
    int rank;
    bool advise;
    pthread_mutex_t lock; /* of numbers, states and clock */
    pthread_cond_t change;
    uint64_t size, clock;
    window window[WINDOWS];
};

static tc_status check_share(const tc_dataset *dataset, uint32_t rank, uint32_t ranks)
{
    tc_status status = TC_OK;

    for (uint32_t s = rank; status == TC_OK && s < dataset->n_shards; s += ranks) {
        tc_shard *shard = NULL;
        status = tc_dataset_open_shard(dataset, s, &shard);
        tc_shard_close(shard);
    }
    return status;
}

tc_status tc_windows_create(const tc_dataset *dataset, tc_handles *handles,
                            const tc_store_order *order, int rank, bool advise,
                            tc_windows **windows_p)
{
    uint64_t size = STEPS * order->block;
    tc_windows *w = NULL;

    tc_status status = check_share(dataset, (uint32_t)rank, (uint32_t)order->ranks);
    if (status == TC_OK)
        status = tc_alloc(1, sizeof *w, "windows of the store", &w);
    if (status != TC_OK)
        return status;
    w->dataset = dataset;
    w->handles = handles;
    w->order = order;
    w->rank = rank;
    w->advise = advise;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->change, NULL);
    w->size = size < LEAST ? LEAST : size > MOST ? MOST : size;
    tc_windows_reset(w);
    for (int i = 0; status == TC_OK && i < WINDOWS; i++) {
        window *x = &w->window[i];
        status = tc_alloc((int64_t)w->size, sizeof *x->places, "records ahead", &x->places);
        if (status == TC_OK)
            status = tc_alloc((int64_t)w->size, sizeof *x->sorted, "records ahead", &x->sorted);
    }
    if (status != TC_OK) {
        tc_windows_free(w);
        return status;
    }
    *windows_p = w;
    return TC_OK;
}

void tc_windows_free(tc_windows *w)
{
    if (w == NULL)
        return;
    for (int i = 0; i < WINDOWS; i++) {
        tc_free(w->window[i].places);
        tc_free(w->window[i].sorted);
    }
    pthread_cond_destroy(&w->change);
    pthread_mutex_destroy(&w->lock);
    tc_free(w);
}

void tc_windows_reset(tc_windows *w)
{
    for (int i = 0; i < WINDOWS; i++)
        w->window[i].number = UINT64_MAX;
}

uint64_t tc_windows_size(const tc_windows *w)
{
    return w->size;
}

static int by_place(const void *a, const void *b)
{
    const tc_located *x = a, *y = b;

    if (x->shard != y->shard)
        return x->shard < y->shard ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

/* Read the entries of sorted[0..n), which all lie in one shard, and announce their bytes.  Those
 * that cannot be read keep no bytes. */
static tc_status locate(const tc_windows *w, tc_located *sorted, uint64_t n)
{
    const tc_shard *shard;
    tc_shard_entry e;

    tc_status status = tc_handles_borrow(w->handles, sorted[0].shard, &shard);
    if (status != TC_OK)
        return status;
    for (uint64_t i = 0; status == TC_OK && i < n; i++) {
        tc_located *p = &sorted[i];
        status = tc_shard_fetch_entry(shard, p->i, &e, NULL, 0);
        if (status != TC_OK)
            break;
        p->offset = e.offset;
        p->bytes = e.bytes;
        p->checksum = e.checksum;
        p->label = e.label;
        p->width = e.width;
        p->height = e.height;
        if (w->advise)
            tc_shard_advise(shard, p->offset, p->bytes);
    }
    tc_handles_release(w->handles, sorted[0].shard);
    return status;
}

/* Fill a window that the caller has claimed. */
static void fill(const tc_windows *w, window *x)
{
    const tc_store_order *order = w->order;
    uint64_t first = x->number * w->size;
    uint64_t count = tc_store_order_count(order, w->rank), n = 0;

    for (uint64_t local = first; local < count && n < w->size; local++, n++) {
        tc_located *p = &x->sorted[n];
        *p = (tc_located){ .local = local };
        p->id = tc_store_order_record(order, tc_store_order_at(order, w->rank, local));
        tc_dataset_locate(w->dataset, p->id, &p->shard, &p->i);
    }
    qsort(x->sorted, n, sizeof *x->sorted, by_place);
    for (uint64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && x->sorted[end].shard == x->sorted[i].shard;)
            end++;
        /* Who needs one that is not found tries again, and fails with a message of its own. */
        (void)locate(w, x->sorted + i, end - i);
    }
    for (uint64_t i = 0; i < n; i++)
        x->places[x->sorted[i].local - first] = x->sorted[i];
}

static window *find(tc_windows *w, uint64_t number)
{
    for (int i = 0; i < WINDOWS; i++)
        if (w->window[i].number == number)
            return &w->window[i];
    return NULL;
}

/* The window that was not used for the longest time; NULL: all are being filled. */
static window *find_victim(tc_windows *w)
{
    window *best = NULL;

    for (int i = 0; i < WINDOWS; i++) {
        window *x = &w->window[i];
        if (x->number == UINT64_MAX)
            return x;
        if (x->ready && (best == NULL || x->used < best->used))
            best = x;
    }
    return best;
}

/* Claim and fill a window.  Called and left with the lock, which is open in between. */
static void claim(tc_windows *w, window *x, uint64_t number)
{
    x->number = number;
    x->ready = false;
    x->used = ++w->clock;
    pthread_mutex_unlock(&w->lock);
    fill(w, x);
    pthread_mutex_lock(&w->lock);
    x->ready = true;
    pthread_cond_broadcast(&w->change);
}

tc_status tc_windows_find(tc_windows *w, uint64_t local, tc_located *located_p)
{
    uint64_t number = local / w->size;
    uint64_t last = (tc_store_order_count(w->order, w->rank) - 1) / w->size;
    tc_located located;
    window *x;

    pthread_mutex_lock(&w->lock);
    while ((x = find(w, number)) == NULL || !x->ready) {
        window *victim = x == NULL ? find_victim(w) : NULL;
        if (victim != NULL)
            claim(w, victim, number);
        else
            pthread_cond_wait(&w->change, &w->lock);
    }
    x->used = ++w->clock;
    located = x->places[local % w->size];
    window *victim = number < last && find(w, number + 1) == NULL ? find_victim(w) : NULL;
    if (victim != NULL && victim != x)
        claim(w, victim, number + 1);
    pthread_mutex_unlock(&w->lock);
    tc_status status = located.bytes > 0 ? TC_OK : locate(w, &located, 1);
    if (status == TC_OK)
        *located_p = located;
    return status;
}
