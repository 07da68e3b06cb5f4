/*
 * What does the data set in the memory of the ranks cost: to load, to shuffle between epochs, in
 * memory and in descriptors?   bench-store --help
 *
 * After every exchange records are drawn at random and held against the checksums of their shards;
 * a wrong one ends the run without a time.  The rate of an exchange stands beside that of memcpy,
 * done by all ranks at once in the same run: between ranks of one host every byte is copied out of
 * its slots, through MPI, and into slots again.
 */
#include <config.h>

#include "store/store_impl.h"

#include "base/clock.h"
#include "comm/comm_mpi.h"

#include <argp.h>
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#ifndef TC_COMMIT
#define TC_COMMIT "unknown"
#endif

enum {
    SAMPLES = 2000, /* records a rank that are checked after each exchange */
    COPIES = 15,    /* of memcpy; the median counts */
};

typedef struct {
    tc_store_options store;
    uint64_t run; /* epochs */
} arguments;

/* What one rank sees of itself. */
typedef struct {
    _Atomic int most; /* descriptors */
    _Atomic bool end;
    pthread_t thread;
} watcher;

static int descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    while (dir != NULL && readdir(dir) != NULL)
        n++;
    if (dir != NULL)
        closedir(dir);
    return n - 3; /* ".", "..", and the folder's own */
}

static void *watch(void *arg)
{
    watcher *w = arg;
    const struct timespec nap = { .tv_nsec = 2000000 };

    while (!w->end) {
        int n = descriptors();
        if (n > w->most)
            w->most = n;
        nanosleep(&nap, NULL);
    }
    return NULL;
}

/* Bytes behind a word in /proc/self/status. */
static double own_memory(const char *word)
{
    FILE *f = fopen("/proc/self/status", "re");
    char line[128];
    double kb = 0.0;

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, word, strlen(word)) == 0)
            kb = strtod(line + strlen(word), NULL);
    if (f != NULL)
        fclose(f);
    return kb * 1024.0;
}

