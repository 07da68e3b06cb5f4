/*
 * Records read from the shards as they are needed: for sets larger than the memory.
 *
 * A rank knows which records it will be asked for, so it looks ahead: the records of the next
 * positions (a window) are located in the order in which they lie on the disk, and the kernel is
 * told to read them.  Nothing of the set is kept but a few windows of index entries.
 */
#include <config.h>

#include "store/store_impl.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#define STEPS   4 /* of a rank, in a window */
#define LEAST   64
#define MOST    8192
#define WINDOWS 3 /* at hand, ahead, and one for who is late */

typedef struct {
    uint64_t id, local;
    uint32_t shard;
    int32_t label;
    uint64_t i; /* in the shard */
    uint64_t offset, bytes, checksum;
    uint32_t width, height;
} place;

typedef struct {
    uint64_t number; /* places local / size; UINT64_MAX: none */
    bool ready;      /* else a thread is filling it */
    uint64_t used;   /* time of the last use */
    place *places;   /* (size) by local */
    place *sorted;   /* (size) scratch of who fills it */
} window;

struct tc_windows {
    pthread_mutex_t lock; /* of numbers, states and clock */
    pthread_cond_t change;
    uint64_t size, clock;
    window window[WINDOWS];
};

static tc_status create_windows(tc_store *store)
{
    uint64_t size = STEPS * store->order.block;
    struct tc_windows *w = NULL;

    tc_status status = tc_alloc(1, sizeof *w, "windows of the store", &w);
    if (status != TC_OK)
        return status;
    store->windows = w;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->change, NULL);
    w->size = size < LEAST ? LEAST : size > MOST ? MOST : size;
    for (int i = 0; status == TC_OK && i < WINDOWS; i++) {
        window *x = &w->window[i];
        x->number = UINT64_MAX;
        status = tc_alloc((int64_t)w->size, sizeof *x->places, "records ahead", &x->places);
        if (status == TC_OK)
            status = tc_alloc((int64_t)w->size, sizeof *x->sorted, "records ahead", &x->sorted);
    }
    return status;
}

/* Read and check the index of every shard of this rank's share: together the group's ranks see all
 * of them, and later an entry can be believed. */
static tc_status check_share(const tc_store *store)
{
    const tc_dataset *dataset = store->dataset;
    uint32_t n = dataset->n_shards, ranks = (uint32_t)tc_comm_size(store->group);
    uint32_t rank = (uint32_t)tc_comm_rank(store->group);
    tc_status status = TC_OK;

    for (uint32_t s = rank; status == TC_OK && s < n; s += ranks) {
        tc_shard *shard = NULL;
        status = tc_dataset_open_shard(dataset, s, &shard);
        tc_shard_close(shard);
    }
    return status;
}

static tc_status shards_open(tc_store *store, const tc_store_share *share)
{
    (void)share;
    tc_comm_phase(store->world, "checking the shards", 600.0);
    tc_status status = check_share(store);
    if (status == TC_OK)
        status = create_windows(store);
    return tc_comm_agree(store->world, status);
}

static tc_status shards_begin_epoch(tc_store *store)
{
    for (int i = 0; i < WINDOWS; i++) /* nothing is borrowed, so nobody looks */
        store->windows->window[i].number = UINT64_MAX;
    return TC_OK;
}

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;

    if (x->shard != y->shard)
        return x->shard < y->shard ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

/* Read the entries of sorted[0..n), which all lie in one shard, and announce their bytes. */
static tc_status locate(tc_store *store, place *sorted, uint64_t n)
{
    const tc_shard *shard;
    tc_shard_entry e;

    tc_status status = tc_handles_borrow(store->handles, sorted[0].shard, &shard);
    if (status != TC_OK)
        return status;
    for (uint64_t i = 0; status == TC_OK && i < n; i++) {
        place *p = &sorted[i];
        status = tc_shard_fetch_entry(shard, p->i, &e, NULL, 0);
        if (status != TC_OK)
            break;
        p->offset = e.offset;
        p->bytes = e.bytes;
        p->checksum = e.checksum;
        p->label = e.label;
        p->width = e.width;
        p->height = e.height;
        tc_shard_advise(shard, p->offset, p->bytes);
    }
    tc_handles_release(store->handles, sorted[0].shard);
    return status;
}

