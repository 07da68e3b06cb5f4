/*
 * What is trained and evaluated, over 1 to 6 ranks: the same sample numbers at the same positions
 * of (seed, epoch) for every number of ranks and groups; none twice in a training epoch; each
 * exactly once in an evaluation.  Six ranks run it and form smaller worlds one after the other.
 */
#include <config.h>

#include "store/store.h"

#include "../tap-mpi.h"
#include "comm/comm_mpi.h"
#include "records.h"

#define MOST    6 /* ranks */
#define BATCH   3
#define DEVICES 2
#define EPOCHS  4
#define RECORDS 107 /* at most, in a set */

static tc_comm *world;
static char dir[64];

typedef struct {
    const char *name, *folder, *split;
    uint64_t records;
} set;

/* Sample numbers by position, as one rank alone finds them. */
typedef struct {
    uint64_t id[EPOCHS][RECORDS];
} samples;

static tc_store_options options(const char *kind, const char *path, const set *s, int groups,
                                bool shuffle, uint64_t seed)
{
    return (tc_store_options){ .kind = kind,
                               .dir = path,
                               .split = s->split,
                               .groups = groups,
                               .devices = DEVICES,
                               .batch = BATCH,
                               .shuffle = shuffle,
                               .seed = seed,
                               .epochs = EPOCHS,
                               .round_bytes = 3000 };
}

/* Which rank works on position p: global device (p mod B) / b, devices numbered through the ranks.
 */
static int worker(uint64_t p, int ranks)
{
    return (int)(p % (uint64_t)(BATCH * DEVICES * ranks) / BATCH / DEVICES);
}

/* The bytes say of which record they are. */
static bool is_record(const tc_record *rec, uint64_t id)
{
    tc_buffer want = { 0 };

    record_fill(id, &want);
    bool same =
        rec->id == id && rec->bytes == want.bytes && memcmp(rec->data, want.data, want.bytes) == 0;
    tc_buffer_free(&want);
    return same;
}

/* Borrow what this rank works on among the first `count` positions; times[id] counts the uses.
 * Returns the failures. */
static int64_t work(tc_store *store, int rank, int ranks, uint64_t count, uint64_t *times,
                    uint64_t *at)
{
    tc_buffer scratch = { 0 };
    tc_record rec;
    int64_t wrong = 0;

    for (uint64_t p = 0; p < count; p++) {
        if (worker(p, ranks) != rank)
            continue;
        if (tc_store_borrow(store, p, &scratch, &rec) != TC_OK || rec.id >= RECORDS ||
            !is_record(&rec, rec.id)) {
            wrong++;
            continue;
        }
        times[rec.id]++;
        at[p] += rec.id;
    }
    tc_buffer_free(&scratch);
    return wrong;
}

/* One epoch over all ranks of comm: times and at become the sums of all. */
static int64_t epoch_of(tc_comm *comm, tc_store *store, uint64_t count, uint64_t *times,
                        uint64_t *at)
{
    memset(times, 0, RECORDS * sizeof *times);
    memset(at, 0, RECORDS * sizeof *at);
    int64_t wrong = work(store, tc_comm_rank(comm), tc_comm_size(comm), count, times, at);
    MPI_Allreduce(MPI_IN_PLACE, times, RECORDS, MPI_UINT64_T, MPI_SUM, tc_comm_mpi(comm));
    MPI_Allreduce(MPI_IN_PLACE, at, RECORDS, MPI_UINT64_T, MPI_SUM, tc_comm_mpi(comm));
    return wrong;
}

/* Train some epochs, whole global batches only; returns what is wrong. */
static int64_t train(tc_comm *comm, const char *kind, const char *path, const set *s, int groups,
                     uint64_t seed, const samples *reference)
{
    uint64_t batch = (uint64_t)(BATCH * DEVICES * tc_comm_size(comm));
    uint64_t count = s->records / batch * batch, times[RECORDS], at[RECORDS], used, missing = 0;
    tc_store_options o = options(kind, path, s, groups, true, seed);
    tc_store *store = NULL;
    int64_t wrong = 0;

    tc_status status = tc_store_open(comm, &o, 0, &store);
    if (status != TC_OK)
        fprintf(stderr, "# %s\n", tc_error_detail());
    for (uint64_t e = 0; status == TC_OK && e < EPOCHS; e++) {
        status = tc_store_begin_epoch(store, e);
        if (status != TC_OK)
            break;
        wrong += epoch_of(comm, store, count, times, at);
        used = 0;
        for (uint64_t id = 0; id < s->records; id++) {
            wrong += times[id] > 1; /* at most once */
            used += times[id];
            missing += times[id] == 0;
        }
        wrong += used != count;
        for (uint64_t p = 0; p < count; p++)
            wrong += at[p] != reference->id[e][p];
        for (uint64_t p = 0; p < s->records; p++) /* also of what is dropped */
            wrong += tc_store_id(store, p) != reference->id[e][p];
    }
    wrong += missing != EPOCHS * (s->records - count);
    tc_store_close(store);
    return wrong + (status != TC_OK);
}

