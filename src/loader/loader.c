#include <config.h>

#include "loader/loader.h"

#include "base/clock.h"
#include "base/log.h"
#include "loader/picture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define MAX_GRAIN 8  /* pictures a thread takes at once: a lock a few hundred microseconds */
#define MAX_NAMED 64 /* undecodable records that are named; all are counted */
#define TEXT      1024

/* One entry of the ring. */
typedef struct {
    bool busy;      /* being filled, full, or borrowed */
    int64_t step;   /* that it holds */
    int64_t filled; /* pictures done, padding and failures included */
    int64_t valid;
    uint8_t *images; /* (b,size,size,3) */
    int32_t *labels; /* (b) */
    uint64_t *ids;   /* (b) */
    tc_status status;
    char text[TEXT]; /* explains status: error texts do not cross threads by themselves */
} slice;

typedef struct {
    pthread_t thread;
    struct tc_loader *loader;
    tc_loader_worker worker;
} thread;

struct tc_loader {
    tc_loader_options o;
    int64_t resize, grain, picture; /* bytes of one picture */
    uint64_t records, global;       /* N and B */
    slice *ring;                    /* (depth,devices) */
    tc_arena memory;                /* of the ring */
    thread *threads;
    int started; /* threads that run */

    pthread_mutex_t lock; /* of everything below */
    pthread_cond_t work;  /* there may be something to take, or an end */
    pthread_cond_t ready; /* a slice is full */
    pthread_cond_t idle;  /* no thread works, nobody asks */
    bool running, quit;
    int active; /* threads at work */
    int asking; /* callers inside tc_loader_get(); they use the lock and the ring */
    uint64_t epoch;
    int64_t first, steps;
    int64_t step, device, sample; /* next to take */
    int64_t *asked;               /* (devices) step that get expects */
    uint64_t named[MAX_NAMED];
    int n_named;

    atomic_int_least64_t replaced;
    char choices[160];
};

/* A run of pictures of one slice. */
typedef struct {
    slice *s;
    int64_t device, first, count;
} task;

static slice *slice_of(const tc_loader *loader, int64_t step, int64_t device)
{
    return &loader->ring[step % loader->o.depth * loader->o.devices + device];
}

/* Take the next pictures; false where there are none, or their slice is still in use. */
static bool take(tc_loader *loader, task *t)
{
    const tc_loader_options *o = &loader->o;
    slice *s = slice_of(loader, loader->step, loader->device);

    if (!loader->running || loader->step >= loader->steps || (loader->sample == 0 && s->busy))
        return false;
    if (loader->sample == 0) {
        s->busy = true;
        s->step = loader->step;
        s->filled = s->valid = 0;
        s->status = TC_OK;
    }
    int64_t left = o->batch - loader->sample;
    *t = (task){ .s = s,
                 .device = loader->device,
                 .first = loader->sample,
                 .count = left < loader->grain ? left : loader->grain };
    loader->sample += t->count;
    if (loader->sample == o->batch) {
        loader->sample = 0;
        if (++loader->device == o->devices) {
            loader->device = 0;
            loader->step++;
        }
    }
    return true;
}

/* Count a picture that cannot be decoded, and name it the first time. */
static void replace(tc_loader *loader, const tc_record *record, uint8_t *out)
{
    char name_of[256] = "", why[TEXT];
    bool known = false;

    snprintf(why, sizeof why, "%s", tc_error_detail()); /* before the name is looked up */
    tc_loader_mean_picture(&loader->o, out);
    atomic_fetch_add(&loader->replaced, 1);
    pthread_mutex_lock(&loader->lock);
    for (int i = 0; i < loader->n_named; i++)
        known = known || loader->named[i] == record->id;
    bool name = !known && loader->n_named < MAX_NAMED;
    if (name)
        loader->named[loader->n_named++] = record->id;
    bool last = name && loader->n_named == MAX_NAMED;
    pthread_mutex_unlock(&loader->lock);
    if (name) {
        (void)tc_store_name(loader->o.store, record->id, name_of, sizeof name_of);
        tc_log(TC_LOG_WARN, "loader",
               "record %llu (%s) cannot be decoded and is replaced by the mean colour: %s%s",
               (unsigned long long)record->id, name_of, why,
               last ? "; further ones are counted only" : "");
    }
}