/* Fill a window that the caller has claimed. */
static tc_status fill(tc_store *store, window *x)
{
    const tc_store_order *order = &store->order;
    int rank = tc_comm_rank(store->group);
    uint64_t size = store->windows->size, first = x->number * size;
    uint64_t count = tc_store_order_count(order, rank), n = 0;
    tc_status status = TC_OK;

    for (uint64_t local = first; local < count && n < size; local++, n++) {
        place *p = &x->sorted[n];
        p->local = local;
        p->id = tc_store_order_record(order, tc_store_order_at(order, rank, local));
        tc_dataset_locate(store->dataset, p->id, &p->shard, &p->i);
    }
    qsort(x->sorted, n, sizeof *x->sorted, by_place);
    for (uint64_t i = 0, end; status == TC_OK && i < n; i = end) {
        for (end = i + 1; end < n && x->sorted[end].shard == x->sorted[i].shard;)
            end++;
        status = locate(store, x->sorted + i, end - i);
    }
    for (uint64_t i = 0; status == TC_OK && i < n; i++)
        x->places[x->sorted[i].local - first] = x->sorted[i];
    return status;
}

static window *find(struct tc_windows *w, uint64_t number)
{
    for (int i = 0; i < WINDOWS; i++)
        if (w->window[i].number == number)
            return &w->window[i];
    return NULL;
}

/* The window that was not used for the longest time; NULL: all are being filled. */
static window *find_victim(struct tc_windows *w)
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
static tc_status claim(tc_store *store, window *x, uint64_t number)
{
    struct tc_windows *w = store->windows;

    x->number = number;
    x->ready = false;
    x->used = ++w->clock;
    pthread_mutex_unlock(&w->lock);
    tc_status status = fill(store, x);
    pthread_mutex_lock(&w->lock);
    x->ready = true;
    if (status != TC_OK)
        x->number = UINT64_MAX; /* who needs it tries again, and fails with a message of its own */
    pthread_cond_broadcast(&w->change);
    return status;
}

/* Copy the place of a position held here; fill its window, and the next one, where needed. */
static tc_status find_place(tc_store *store, uint64_t local, place *place_p)
{
    struct tc_windows *w = store->windows;
    uint64_t number = local / w->size;
    uint64_t last = (tc_store_order_count(&store->order, tc_comm_rank(store->group)) - 1) / w->size;
    tc_status status = TC_OK;
    window *x;

    pthread_mutex_lock(&w->lock);
    while (status == TC_OK && ((x = find(w, number)) == NULL || !x->ready)) {
        window *victim = x == NULL ? find_victim(w) : NULL;
        if (victim != NULL)
            status = claim(store, victim, number);
        else
            pthread_cond_wait(&w->change, &w->lock);
    }
    if (status == TC_OK) {
        x->used = ++w->clock;
        *place_p = x->places[local % w->size];
        window *victim = number < last && find(w, number + 1) == NULL ? find_victim(w) : NULL;
        if (victim != NULL && victim != x)
            (void)claim(store, victim, number + 1); /* its own users hear of a failure */
    }
    pthread_mutex_unlock(&w->lock);
    return status;
}

static tc_status shards_borrow(tc_store *store, uint64_t pos, uint64_t id, tc_buffer *scratch,
                               tc_record *rec_p)
{
    const tc_shard *shard;
    place p;

    tc_status status = find_place(store, tc_store_order_local(&store->order, pos), &p);
    if (status == TC_OK)
        status = tc_buffer_reserve(scratch, (size_t)p.bytes);
    if (status == TC_OK)
        status = tc_handles_borrow(store->handles, p.shard, &shard);
    if (status != TC_OK)
        return status;
    status = tc_shard_read_range(shard, p.offset, scratch->data, (size_t)p.bytes);
    tc_handles_release(store->handles, p.shard);
    if (status == TC_OK && XXH3_64bits(scratch->data, (size_t)p.bytes) != p.checksum) {
        char name[256];
        (void)tc_store_name(store, id, name, sizeof name);
        status = tc_fail(TC_FORMAT,
                         "%s/%05u.shard: record %llu (%s): its checksum is wrong: damaged; copy "
                         "the shard again or pack again",
                         store->dataset->path, p.shard, (unsigned long long)p.i, name);
    }
    if (status == TC_OK)
        *rec_p = (tc_record){ .data = scratch->data,
                              .bytes = p.bytes,
                              .id = id,
                              .label = p.label,
                              .width = p.width,
                              .height = p.height };
    return status;
}

static void shards_describe(tc_store *store)
{
    snprintf(store->choices, sizeof store->choices,
             "shards, %llu records read from %u shards as needed, %llu ahead",
             (unsigned long long)store->dataset->records, store->dataset->n_shards,
             (unsigned long long)store->windows->size);
}

static void shards_close(tc_store *store)
{
    struct tc_windows *w = store->windows;

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

const tc_store_kind tc_store_shards_kind = {
    .name = "shards",
    .open = shards_open,
    .begin_epoch = shards_begin_epoch,
    .borrow = shards_borrow,
    .describe = shards_describe,
    .close = shards_close,
};
