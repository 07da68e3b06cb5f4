/* The baseline is honest: one open and one close per image and epoch, nothing kept. */
#include <config.h>

#include "store/store.h"

#include "../tap.h"
#include "comm/comm.h"
#include "records.h"

#include <pthread.h>
#include <sys/inotify.h>

#define RECORDS 90
#define EPOCHS  4
#define THREADS 3

static char dir[64];

static bool write_files(void)
{
    tc_buffer data = { 0 };
    char path[256];
    bool ok = true;

    for (int i = 0; i < 3 && ok; i++) {
        snprintf(path, sizeof path, "%s/train/files%s", dir,
                 i == 0   ? ""
                 : i == 1 ? "/odd"
                          : "/even");
        ok = mkdir(path, 0777) == 0;
    }
    for (uint64_t id = 0; ok && id < RECORDS; id++) {
        snprintf(path, sizeof path, "%s/train/files/%s/%llu.jpg", dir, id % 2 ? "odd" : "even",
                 (unsigned long long)id);
        record_fill(id, &data);
        FILE *f = fopen(path, "wb");
        ok = f != NULL && fwrite(data.data, data.bytes, 1, f) == 1;
        ok = f != NULL && fclose(f) == 0 && ok;
    }
    tc_buffer_free(&data);
    return ok;
}

typedef struct {
    tc_store *store;
    uint64_t first;
    int wrong;
} reader;

/* Every third position of the epoch, as one of several loader threads. */
static void *read_some(void *arg)
{
    reader *r = arg;
    tc_buffer scratch = { 0 }, want = { 0 };
    tc_record rec;

    for (uint64_t p = r->first; p < RECORDS; p += THREADS) {
        if (tc_store_borrow(r->store, p, &scratch, &rec) != TC_OK) {
            r->wrong++;
            continue;
        }
        record_fill(rec.id, &want);
        r->wrong += rec.bytes != want.bytes || memcmp(rec.data, want.data, want.bytes) != 0;
    }
    tc_buffer_free(&scratch);
    tc_buffer_free(&want);
    return NULL;
}

static int read_epoch(tc_store *store)
{
    pthread_t thread[THREADS];
    reader r[THREADS];
    int wrong = 0;

    for (uint64_t t = 0; t < THREADS; t++) {
        r[t] = (reader){ .store = store, .first = t };
        pthread_create(&thread[t], NULL, read_some, &r[t]);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(thread[t], NULL);
        wrong += r[t].wrong;
    }
    return wrong;
}

/* Take the events that have come: opens and closes of each picture. */
static bool count_events(int fd, int *opens, int *closes)
{
    static char buffer[1 << 20] __attribute__((aligned(8)));
    ssize_t n = read(fd, buffer, sizeof buffer);
    bool ok = n > 0;

    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *e = (const struct inotify_event *)(buffer + at);
        int id = e->len > 0 ? atoi(e->name) : -1;
        if (e->mask & IN_Q_OVERFLOW || id < 0 || id >= RECORDS)
            ok = ok && (e->mask & IN_ISDIR) != 0;
        else if (e->mask & IN_OPEN)
            opens[id]++;
        else
            closes[id]++;
        at += (ssize_t)(sizeof *e + e->len);
    }
    return ok;
}

static int watch(void)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    char path[256];

    for (int i = 0; fd >= 0 && i < 2; i++) {
        snprintf(path, sizeof path, "%s/train/files/%s", dir, i ? "odd" : "even");
        if (inotify_add_watch(fd, path, IN_OPEN | IN_CLOSE) < 0) {
            close(fd);
            fd = -1;
        }
    }
    return fd;
}

static void epochs(tc_store *store)
{
    int fd = watch();

    if (fd < 0) {
        tap_skip("one open and one close per image", "no inotify here");
        return;
    }
    for (uint64_t e = 0; e < EPOCHS; e++) {
        int opens[RECORDS] = { 0 }, closes[RECORDS] = { 0 }, odd = 0;
        tc_status status = tc_store_begin_epoch(store, e);
        int wrong = status == TC_OK ? read_epoch(store) : 1;
        bool heard = count_events(fd, opens, closes);
        for (int id = 0; id < RECORDS; id++)
            odd += opens[id] != 1 || closes[id] != 1;
        tap_ok(heard && wrong == 0 && odd == 0,
               "epoch %llu, %d threads: each of %d files is opened once and closed once",
               (unsigned long long)e, THREADS, RECORDS);
    }
    close(fd);
}

int main(int argc, char **argv)
{
    const uint64_t counts[] = { 40, 50 };
    tc_comm *comm = NULL;
    tc_store *store = NULL;

    if (tc_comm_init(&argc, &argv, &comm) != TC_OK)
        return 1;
    snprintf(dir, sizeof dir, "t-files.XXXXXX");
    if (mkdtemp(dir) == NULL)
        return 1;
    const tc_store_options o = { .kind = "files",
                                 .dir = dir,
                                 .split = "train",
                                 .groups = 1,
                                 .devices = 1,
                                 .batch = 4,
                                 .shuffle = true };
    if (tap_ok(set_write(dir, "train", counts, 2, record_make) == TC_OK && write_files() &&
                   tc_store_open(comm, &o, 0, &store) == TC_OK,
               "a store of files"))
        epochs(store);
    tc_store_close(store);
    set_remove(dir);
    tap_done();
    return tc_exit(comm, TC_OK);
}