/* Random records of this rank against their shards. */
static tc_status verify(tc_store *store, uint64_t epoch)
{
    tc_rng rng = tc_rng_make(9, TC_STREAM_TEST, epoch, (uint64_t)tc_comm_rank(store->world));
    tc_buffer scratch = { 0 };
    tc_status status = TC_OK;

    for (int i = 0; status == TC_OK && i < SAMPLES && store->held.records > 0; i++) {
        uint64_t local = (uint64_t)tc_rng_below(&rng, (int64_t)store->held.records), at;
        uint64_t pos = tc_store_order_at(&store->order, tc_comm_rank(store->group), local);
        tc_shard_entry entry = { 0 };
        const tc_shard *shard;
        tc_record rec = { 0 };
        uint32_t s;
        status = tc_store_borrow(store, pos, &scratch, &rec);
        if (status != TC_OK)
            break;
        tc_dataset_locate(store->dataset, tc_store_id(store, pos), &s, &at);
        status = tc_handles_borrow(store->handles, s, &shard);
        if (status != TC_OK)
            break;
        status = tc_shard_fetch_entry(shard, at, &entry, NULL, 0);
        tc_handles_release(store->handles, s);
        if (status == TC_OK && (entry.bytes != rec.bytes || entry.label != rec.label ||
                                XXH3_64bits(rec.data, (size_t)rec.bytes) != entry.checksum))
            status = tc_store_damaged(store, rec.id);
    }
    tc_buffer_free(&scratch);
    return tc_comm_agree(store->world, status);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Bytes a second that all ranks together copy, from the buffers of the exchange. */
static tc_status copy_rate(tc_store *store, double *rate_p)
{
    tc_exchange *x = &store->exchange;
    size_t bytes = (size_t)(x->piece * (unsigned)x->ranks);
    double seconds[COPIES], rate;

    for (int i = 0; i < COPIES; i++) {
        tc_status status = tc_comm_barrier(store->world);
        if (status != TC_OK)
            return status;
        double start = tc_now();
        memcpy(x->recv, x->send, bytes);
        seconds[i] = tc_now() - start;
    }
    qsort(seconds, COPIES, sizeof *seconds, by_value);
    rate = (double)bytes / seconds[COPIES / 2];
    tc_status status = tc_comm_sum(store->world, &rate, 1);
    *rate_p = rate;
    return status;
}

/* Borrow all that is here, as a loader does; *seconds_p of the slowest rank. */
static tc_status borrow_all(tc_store *store, double *seconds_p)
{
    int rank = tc_comm_rank(store->group);
    tc_buffer scratch = { 0 };
    tc_status status = tc_comm_barrier(store->world);
    double start = tc_now(), sum = 0.0;
    tc_record rec;

    for (uint64_t i = 0; status == TC_OK && i < store->held.records; i++) {
        status = tc_store_borrow(store, tc_store_order_at(&store->order, rank, i), &scratch, &rec);
        if (status == TC_OK)
            sum += rec.data[rec.bytes / 2];
    }
    *seconds_p = tc_now() - start + (sum < 0.0); /* so that the reads stay */
    tc_buffer_free(&scratch);
    status = tc_comm_agree(store->world, status);
    return status == TC_OK ? tc_comm_max(store->world, seconds_p, 1) : status;
}

/* One exchange; prints a line. */
static tc_status shuffle(tc_store *store, uint64_t epoch, double copy)
{
    uint64_t sent = store->exchange.sent, rounds = store->exchange.rounds;
    double seconds, borrowing, moved;

    tc_status status = tc_comm_barrier(store->world);
    double start = tc_now();
    if (status == TC_OK)
        status = tc_store_begin_epoch(store, epoch);
    seconds = tc_now() - start;
    if (status == TC_OK)
        status = verify(store, epoch);
    if (status == TC_OK)
        status = tc_comm_max(store->world, &seconds, 1);
    moved = (double)(store->exchange.sent - sent);
    if (status == TC_OK)
        status = tc_comm_sum(store->world, &moved, 1);
    if (status == TC_OK)
        status = borrow_all(store, &borrowing);
    if (status == TC_OK && tc_comm_rank(store->world) == 0)
        printf("epoch %-3llu %8.2f s   %8.1f MB moved in %llu rounds: %6.2f GB/s, %.2f of memcpy; "
               "then all records borrowed in %.2f s\n",
               (unsigned long long)epoch, seconds, moved / 1e6,
               (unsigned long long)(store->exchange.rounds - rounds), moved / seconds / 1e9,
               moved / seconds / copy, borrowing);
    return status;
}

/* Peak and descriptors of the ranks. */
static tc_status show_memory(tc_store *store, double before, int loading, int files)
{
    double round = 2.0 * (double)store->exchange.piece * store->exchange.ranks;
    double held = (double)store->held.bytes, peak = own_memory("VmHWM:");
    double most[5] = { peak, peak - before, (peak - before) / (held + round), loading - files,
                       descriptors() - files };

    tc_status status = tc_comm_max(store->world, most, 5);
    if (status == TC_OK && tc_comm_rank(store->world) == 0)
        printf(
            "memory    %8.1f MB peak a rank at most, %.1f MB more than before: %.3f of its records "
            "and rounds (rank 0: %.1f + %.1f MB)\nfiles     %8.0f descriptors more while it "
            "loaded, %.0f after %d records were looked up in the shards\n",
            most[0] / 1e6, most[1] / 1e6, most[2], held / 1e6, round / 1e6, most[3], most[4],
            SAMPLES);
    return status;
}

static tc_status bench(tc_comm *comm, const arguments *arg)
{
    double before = own_memory("VmRSS:"), seconds, copy = 0.0;
    tc_store *store = NULL;
    watcher w = { 0 };
    int files = descriptors();

    if (pthread_create(&w.thread, NULL, watch, &w) != 0)
        return tc_fail(TC_NOMEM, "no thread to watch the descriptors");
    tc_status status = tc_comm_barrier(comm);
    double start = tc_now();
    if (status == TC_OK)
        status = tc_store_open(comm, &arg->store, 0, &store);
    seconds = tc_now() - start;
    w.end = true;
    pthread_join(w.thread, NULL);
    if (status == TC_OK)
        status = verify(store, 0);
    if (status == TC_OK)
        status = tc_comm_max(comm, &seconds, 1);
    if (status == TC_OK)
        status = copy_rate(store, &copy);
    if (status == TC_OK && tc_comm_rank(comm) == 0)
        printf("load      %8.2f s   %llu records, %.1f MB: %.2f GB/s; planned for %llu epochs\n"
               "memcpy    %8.2f GB/s, all ranks at once, %.1f MB each\n",
               seconds, (unsigned long long)store->dataset->records,
               (double)store->dataset->bytes / 1e6, (double)store->dataset->bytes / seconds / 1e9,
               (unsigned long long)arg->store.epochs, copy / 1e9,
               (double)(store->exchange.piece * (unsigned)store->exchange.ranks) / 1e6);
    for (uint64_t e = 1; status == TC_OK && e <= arg->run; e++)
        status = shuffle(store, e, copy);
    if (status == TC_OK)
        status = show_memory(store, before, w.most, files);
    tc_store_close(store);
    return status;
}

static const struct argp_option options[] = {
    { "run", 'n', "N", 0, "exchanges (3)", 0 },
    { "epochs", 'e', "N", 0,
      "epochs of the run that the memory is planned for (those that are run)", 0 },
    { "groups", 'g', "G", 0, "groups of ranks that each hold the whole set (1)", 0 },
    { "round", 'r', "MB", 0, "sent by a rank in a round (64 MiB)", 0 },
    { "batch", 'b', "N", 0, "pictures a rank and step (64)", 0 },
    { 0 }
};

static uint64_t number(const char *text, struct argp_state *state)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);

    if (*end != '\0' || end == text || n < 1 || n > 1000000)
        argp_error(state, "%s: give a number from 1 to 1000000", text);
    return n;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *arg = state->input;

    switch (key) {
    case 'n':
        arg->run = number(value, state);
        break;
    case 'e':
        arg->store.epochs = number(value, state);
        break;
    case 'g':
        arg->store.groups = (int)number(value, state);
        break;
    case 'r':
        arg->store.round_bytes = number(value, state) * 1000000;
        break;
    case 'b':
        arg->store.batch = (int64_t)number(value, state);
        break;
    case ARGP_KEY_ARG:
        if (arg->store.dir != NULL)
            argp_usage(state);
        arg->store.dir = value;
        break;
    case ARGP_KEY_END:
        if (arg->store.dir == NULL)
            argp_usage(state);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp argp = { options,
                                  parse,
                                  "DIR",
                                  "Load DIR/train into the memory of the ranks and shuffle it; for "
                                  "mpirun, at least 2 ranks a group.",
                                  NULL,
                                  NULL,
                                  NULL };

int main(int argc, char **argv)
{
    arguments arg = { .store = { .kind = "memory",
                                 .split = "train",
                                 .groups = 1,
                                 .devices = 1,
                                 .batch = 64,
                                 .shuffle = true,
                                 .seed = 1 },
                      .run = 3 };
    tc_comm *comm = NULL;

    argp_parse(&argp, argc, argv, 0, NULL, &arg);
    if (arg.store.epochs == 0)
        arg.store.epochs = arg.run + 1;
    tc_status status = tc_comm_init(&argc, &argv, &comm);
    if (status == TC_OK && tc_comm_size(comm) / arg.store.groups < 2)
        status = tc_fail(TC_INVAL, "%d ranks in %d groups: nothing would move", tc_comm_size(comm),
                         arg.store.groups);
    if (status == TC_OK && tc_comm_rank(comm) == 0)
        printf(
            "# bench-store, tricolor %s, commit %s\n# %d ranks on %d hosts, %d groups; times and "
            "memory of the slowest and the largest rank\n",
            PACKAGE_VERSION, TC_COMMIT, tc_comm_size(comm), tc_comm_host_count(comm),
            arg.store.groups);
    if (status == TC_OK)
        status = bench(comm, &arg);
    return tc_exit(comm, status);
}