/* Fill picture i of a slice; *valid: whether it is none of the padding. */
static tc_status fill(tc_loader *loader, tc_loader_worker *worker, const task *t, int64_t i,
                      bool *valid)
{
    const tc_loader_options *o = &loader->o;
    uint64_t device = (uint64_t)o->rank * (uint64_t)o->devices + (uint64_t)t->device;
    uint64_t pos =
        (uint64_t)t->s->step * loader->global + device * (uint64_t)o->batch + (uint64_t)i;
    uint8_t *out = t->s->images + i * loader->picture;
    tc_record record;

    *valid = pos < loader->records;
    t->s->labels[i] = -1;
    t->s->ids[i] = UINT64_MAX;
    if (!*valid) {
        memset(out, 0, (size_t)loader->picture);
        return TC_OK;
    }
    tc_status status = tc_store_borrow(o->store, pos, &worker->scratch, &record);
    if (status != TC_OK)
        return status;
    t->s->labels[i] = record.label;
    t->s->ids[i] = record.id;
    status = tc_loader_picture(worker, o, loader->resize, loader->epoch, &record, out);
    if (status == TC_FORMAT) {
        replace(loader, &record, out);
        status = TC_OK;
    }
    return status;
}

static void *run(void *argument)
{
    thread *self = argument;
    tc_loader *loader = self->loader;
    task t;

    pthread_mutex_lock(&loader->lock);
    for (;;) {
        while (!loader->quit && !take(loader, &t))
            pthread_cond_wait(&loader->work, &loader->lock);
        if (loader->quit)
            break;
        loader->active++;
        pthread_mutex_unlock(&loader->lock);

        tc_status failed = TC_OK;
        int64_t valid = 0;
        for (int64_t i = 0; failed == TC_OK && i < t.count; i++) {
            bool is = false;
            failed = fill(loader, &self->worker, &t, t.first + i, &is);
            valid += is;
        }

        pthread_mutex_lock(&loader->lock);
        loader->active--;
        if (failed != TC_OK && t.s->status == TC_OK) {
            t.s->status = failed;
            snprintf(t.s->text, sizeof t.s->text, "%s", tc_error_detail());
        }
        t.s->valid += valid;
        t.s->filled += t.count;
        if (t.s->filled == loader->o.batch)
            pthread_cond_broadcast(&loader->ready);
        if (loader->active == 0 && !loader->running)
            pthread_cond_broadcast(&loader->idle);
    }
    pthread_mutex_unlock(&loader->lock);
    return NULL;
}

static tc_status check_options(const tc_loader_options *o, int64_t resize)
{
    if (o->devices < 1 || o->batch < 1 || o->size < 1 || o->threads < 1 || o->depth < 1 ||
        o->ranks < 1 || o->rank < 0 || o->rank >= o->ranks)
        return tc_fail(TC_INVAL,
                       "a loader for rank %d of %d with %d devices of %lld pictures of %lld x "
                       "%lld, %d threads, %d steps ahead",
                       o->rank, o->ranks, o->devices, (long long)o->batch, (long long)o->size,
                       (long long)o->size, o->threads, o->depth);
    if (resize < o->size)
        return tc_fail(TC_INVAL, "a resize to %lld leaves no %lld x %lld to crop",
                       (long long)resize, (long long)o->size, (long long)o->size);
    return TC_OK;
}

/* Cut the ring out of one arena; called twice, to plan and to take. */
static void cut_ring(tc_loader *loader)
{
    const tc_loader_options *o = &loader->o;
    int64_t n = (int64_t)o->depth * o->devices;

    loader->ring = tc_arena_take(&loader->memory, n, sizeof *loader->ring);
    loader->asked = tc_arena_take(&loader->memory, o->devices, sizeof *loader->asked);
    for (int64_t i = 0; i < n; i++) {
        slice s = { 0 };
        s.images = tc_arena_take(&loader->memory, o->batch, (size_t)loader->picture);
        s.labels = tc_arena_take(&loader->memory, o->batch, sizeof *s.labels);
        s.ids = tc_arena_take(&loader->memory, o->batch, sizeof *s.ids);
        if (loader->ring != NULL)
            loader->ring[i] = s;
    }
}

