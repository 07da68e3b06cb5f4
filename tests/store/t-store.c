/* Every position of every epoch is held once a group, by the rank of the rule, with its bytes. */
#include <config.h>

#include "store/store_impl.h"

#include "../tap-mpi.h"
#include "comm/comm_mpi.h"
#include "records.h"

#define DEVICES 2
#define BATCH   3
#define SEED    77

static tc_comm *world;
static char dir[64];

static tc_store_options options(const char *kind, const char *split, int groups)
{
    return (tc_store_options){ .kind = kind,
                               .dir = dir,
                               .split = split,
                               .groups = groups,
                               .devices = DEVICES,
                               .batch = BATCH,
                               .shuffle = true,
                               .seed = SEED };
}

/* The rule of store.h, written down again: does rank `me` of `ranks` hold position p? */
static bool rule(uint64_t p, int me, int ranks, int groups)
{
    uint64_t device = p % (uint64_t)(BATCH * DEVICES * ranks) / BATCH;
    int of_group = ranks / groups;

    return (int)(device % (uint64_t)(DEVICES * of_group) / DEVICES) == me % of_group;
}

/* One record as borrowed against what it must be. */
static bool good_record(tc_store *store, uint64_t pos, uint64_t id, tc_buffer *scratch,
                        tc_buffer *want)
{
    tc_record rec;
    char name[64], found[64];

    if (tc_store_borrow(store, pos, scratch, &rec) != TC_OK)
        return false;
    record_fill(id, want);
    snprintf(name, sizeof name, "%s/%llu.jpg", id % 2 ? "odd" : "even", (unsigned long long)id);
    return rec.id == id && rec.bytes == want->bytes &&
           memcmp(rec.data, want->data, want->bytes) == 0 && rec.label == (int32_t)(id % 2) &&
           rec.width == 10 + id && rec.height == 20 + id &&
           tc_store_name(store, id, found, sizeof found) == TC_OK && strcmp(found, name) == 0;
}

/* Slots in use are exactly those of the records that are here. */
static bool no_slot_lost(const tc_store *store)
{
    uint64_t used = 0;

    if (store->kind != &tc_store_memory_kind)
        return true;
    for (uint64_t i = 0, n = store->held.records; i < n; i++)
        used += tc_slots_for(&store->held.slots, store->held.place[i].bytes);
    return used == store->held.slots.count - store->held.slots.free_count;
}

/* Wrong positions of this rank in the epoch at hand. */
static int64_t wrong_positions(tc_store *store, uint64_t epoch, uint64_t n, int groups)
{
    int rank = tc_comm_rank(world), ranks = tc_comm_size(world);
    tc_permutation order = tc_permutation_make(SEED, TC_STREAM_ORDER, epoch, (int64_t)n);
    tc_buffer scratch = { 0 }, want = { 0 };
    tc_record rec;
    int64_t wrong = 0;

    for (uint64_t p = 0; p < n; p++) {
        uint64_t id = (uint64_t)tc_permutation_at(&order, (int64_t)p);
        bool mine = rule(p, rank, ranks, groups);
        wrong += tc_store_id(store, p) != id || tc_store_holds(store, p) != mine;
        if (mine)
            wrong += !good_record(store, p, id, &scratch, &want);
        else
            wrong += tc_store_borrow(store, p, &scratch, &rec) != TC_INVAL;
    }
    wrong += tc_store_holds(store, n) || tc_store_borrow(store, n, &scratch, &rec) != TC_INVAL;
    tc_buffer_free(&scratch);
    tc_buffer_free(&want);
    return wrong + !no_slot_lost(store);
}

/* Whether loading moved any record more than once: it goes straight to the epoch asked for. */
static int moved_twice(const tc_store *store, uint64_t n)
{
    unsigned long long sent = store->exchange.sent, all = 0;

    for (uint64_t id = 0; id < n; id++)
        all += record_bytes(id) + TC_HEAD_WIRE;
    MPI_Allreduce(MPI_IN_PLACE, &sent, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, tc_comm_mpi(world));
    return sent > all * (unsigned)store->groups;
}

static void epochs(const char *kind, const char *split, uint64_t n, int groups, uint64_t first,
                   uint64_t round_bytes)
{
    static const uint64_t visit[] = { 0, 1, 2, 7, 7, 3, 0 };
    tc_store_options o = options(kind, split, groups);
    tc_store *store = NULL;

    o.round_bytes = round_bytes;
    o.open_shards = 2; /* of four */
    tc_status status = tc_store_open(world, &o, first, &store);
    if (!tap_ok_all(status == TC_OK && tc_store_records(store) == n,
                    "%s, %s, %d groups, rounds of %llu: opened at epoch %llu", kind, split, groups,
                    (unsigned long long)round_bytes, (unsigned long long)first)) {
        fprintf(stderr, "# %s\n", tc_error_detail());
        tc_store_close(store);
        return;
    }
    int64_t wrong = wrong_positions(store, first, n, groups) + moved_twice(store, n);
    for (size_t i = 0; i < sizeof visit / sizeof visit[0]; i++) {
        status = tc_store_begin_epoch(store, visit[i]);
        wrong += status != TC_OK || wrong_positions(store, visit[i], n, groups) != 0;
    }
    tap_ok_all(wrong == 0, "%s: every position of epochs 0, 1, 2, 7, 3 and 0 again is right",
               tc_store_choices(store));
    tc_store_close(store);
}

