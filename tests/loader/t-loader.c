/* Slices: the right records, the same pictures for any threads and depth, padding, ends, failures.
 */
#include <config.h>

#include "loader/loader.h"

#include "../tap-mpi.h"
#include "comm/comm_mpi.h"
#include "pictures.h"

#include <pthread.h>
#include <stdatomic.h>

#define RECORDS 41
#define DEVICES 2
#define BATCH   3
#define SIZE    32

static tc_comm *world;
static int rank, ranks;
static char dir[64];

static tc_store *open_store(const char *kind, bool shuffle)
{
    tc_store_options o = { .kind = kind,
                           .dir = dir,
                           .split = "train",
                           .groups = 1,
                           .devices = DEVICES,
                           .batch = BATCH,
                           .shuffle = shuffle,
                           .seed = 5 };
    tc_store *store = NULL;

    if (tc_store_open(world, &o, 0, &store) != TC_OK)
        fprintf(stderr, "# %s\n", tc_error_detail());
    return store;
}

static tc_loader_options options(tc_store *store, tc_augment augment, int threads, int depth)
{
    return (tc_loader_options){ .store = store,
                                .rank = rank,
                                .ranks = ranks,
                                .devices = DEVICES,
                                .batch = BATCH,
                                .size = SIZE,
                                .augment = augment,
                                .mean = { 0.5, 0.25, 1.0 },
                                .seed = 9,
                                .threads = threads,
                                .depth = depth };
}

static int64_t steps_of_epoch(void)
{
    int64_t global = (int64_t)BATCH * DEVICES * ranks;

    return (RECORDS + global - 1) / global; /* the last one padded */
}

/* All of an epoch from step `first` on, one slice after the other. */
typedef struct {
    int64_t slices, valid, replaced;
    uint8_t *images; /* (slices,BATCH,SIZE,SIZE,3) */
    int32_t *labels;
    uint64_t *ids;
} epoch_data;

#define PICTURE (SIZE * SIZE * 3)

static void free_epoch(epoch_data *e)
{
    free(e->images);
    free(e->labels);
    free(e->ids);
}

static tc_status read_epoch(tc_loader *loader, uint64_t epoch, int64_t first, epoch_data *e)
{
    int64_t steps = steps_of_epoch(), n = (steps - first) * DEVICES * BATCH;
    tc_status status = tc_loader_begin(loader, epoch, first, steps);

    *e = (epoch_data){ .images = malloc((size_t)n * PICTURE + 1),
                       .labels = malloc((size_t)n * sizeof *e->labels + 1),
                       .ids = malloc((size_t)n * sizeof *e->ids + 1) };
    for (int64_t step = first; status == TC_OK && step < steps; step++)
        for (int d = 0; status == TC_OK && d < DEVICES; d++) {
            tc_loader_slice s;
            double wait = -1.0;
            status = tc_loader_get(loader, step, d, &s, &wait);
            if (status != TC_OK || s.count != BATCH || s.offset != NULL || wait < 0.0)
                return status == TC_OK ? TC_INVAL : status;
            int64_t at = e->slices++ * BATCH;
            memcpy(e->images + at * PICTURE, s.images, BATCH * PICTURE);
            memcpy(e->labels + at, s.labels, BATCH * sizeof *s.labels);
            memcpy(e->ids + at, s.ids, BATCH * sizeof *s.ids);
            e->valid += s.valid;
            tc_loader_release(loader, step, d);
        }
    e->replaced = tc_loader_replaced(loader);
    tc_loader_end(loader);
    return status;
}

static bool same(const epoch_data *a, const epoch_data *b)
{
    size_t n = (size_t)(a->slices * BATCH);

    return a->slices == b->slices && memcmp(a->images, b->images, n * PICTURE) == 0 &&
           memcmp(a->labels, b->labels, n * sizeof *a->labels) == 0 &&
           memcmp(a->ids, b->ids, n * sizeof *a->ids) == 0;
}

/* Numbers, labels, padding and the replaced picture of one epoch against the rule of loader.h. */
static bool right_records(const epoch_data *e, uint64_t epoch)
{
    static const uint8_t mean[3] = { 128, 64, 255 };
    static const uint8_t black[PICTURE];
    tc_permutation order = tc_permutation_make(5, TC_STREAM_ORDER, epoch, RECORDS);
    int64_t global = (int64_t)BATCH * DEVICES * ranks, wrong = 0, valid = 0, spoilt = 0;

    for (int64_t i = 0; i < e->slices * BATCH; i++) {
        int64_t step = i / (DEVICES * BATCH), device = rank * DEVICES + i / BATCH % DEVICES;
        int64_t pos = step * global + device * BATCH + i % BATCH;
        const uint8_t *image = e->images + i * PICTURE;
        if (pos >= RECORDS) {
            wrong +=
                e->ids[i] != UINT64_MAX || e->labels[i] != -1 || memcmp(image, black, PICTURE) != 0;
            continue;
        }
        valid++;
        uint64_t id = (uint64_t)tc_permutation_at(&order, pos);
        wrong += e->ids[i] != id || e->labels[i] != (int32_t)(id % 2);
        bool plain = true;
        for (int j = 0; j < PICTURE; j++)
            plain = plain && image[j] == mean[j % 3];
        wrong += plain != (id == SPOILT);
        spoilt += id == SPOILT;
    }
    return wrong == 0 && valid == e->valid && spoilt == e->replaced;
}