static tc_status take_memory(tc_loader *loader)
{
    const tc_loader_options *o = &loader->o;
    size_t bytes;

    tc_status status = tc_size_mul(o->size, (size_t)o->size * 3, 0, &bytes);
    if (status != TC_OK)
        return status;
    loader->picture = (int64_t)bytes;
    cut_ring(loader);
    status = tc_arena_alloc(&loader->memory, "the loader's pictures");
    if (status != TC_OK)
        return status;
    cut_ring(loader);
    return tc_alloc(o->threads, sizeof *loader->threads, "loader threads", &loader->threads);
}

static tc_status start_threads(tc_loader *loader)
{
    tc_status status = TC_OK;

    for (int i = 0; status == TC_OK && i < loader->o.threads; i++) {
        thread *t = &loader->threads[i];
        t->loader = loader;
        status = tc_loader_worker_create(&loader->o, &t->worker);
        if (status != TC_OK)
            break;
        int rc = pthread_create(&t->thread, NULL, run, t);
        if (rc != 0)
            status = tc_fail(TC_NOMEM, "loader thread %d of %d: %s", i + 1, loader->o.threads,
                             strerror(rc));
        loader->started += rc == 0;
    }
    return status;
}

static void describe(tc_loader *loader)
{
    static const char *const names[] = { "none", "pad and crop", "random resized crop" };
    const tc_loader_options *o = &loader->o;

    snprintf(loader->choices, sizeof loader->choices,
             "augmentation %s, %lld x %lld (shorter side %lld), antialiased triangle filter (%s), "
             "%d threads, %d steps ahead",
             names[o->augment], (long long)o->size, (long long)o->size, (long long)loader->resize,
             tc_resize_kernel_name(0), o->threads, o->depth);
}

tc_status tc_loader_create(const tc_loader_options *options, tc_loader **loader_p)
{
    tc_loader *loader;
    int64_t size = options->size, resize = options->resize;

    if (resize <= 0)
        resize = size >= 64 ? size * 256 / 224 : size;
    tc_status status = check_options(options, resize);
    if (status == TC_OK)
        status = tc_alloc(1, sizeof *loader, "loader", &loader);
    if (status != TC_OK)
        return status;
    loader->o = *options;
    loader->resize = resize;
    loader->records = tc_store_records(options->store);
    loader->global =
        (uint64_t)options->batch * (uint64_t)options->devices * (uint64_t)options->ranks;
    loader->grain = options->batch / (4 * (int64_t)options->threads);
    loader->grain = loader->grain < 1 ? 1 : loader->grain > MAX_GRAIN ? MAX_GRAIN : loader->grain;
    pthread_mutex_init(&loader->lock, NULL);
    pthread_cond_init(&loader->work, NULL);
    pthread_cond_init(&loader->ready, NULL);
    pthread_cond_init(&loader->idle, NULL);
    describe(loader);
    status = take_memory(loader);
    if (status == TC_OK)
        status = start_threads(loader);
    if (status != TC_OK) {
        tc_loader_destroy(loader);
        return status;
    }
    *loader_p = loader;
    return TC_OK;
}

void tc_loader_destroy(tc_loader *loader)
{
    if (loader == NULL)
        return;
    tc_loader_end(loader);
    pthread_mutex_lock(&loader->lock);
    loader->quit = true;
    pthread_cond_broadcast(&loader->work);
    pthread_mutex_unlock(&loader->lock);
    for (int i = 0; i < loader->started; i++)
        pthread_join(loader->threads[i].thread, NULL);
    for (int i = 0; loader->threads != NULL && i < loader->o.threads; i++)
        tc_loader_worker_destroy(&loader->threads[i].worker);
    pthread_cond_destroy(&loader->work);
    pthread_cond_destroy(&loader->ready);
    pthread_cond_destroy(&loader->idle);
    pthread_mutex_destroy(&loader->lock);
    tc_free(loader->threads);
    tc_arena_free(&loader->memory);
    tc_free(loader);
}

