/* Several ranks: every way to sum gives the bits of one rank with all the devices; a rank that
 * fails leaves nobody waiting. */
#include <config.h>

#include "../tap-mpi.h"
#include "fakes.h"
#include "rig.h"

#include "allreduce/allreduce.h"
#include "base/log.h"
#include "base/clock.h"
#include "comm/comm.h"
#include "table/table_impl.h"

#include <stdlib.h>
#include <string.h>

static tc_allreduce *make(tc_comm *comm, const rig *r, const char *algorithm)
{
    tc_allreduce_options options = { .algorithm = algorithm, .arity = -1, .chunk = 512 };
    tc_allreduce *ctx = NULL;

    if (tc_allreduce_create(comm, &options, r->n, r->count, &ctx) != TC_OK)
        abort();
    return ctx;
}

static void test_sums(tc_comm *comm, rig *r)
{
    static const struct {
        const char *kind, *algorithm;
        bool overlap;
        int devices;
    } way[] = {
        { "optimized", "multicolor", true, 1 },  { "optimized", "multicolor", true, 2 },
        { "optimized", "multicolor", false, 1 }, { "optimized", "multicolor", false, 2 },
        { "optimized", "mpi", true, 2 },         { "baseline", "mpi", false, 2 },
        { "baseline", "multicolor", true, 1 },
    };
    int rank = tc_comm_rank(comm), ranks = tc_comm_size(comm);
    size_t bytes = 2 * (size_t)r->graph->param_count * sizeof(float);
    tc_table_options options = rig_options(r, "optimized", ranks, 1);
    tc_metrics want = { 0 }, got;
    float *reference = rank == 0 ? rig_run(r, &options, 0, 1, &want) : malloc(bytes);

    if (!reference || MPI_Bcast(reference, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD) != 0)
        abort();
    for (int turn = 0; turn < 2; turn++) {
        fake.jitter_us = turn * 300;
        fake.slow_ordinal = turn ? 0 : -1; /* device 0 of rank 0 alone */
        fake.slow_us = rank == 0 ? 500 : 0;
        for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
            tc_allreduce *ctx = make(comm, r, way[i].algorithm);
            options = rig_options(r, way[i].kind, way[i].devices, ranks);
            options.allreduce = ctx;
            options.overlap = way[i].overlap;
            float *result = rig_run(r, &options, rank, ranks, &got);
            double loss[2] = { got.loss, (double)got.count };
            MPI_Allreduce(MPI_IN_PLACE, loss, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            tap_ok_all(result && memcmp(result, reference, bytes) == 0,
                       "%s, %s, overlap %s, %d devices a rank%s: the bits of one rank", way[i].kind,
                       way[i].algorithm, way[i].overlap ? "wanted" : "off", way[i].devices,
                       turn ? ", uneven" : "");
            tap_ok_all(rank != 0 || (loss[0] == want.loss && (int64_t)loss[1] == want.count),
                       "and its loss");
            free(result);
            tc_allreduce_destroy(ctx);
        }
    }
    tap_ok_all(fake_breaches == 0 && fake_open == 0, "the backend's rules were kept");
    fake_reset();
    free(reference);
}

static void test_overlaps(tc_comm *comm, rig *r)
{
    static const struct {
        const char *kind, *algorithm;
        bool wanted, acts;
    } way[] = {
        { "optimized", "multicolor", true, true },
        { "optimized", "multicolor", false, false },
        { "optimized", "mpi", true, false },
        { "baseline", "multicolor", true, false },
    };
    int rank = tc_comm_rank(comm), ranks = tc_comm_size(comm);

    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        tc_allreduce *ctx = make(comm, r, way[i].algorithm);
        tc_table_options options = rig_options(r, way[i].kind, 1, ranks);
        options.allreduce = ctx;
        options.overlap = way[i].wanted;
        bool ok = rig_open(r, &options, rank, ranks, 1000) == TC_OK &&
                  tc_table_overlaps(r->table) == way[i].acts;
        tap_ok_all(ok, "overlap %s with %s and %s", way[i].acts ? "acts" : "does not act",
                   way[i].kind, way[i].algorithm);
        rig_close(r);
        tc_allreduce_destroy(ctx);
    }
}

/* What hold_back() looks at and finds. */
static struct {
    tc_table *table;
    bool waits;
    atomic_int seen;
} watch;

/* Wait, not for ever, until table->now says so; returns whether it does. */
static bool until(bool (*says)(const tc_table *), double seconds)
{
    tc_table *t = watch.table;
    double start = tc_now();
    bool there;

    do {
        pthread_mutex_lock(&t->lock);
        there = says(t);
        pthread_mutex_unlock(&t->lock);
        tc_sleep_us(1000);
    } while (!there && tc_now() - start < seconds);
    return there;
}

static bool device_1_has_all(const tc_table *t)
{
    return t->now.arrived[0] == 1;
}

static bool first_is_reduced(const tc_table *t)
{
    return t->now.reduced[t->compile.n_buckets - 1];
}

/* Device 0 begins when device 1 has ended, and holds its last bucket back: is the first one, of
 * which both have added up their shares, summed over all ranks meanwhile? */