static void threads_and_depth(tc_store *store, tc_augment augment, const char *name)
{
    static const int variant[][2] = { { 1, 1 }, { 1, 4 }, { 3, 1 }, { 3, 4 } };
    epoch_data first = { 0 }, e;
    tc_loader *loader = NULL;

    for (int v = 0; v < 4; v++) {
        tc_loader_options o = options(store, augment, variant[v][0], variant[v][1]);
        tc_status status = tc_store_begin_epoch(store, 2);
        if (status == TC_OK)
            status = tc_loader_create(&o, &loader);
        if (status == TC_OK)
            status = read_epoch(loader, 2, 0, &e);
        bool ok = status == TC_OK && right_records(&e, 2);
        ok = ok && (v == 0 || same(&first, &e));
        tap_ok_all(ok, "%s, %d threads, depth %d: records, labels, padding, and the same pictures",
                   name, variant[v][0], variant[v][1]);
        if (status != TC_OK) {
            fprintf(stderr, "# %s\n", tc_error_detail());
            tc_loader_destroy(loader);
            return;
        }
        /* Another epoch, and the first again from its second step on. */
        epoch_data other, rest;
        ok = tc_store_begin_epoch(store, 3) == TC_OK && read_epoch(loader, 3, 0, &other) == TC_OK &&
             right_records(&other, 3) && !same(&other, &e) &&
             tc_store_begin_epoch(store, 2) == TC_OK && read_epoch(loader, 2, 1, &rest) == TC_OK &&
             rest.slices == e.slices - DEVICES &&
             memcmp(rest.images, e.images + DEVICES * BATCH * PICTURE,
                    (size_t)rest.slices * BATCH * PICTURE) == 0;
        tap_ok_all(ok, "%s: the next epoch differs; an epoch can begin at a later step", name);
        free_epoch(&other);
        free_epoch(&rest);
        if (v == 0)
            first = e;
        else
            free_epoch(&e);
        tc_loader_destroy(loader);
        loader = NULL;
    }
    free_epoch(&first);
}

typedef struct {
    tc_loader *loader;
    tc_status status;
    atomic_bool inside; /* about to wait */
} waiter;

static void *wait_for_step_1(void *argument)
{
    waiter *w = argument;
    tc_loader_slice s;

    atomic_store(&w->inside, true);
    w->status = tc_loader_get(w->loader, 1, 0, &s, NULL);
    return NULL;
}

/* End and begin, or destroy, at once while a thread waits for a slice that cannot come. */
static bool destroyed_or_begun_again(tc_store *store)
{
    tc_loader_options o = options(store, TC_AUGMENT_PAD, 1, 1);
    bool ok = true;

    for (int i = 0; ok && i < 8; i++) {
        tc_loader *loader = NULL;
        tc_loader_slice s;
        pthread_t thread;
        waiter w = { .status = TC_OK };

        ok = tc_loader_create(&o, &loader) == TC_OK &&
             tc_loader_begin(loader, 4, 0, steps_of_epoch()) == TC_OK &&
             tc_loader_get(loader, 0, 0, &s, NULL) == TC_OK;
        w.loader = loader;
        pthread_create(&thread, NULL, wait_for_step_1, &w);
        while (!atomic_load(&w.inside))
            usleep(100);
        usleep(50000);    /* inside by now, but for a very busy machine */
        if (i % 2 == 0) { /* step 1 of the next epoch comes; it is not the waiter's */
            ok = tc_loader_begin(loader, 4, 0, steps_of_epoch()) == TC_OK && ok;
            for (int d = 0; ok && d < DEVICES; d++) {
                ok = tc_loader_get(loader, 0, d, &s, NULL) == TC_OK;
                tc_loader_release(loader, 0, d);
            }
            ok = ok && tc_loader_get(loader, 1, 0, &s, NULL) == TC_OK;
        }
        tc_loader_destroy(loader);
        pthread_join(thread, NULL);
        ok = ok && w.status == TC_STOPPED;
    }
    return ok;
}