tc_status tc_loader_begin(tc_loader *loader, uint64_t epoch, int64_t first, int64_t steps)
{
    if (first < 0 || steps < first)
        return tc_fail(TC_INVAL, "steps %lld to %lld of an epoch", (long long)first,
                       (long long)steps);
    tc_loader_end(loader); /* whatever still ran */
    pthread_mutex_lock(&loader->lock);
    for (int64_t i = 0; i < (int64_t)loader->o.depth * loader->o.devices; i++)
        loader->ring[i].busy = false;
    for (int d = 0; d < loader->o.devices; d++)
        loader->asked[d] = first;
    loader->epoch = epoch;
    loader->first = loader->step = first;
    loader->steps = steps;
    loader->device = loader->sample = 0;
    loader->running = true;
    atomic_store(&loader->replaced, 0);
    pthread_cond_broadcast(&loader->work);
    pthread_mutex_unlock(&loader->lock);
    return TC_OK;
}

tc_status tc_loader_get(tc_loader *loader, int64_t step, int device, tc_loader_slice *slice_p,
                        double *wait_p)
{
    tc_status status = TC_OK;
    double start = tc_now();

    if (device < 0 || device >= loader->o.devices)
        return tc_fail(TC_INVAL, "device %d of %d", device, loader->o.devices);
    pthread_mutex_lock(&loader->lock);
    loader->asking++;
    slice *s = slice_of(loader, step < 0 ? 0 : step, device);
    if (step != loader->asked[device] || step >= loader->steps)
        status = tc_fail(TC_INVAL, "step %lld of device %d is asked for, %lld of %lld is next",
                         (long long)step, device, (long long)loader->asked[device],
                         (long long)loader->steps);
    while (status == TC_OK && !(s->busy && s->step == step && s->filled == loader->o.batch)) {
        if (!loader->running)
            status = tc_fail(TC_STOPPED, "the loader was ended before step %lld", (long long)step);
        else
            pthread_cond_wait(&loader->ready, &loader->lock);
    }
    if (status == TC_OK) {
        loader->asked[device]++;
        if (s->status != TC_OK) {
            status = tc_fail(s->status, "%s", s->text);
            s->busy = false; /* not lent, so given back here: later steps need its place */
            pthread_cond_broadcast(&loader->work);
        }
    }
    if (status == TC_OK)
        *slice_p = (tc_loader_slice){ .count = loader->o.batch,
                                      .valid = s->valid,
                                      .images = s->images,
                                      .labels = s->labels,
                                      .ids = s->ids };
    loader->asking--;
    if (loader->asking == 0 && !loader->running)
        pthread_cond_broadcast(&loader->idle);
    pthread_mutex_unlock(&loader->lock);
    if (wait_p != NULL)
        *wait_p = tc_now() - start;
    if (status == TC_OK && loader->o.observe != NULL)
        loader->o.observe(loader->o.observe_arg, step, device, slice_p);
    return status;
}

void tc_loader_release(tc_loader *loader, int64_t step, int device)
{
    pthread_mutex_lock(&loader->lock);
    slice *s = slice_of(loader, step, device);
    if (s->step == step)
        s->busy = false;
    pthread_cond_broadcast(&loader->work);
    pthread_mutex_unlock(&loader->lock);
}

void tc_loader_end(tc_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->running = false;
    pthread_cond_broadcast(&loader->ready);
    /* Who waits for a slice leaves first: it must not find the next epoch, or the lock gone. */
    while (loader->active > 0 || loader->asking > 0)
        pthread_cond_wait(&loader->idle, &loader->lock);
    pthread_mutex_unlock(&loader->lock);
}

int64_t tc_loader_replaced(const tc_loader *loader)
{
    return atomic_load(&loader->replaced);
}

const char *tc_loader_choices(const tc_loader *loader)
{
    return loader->choices;
}