static void hold_back(int ordinal, int b)
{
    if (ordinal == 0 && b == watch.table->compile.n_buckets - 1)
        until(device_1_has_all, 20);
    if (ordinal == 0 && b == 0)
        atomic_fetch_add(&watch.seen, until(first_is_reduced, watch.waits ? 20 : 0.02));
}

static void test_overlap_acts(tc_comm *comm, rig *r, bool overlap)
{
    int rank = tc_comm_rank(comm), ranks = tc_comm_size(comm);
    tc_allreduce *ctx = make(comm, r, "multicolor");
    tc_table_options options = rig_options(r, "optimized", 2, ranks);
    tc_metrics sum;

    options.allreduce = ctx;
    options.overlap = overlap;
    bool ok = rig_open(r, &options, rank, ranks, 1000) == TC_OK;
    watch.table = r->table;
    watch.waits = overlap;
    atomic_store(&watch.seen, 0);
    fake.before_bucket = hold_back;
    ok = ok && rig_train(r, 0, &sum) == TC_OK;
    tap_ok_all(ok && atomic_load(&watch.seen) == (overlap ? RIG_STEPS : 0),
               overlap ? "overlap on: buckets are reduced while backward goes on"
                       : "overlap off: no bucket is reduced before backward is over");
    rig_close(r);
    tc_allreduce_destroy(ctx);
    fake_reset();
}

/* The last rank's loader or device fails in step 1; the others must come through the step. */
static void test_failure(tc_comm *comm, rig *r, const char *kind, bool overlap, bool in_loader)
{
    int rank = tc_comm_rank(comm), ranks = tc_comm_size(comm);
    bool mine = rank == ranks - 1;
    tc_allreduce *ctx = make(comm, r, "multicolor");
    tc_table_options options = rig_options(r, kind, 2, ranks);
    tc_sgd sgd = { .lr = 1 };
    tc_metrics metrics;
    tc_status status[3];

    if (mine && in_loader) {
        fake.loader_step = fake.loader_device = 1;
        fake.loader_status = TC_IO;
    } else if (mine) {
        fake.train_call = fake.train_ordinal = 1;
        fake.train_status = TC_IO;
    }
    options.allreduce = ctx;
    options.overlap = overlap;
    if (rig_open(r, &options, rank, ranks, 1000) != TC_OK)
        abort();
    for (int step = 0; step < 3; step++)
        status[step] = tc_table_train(r->table, r->loader, step, &sgd, &metrics);
    tap_ok_all(status[0] == TC_OK && status[1] == (mine ? TC_IO : TC_OK) && status[2] == TC_OK,
               "%s, overlap %s: a %s that fails on one rank leaves no rank waiting", kind,
               overlap ? "on" : "off", in_loader ? "loader" : "device");
    rig_close(r);
    tc_allreduce_destroy(ctx);
    tap_ok_all(fake_breaches == 0 && fake_open == 0, "and the backend's rules are kept");
    fake_reset();
}

/* Exposed communication: a rank that is late makes the others wait, after their backward. */
static void test_times(tc_comm *comm, rig *r)
{
    int rank = tc_comm_rank(comm), ranks = tc_comm_size(comm);
    tc_allreduce *ctx = make(comm, r, "multicolor");
    tc_table_options options = rig_options(r, "optimized", 2, ranks);
    tc_table_times t;
    tc_metrics sum;
    double late = RIG_STEPS * r->n * 5e-3;

    fake.slow_ordinal = 0;
    fake.slow_us = rank == 0 ? 5000 : 0;
    options.allreduce = ctx;
    if (rig_open(r, &options, rank, ranks, 1000) != TC_OK)
        abort();
    tc_table_take_times(r->table, &t);
    MPI_Barrier(MPI_COMM_WORLD);
    rig_train(r, 0, &sum);
    tc_table_take_times(r->table, &t);
    tap_ok_all(rank == 0 ? t.backward >= 0.9 * late : t.backward < 0.7 * late,
               "the late rank's backward takes %.3f s", t.backward);
    tap_ok_all(rank == 0 ? t.comm < 0.5 * late : t.comm > 0.3 * late,
               "and the others' time goes to exposed communication");
    rig_close(r);
    tc_allreduce_destroy(ctx);
    fake_reset();
}

int main(int argc, char **argv)
{
    tc_comm *comm;
    rig r;

    if (tc_comm_init(&argc, &argv, &comm) != TC_OK)
        return 1;
    tc_log_set_level(TC_LOG_WARN);
    fake_reset();
    rig_graph(&r, fake_graph(), 100);
    test_sums(comm, &r);
    test_overlaps(comm, &r);
    test_overlap_acts(comm, &r, true);
    test_overlap_acts(comm, &r, false);
    test_failure(comm, &r, "optimized", true, true);
    test_failure(comm, &r, "optimized", true, false);
    test_failure(comm, &r, "optimized", false, true);
    test_failure(comm, &r, "baseline", false, true);
    test_failure(comm, &r, "baseline", false, false);
    test_times(comm, &r);
    rig_free_graph(&r);
    if (tc_comm_rank(comm) == 0)
        tap_done();
    return tc_exit(comm, TC_OK);
}