static void ends(tc_store *store)
{
    tc_loader_options o = options(store, TC_AUGMENT_PAD, 2, 1);
    tc_loader *loader = NULL;
    tc_loader_slice s;
    epoch_data e = { 0 };
    pthread_t thread;
    waiter w = { .status = TC_OK };

    bool ok = tc_store_begin_epoch(store, 4) == TC_OK && tc_loader_create(&o, &loader) == TC_OK &&
              tc_loader_begin(loader, 4, 0, steps_of_epoch()) == TC_OK &&
              tc_loader_get(loader, 0, 0, &s, NULL) == TC_OK;
    w.loader = loader;
    ok = ok && tc_loader_get(loader, 0, 0, &s, NULL) == TC_INVAL &&
         tc_loader_get(loader, 1, 1, &s, NULL) == TC_INVAL &&
         tc_loader_get(loader, 0, DEVICES, &s, NULL) == TC_INVAL;
    tap_ok_all(ok, "slices are asked for in order, once");
    /* Step 0 is still borrowed and the ring is one step deep: step 1 cannot come. */
    pthread_create(&thread, NULL, wait_for_step_1, &w);
    usleep(20000);
    tc_loader_end(loader);
    pthread_join(thread, NULL);
    tap_ok_all(w.status == TC_STOPPED, "an end wakes who waits for a slice");
    ok = read_epoch(loader, 4, 0, &e) == TC_OK && right_records(&e, 4);
    tap_ok_all(ok, "after an end in the middle the epoch can begin again");
    free_epoch(&e);
    ok = tc_loader_begin(loader, 4, 0, steps_of_epoch()) == TC_OK;
    tc_loader_destroy(loader); /* while it prepares */
    tap_ok_all(ok, "a loader can be destroyed while it prepares");
    tap_ok_all(destroyed_or_begun_again(store), "who waits for a slice sees neither the next "
                                                "epoch nor a loader that is gone");
}

static void wrong_options(tc_store *store)
{
    tc_loader_options o = options(store, TC_AUGMENT_NONE, 1, 1);
    tc_loader *loader = NULL;

    o.threads = 0;
    bool ok = tc_loader_create(&o, &loader) == TC_INVAL;
    o = options(store, TC_AUGMENT_NONE, 1, 1);
    o.resize = SIZE - 1;
    ok = ok && tc_loader_create(&o, &loader) == TC_INVAL;
    o = options(store, TC_AUGMENT_NONE, 1, 1);
    o.size = INT64_MAX / 4;
    o.resize = o.size;
    ok = ok && tc_loader_create(&o, &loader) == TC_NOMEM;
    tap_ok_all(ok && loader == NULL, "no threads, no room to crop, no memory: refused");
    tc_loader_destroy(NULL);
}

/* The status of a borrow reaches who asks for the slice, with its text. */
static void failed_borrow(void)
{
    char path[256];
    bool ok = true;

    for (uint64_t id = 0; rank == 0 && id < RECORDS; id++) {
        tc_buffer data = { 0 };
        tc_shard_entry entry;
        picture_record(id, &entry, &data);
        snprintf(path, sizeof path, "%s/train/files", dir);
        ok = (mkdir(path, 0777) == 0 || id > 0) && ok;
        snprintf(path, sizeof path, "%s/train/files/p", dir);
        ok = (mkdir(path, 0777) == 0 || id > 0) && ok;
        snprintf(path, sizeof path, "%s/train/files/%s", dir, entry.name);
        FILE *f = id == 20 ? NULL : fopen(path, "wb"); /* 20 is missing */
        ok = ok && (id == 20 || (f && fwrite(data.data, data.bytes, 1, f) == 1));
        if (f != NULL)
            fclose(f);
        tc_buffer_free(&data);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    tc_store *store = open_store("files", true);
    tc_loader_options o = options(store, TC_AUGMENT_PAD, 2, 2);
    tc_loader *loader = NULL;
    epoch_data e = { 0 };
    bool mine = false;

    for (uint64_t p = 0; p < RECORDS; p++)
        mine = mine || (tc_store_id(store, p) == 20 && tc_store_holds(store, p));
    ok = tc_loader_create(&o, &loader) == TC_OK && ok;
    tc_status status = ok ? read_epoch(loader, 0, 0, &e) : TC_INVAL;
    if (mine)
        ok = status == TC_IO && strstr(tc_error_detail(), "p/20.jpg") != NULL;
    else
        ok = status == TC_OK && right_records(&e, 0);
    tap_ok_all(ok, "a file that is missing ends the epoch where it was due, named");
    free_epoch(&e);
    tc_loader_destroy(loader);
    tc_store_close(store);
}

int main(int argc, char **argv)
{
    const uint64_t counts[] = { 20, 21 };
    tc_status status = TC_OK;

    if (tc_comm_init(&argc, &argv, &world) != TC_OK)
        return 1;
    rank = tc_comm_rank(world);
    ranks = tc_comm_size(world);
    snprintf(dir, sizeof dir, "t-loader.XXXXXX");
    if (rank == 0) {
        if (mkdtemp(dir) == NULL)
            status = tc_fail(TC_IO, "no folder");
        if (status == TC_OK)
            status = set_write(dir, "train", counts, 2, picture_record);
    }
    tc_comm_bcast(world, dir, sizeof dir, 0);
    if (tap_ok_all(tc_comm_agree(world, status) == TC_OK, "a data set of pictures is written")) {
        tc_store *store = open_store("memory", true);
        threads_and_depth(store, TC_AUGMENT_PAD, "pad and crop");
        threads_and_depth(store, TC_AUGMENT_RANDOM_RESIZED, "random resized crop");
        ends(store);
        wrong_options(store);
        tc_store_close(store);
        failed_borrow();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        set_remove(dir);
    return tap_done_all();
}