/* Evaluate twice; the last global batch is not full. */
static int64_t evaluate(tc_comm *comm, const char *kind, const char *path, const set *s, int groups)
{
    tc_store_options o = options(kind, path, s, groups, false, 1);
    uint64_t times[RECORDS], at[RECORDS];
    tc_store *store = NULL;
    int64_t wrong = 0;

    tc_status status = tc_store_open(comm, &o, 0, &store);
    for (int i = 0; status == TC_OK && i < 2; i++) {
        wrong += epoch_of(comm, store, s->records, times, at);
        for (uint64_t id = 0; id < s->records; id++)
            wrong += times[id] != 1 || at[id] != id; /* exactly once */
    }
    tc_store_close(store);
    return wrong + (status != TC_OK);
}

/* The order of (seed, epoch), from a store of one rank. */
static tc_status look_up(tc_comm *alone, const char *path, const set *s, uint64_t seed, samples *to)
{
    tc_store_options o = options("memory", path, s, 1, true, seed);
    tc_store *store = NULL;

    tc_status status = tc_store_open(alone, &o, 0, &store);
    for (uint64_t e = 0; status == TC_OK && e < EPOCHS; e++) {
        status = tc_store_begin_epoch(store, e);
        for (uint64_t p = 0; status == TC_OK && p < s->records; p++)
            to->id[e][p] = tc_store_id(store, p);
    }
    tc_store_close(store);
    return status;
}

static bool differ(const samples *a, uint64_t e, const samples *b, uint64_t f)
{
    return memcmp(a->id[e], b->id[f], sizeof a->id[e]) != 0;
}

/* One set, by `ranks` ranks in `groups` groups; the other ranks watch. */
static void with_ranks(const set *s, int ranks, int groups, const samples *reference)
{
    static const char *const kinds[] = { "memory", "shards" };
    bool inside = tc_comm_rank(world) < ranks;
    char path[128];
    tc_comm *comm = NULL;
    int64_t wrong = 0;

    snprintf(path, sizeof path, "%s/%s", dir, s->folder);
    tc_status status = tc_comm_split(world, inside, &comm);
    for (int k = 0; inside && status == TC_OK && k < 2; k++) {
        for (uint64_t seed = 0; seed < 2; seed++)
            wrong += train(comm, kinds[k], path, s, groups, seed, &reference[seed]);
        wrong += evaluate(comm, kinds[k], path, s, groups);
    }
    tap_ok_all(status == TC_OK && wrong == 0, "%s: %d ranks, %d groups, memory and shards", s->name,
               ranks, groups);
    tc_comm_destroy(comm);
}

static void with_set(const set *s)
{
    static samples reference[2];
    char path[128];
    tc_comm *alone = NULL;

    memset(reference, 0, sizeof reference);
    snprintf(path, sizeof path, "%s/%s", dir, s->folder);
    tc_status status = tc_comm_split(world, tc_comm_rank(world), &alone);
    for (uint64_t seed = 0; status == TC_OK && seed < 2; seed++)
        status = look_up(alone, path, s, seed, &reference[seed]);
    bool many = s->records > 10; /* few pictures may come in the same order twice */
    tap_ok_all(status == TC_OK && (!many || (differ(&reference[0], 0, &reference[0], 1) &&
                                             differ(&reference[0], 1, &reference[0], 2) &&
                                             differ(&reference[0], 0, &reference[1], 0))),
               "%s: one rank; another order in every epoch and for another seed", s->name);
    tc_comm_destroy(alone);
    for (int ranks = 1; ranks <= MOST; ranks++)
        for (int groups = 1; groups <= 2; groups++)
            if (ranks % groups == 0)
                with_ranks(s, ranks, groups, reference);
}

static tc_status make_set(const char *folder, const char *split, const uint64_t *counts, uint32_t n)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", dir, folder);
    mkdir(path, 0777);
    return set_write(path, split, counts, n, record_make);
}

static tc_status make_sets(void)
{
    const uint64_t uneven[] = { 1, 60, 0, 3, 43 }, two[] = { 50, 51 }, few[] = { 2, 1 };
    tc_status status = TC_OK;

    snprintf(dir, sizeof dir, "t-complete.XXXXXX");
    if (tc_comm_rank(world) == 0) {
        if (mkdtemp(dir) == NULL)
            status = tc_fail(TC_IO, "no folder");
        if (status == TC_OK)
            status = make_set("a", "train", uneven, 5);
        if (status == TC_OK)
            status = make_set("b", "train", two, 2);
        if (status == TC_OK)
            status = make_set("b", "val", few, 2);
    }
    tc_comm_bcast(world, dir, sizeof dir, 0);
    return tc_comm_agree(world, status);
}

int main(int argc, char **argv)
{
    static const set sets[] = { { "uneven shards", "a", "train", 107 },
                                { "more ranks than shards", "b", "train", 101 },
                                { "fewer pictures than ranks", "b", "val", 3 } };

    if (tc_comm_init(&argc, &argv, &world) != TC_OK)
        return 1;
    if (tap_ok_all(tc_comm_size(world) == MOST && make_sets() == TC_OK, "sets are written"))
        for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
            with_set(&sets[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (tc_comm_rank(world) == 0)
        set_remove(dir);
    return tap_done_all();
}