/* The memory planned for a run is that of its fullest epoch, counted here in another way. */
static void planned(uint64_t n, int groups)
{
    tc_store_options o = options("memory", "train", groups);
    int rank = tc_comm_rank(world), ranks = tc_comm_size(world);
    uint64_t want = 0, got = 0, most[2] = { 0 }, here;
    tc_store *store = NULL;

    o.epochs = 12;
    tc_status status = tc_store_open(world, &o, 2, &store);
    for (uint64_t e = 2; status == TC_OK && e < 12; e++) {
        tc_permutation order = tc_permutation_make(SEED, TC_STREAM_ORDER, e, (int64_t)n);
        here = 0;
        for (uint64_t p = 0; p < n; p++)
            if (rule(p, rank, ranks, groups))
                here += tc_slots_for(&store->held.slots,
                                     record_bytes((uint64_t)tc_permutation_at(&order, (int64_t)p)));
        want = here > want ? here : want;
        most[e > 2] = here > most[e > 2] ? here : most[e > 2];
    }
    if (status == TC_OK)
        status = tc_store_need(store, TC_OK, &got);
    tap_ok_all(status == TC_OK && got == want && (ranks == groups || most[0] != most[1]),
               "%d groups: %llu slots are planned for rank 0, of epochs 2 to 11 (epoch 2: %llu)",
               groups, (unsigned long long)got, (unsigned long long)most[0]);
    tc_store_close(store);
}

static void in_order(const char *kind)
{
    tc_store_options o = options(kind, "train", 1);
    tc_buffer scratch = { 0 }, want = { 0 };
    tc_store *store = NULL;
    int64_t wrong = 0;

    o.shuffle = false;
    tc_status status = tc_store_open(world, &o, 0, &store);
    for (uint64_t epoch = 0; status == TC_OK && epoch < 3; epoch++) {
        wrong += tc_store_begin_epoch(store, epoch) != TC_OK;
        for (uint64_t p = 0; p < tc_store_records(store); p++)
            wrong += tc_store_id(store, p) != p ||
                     (tc_store_holds(store, p) && !good_record(store, p, p, &scratch, &want));
    }
    tap_ok_all(status == TC_OK && wrong == 0, "%s, not shuffled: position p is record p", kind);
    tc_store_close(store);
    tc_buffer_free(&scratch);
    tc_buffer_free(&want);
}

/* Rank 0 makes the sets: three shards of uneven length, one of them empty; and two pictures. */
static tc_status make_sets(uint64_t n)
{
    const uint64_t many[] = { n - 30, 0, 1, 29 }, few[] = { 2 };
    tc_status status = TC_OK;

    snprintf(dir, sizeof dir, "t-store.XXXXXX");
    if (tc_comm_rank(world) == 0) {
        if (mkdtemp(dir) == NULL)
            status = tc_fail(TC_IO, "no folder");
        if (status == TC_OK)
            status = set_write(dir, "train", many, 4, record_make);
        if (status == TC_OK)
            status = set_write(dir, "val", few, 1, record_make);
    }
    tc_comm_bcast(world, dir, sizeof dir, 0);
    return tc_comm_agree(world, status);
}

int main(int argc, char **argv)
{
    const uint64_t n = 131;

    if (tc_comm_init(&argc, &argv, &world) != TC_OK)
        return 1;
    int ranks = tc_comm_size(world);
    if (tap_ok_all(make_sets(n) == TC_OK, "data sets are written")) {
        epochs("memory", "train", n, 1, 0, 0);
        epochs("memory", "train", n, 1, 3, 1); /* the smallest rounds there are */
        epochs("memory", "train", n, ranks, 1, 1000);
        if (ranks % 2 == 0)
            epochs("memory", "train", n, 2, 5, 5000);
        epochs("memory", "val", 2, 1, 0, 0); /* fewer pictures than most rank counts here */
        epochs("shards", "train", n, 1, 0, 0);
        epochs("shards", "train", n, ranks, 3, 0);
        epochs("shards", "val", 2, 1, 0, 0);
        planned(n, 1);
        if (ranks % 2 == 0)
            planned(n, 2);
        in_order("memory");
        in_order("shards");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (tc_comm_rank(world) == 0)
        set_remove(dir);
    return tap_done_all();
}
