/* Every algorithm against the exact sum, bit by bit; order, timing, edge sizes, wrong use. */
#include <config.h>

#include "allreduce/allreduce.h"
#include "allreduce/sum.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "comm/comm_mpi.h"

#include "../tap-mpi.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#ifndef LONG
#define LONG 0 /* 1: all combinations, for any number of ranks */
#endif

enum { N_BUCKETS = 9, ALL_RANKS = INT_MAX };
static const int64_t counts[N_BUCKETS] = { 65536, 0, 100003, 1, 1021, 2, 63, 3, 7 };

typedef struct {
    int most_ranks; /* in the short tests */
    tc_allreduce_options options;
} test_case;

#define OPTIONS(a, k, d, c, w)                                                     \
    {                                                                              \
        .algorithm = (a), .colors = (k), .arity = (d), .chunk = (c), .window = (w) \
    }

static const test_case cases[] = {
    { ALL_RANKS, OPTIONS("mpi", 0, 0, 0, 0) },
    { ALL_RANKS, OPTIONS("multicolor", 0, -1, 0, 0) },          /* the defaults */
    { ALL_RANKS, OPTIONS("multicolor", INT_MAX, 0, 16384, 2) }, /* stars */
    { ALL_RANKS, OPTIONS("multicolor", 4, 2, 4096, 3) },
    { ALL_RANKS, OPTIONS("ring", 0, 0, 0, 0) },
    { ALL_RANKS, OPTIONS("rabenseifner", 0, 0, 8192, 0) },
    { ALL_RANKS, OPTIONS("doubling", 0, 0, 0, 0) },
    { 4, OPTIONS("ring", 0, 0, -1, 1) },         /* plain */
    { 5, OPTIONS("ring", 0, 0, 4096, 3) },       /* segmented */
    { 5, OPTIONS("rabenseifner", 0, 0, -1, 1) }, /* plain */
    { 5, OPTIONS("doubling", 0, 0, 1024, 2) },
    { 4, OPTIONS("multicolor", 1, 1, 10000, 4) }, /* one chain */
    { 4, OPTIONS("multicolor", 3, 2, 4096, 1) },
    { 4, OPTIONS("multicolor", 2, 0, 100000000, 4) },        /* a chunk larger than any bucket */
    { 4, OPTIONS("multicolor", INT_MAX, 3, 2044, 1000000) }, /* a window larger than any lane */
    { 3, OPTIONS("multicolor", 2, 2, 1020, 7) },
    { 0, OPTIONS("multicolor", 1, 4, 512, 2) },
    { 0, OPTIONS("multicolor", INT_MAX, 1, 8192, 5) },
    { 0, OPTIONS("multicolor", 5, 3, 65536, 2) },
};

static int rank, size;

/* Integers: any order of sums is exact, so the result has one right value. */
static float whole(int r, int b, int64_t i)
{
    return (float)((i * 31 + r * 17 + b * 7) % 2001 - 1000);
}

/* Of very different sizes: every order of sums rounds differently. */
static float uneven(int r, int b, int64_t i)
{
    tc_rng rng = tc_rng_make((uint64_t)b, TC_STREAM_TEST, (uint64_t)r, (uint64_t)i);

    return (float)(tc_rng_normal(&rng) * (double)(1 << tc_rng_below(&rng, 12)));
}

typedef float value_fn(int r, int b, int64_t i);

/* One float more than counted, so that buckets may begin at odd places. */
static float *bucket[N_BUCKETS], *source[N_BUCKETS];

static void fill(value_fn *value)
{
    for (int b = 0; b < N_BUCKETS; b++)
        for (int64_t i = 0; i < counts[b]; i++)
            source[b][i] = bucket[b][i] = value(rank, b, i);
}

static bool are_sums_of(value_fn *value)
{
    for (int b = 0; b < N_BUCKETS; b++)
        for (int64_t i = 0; i < counts[b]; i++) {
            float want = 0.0f;
            for (int r = 0; r < size; r++)
                want += value(r, b, i);
            if (memcmp(&want, &bucket[b][i], sizeof want) != 0) {
                fprintf(stderr, "# bucket %d element %lld: %g, not %g\n", b, (long long)i,
                        (double)bucket[b][i], (double)want);
                return false;
            }
        }
    return true;
}

static bool sums_are_exact(void)
{
    return are_sums_of(whole);
}

/* How a rank passes the time between its calls. */
typedef struct {
    tc_progress_mode mode;
    bool dawdle; /* sleep at random, differently on each rank and in each run */
    uint64_t seed;
} pace;

/* Start all buckets, then progress until each has been reported, once. */
static bool sum_all(tc_allreduce *ctx, pace p)
{
    tc_rng rng = tc_rng_make(p.seed, TC_STREAM_TEST, (uint64_t)rank, 0);
    int reported[N_BUCKETS] = { 0 }, left = N_BUCKETS, done;
    bool moved;

    for (int b = 0; b < N_BUCKETS; b++) {
        if (tc_allreduce_start(ctx, b, bucket[b]) != TC_OK)
            return false;
        if (p.dawdle)
            tc_sleep_us(tc_rng_below(&rng, 300));
    }
    while (left > 0) {
        if (tc_allreduce_progress(ctx, p.mode, NULL, &done, &moved) != TC_OK)
            return false;
        if (done == TC_NONE && p.mode == TC_BLOCK)
            return false; /* something is in flight: BLOCK must wait for it */
        if (done >= 0) {
            left--;
            if (reported[done]++)
                return false;
        }
        if (p.dawdle)
            tc_sleep_us(tc_rng_below(&rng, 200));
        else if (!moved)
            tc_sleep_us(50);
    }
    return tc_allreduce_progress(ctx, p.mode, NULL, &done, &moved) == TC_OK && done == TC_NONE;
}

/* Sum out of place, the buckets in reverse, at odd places; the source stays as it was. */
static bool sum_from_source(tc_allreduce *ctx)
{
    bool good = true;
    int done;

    for (int b = 0; b < N_BUCKETS; b++) {
        memmove(source[b] + 1, source[b], (size_t)counts[b] * sizeof(float));
        memset(bucket[b], 0xff, (size_t)counts[b] * sizeof(float)); /* NaNs */
    }
    for (int b = N_BUCKETS - 1; b >= 0; b--)
        good = tc_allreduce_start_from(ctx, b, source[b] + 1, bucket[b]) == TC_OK && good;
    for (int left = N_BUCKETS; left > 0 && good; left--)
        good = tc_allreduce_progress(ctx, TC_BLOCK, NULL, &done, NULL) == TC_OK && done >= 0;
    for (int b = 0; b < N_BUCKETS; b++)
        for (int64_t i = 0; i < counts[b]; i++)
            good = good && source[b][1 + i] == whole(rank, b, i);
    return good;
}

static void test_exact(tc_comm *comm, const test_case *c)
{
    tc_allreduce *ctx = NULL;
    bool blocked = true;

    if (!tap_ok_all(tc_allreduce_create(comm, &c->options, N_BUCKETS, counts, &ctx) == TC_OK,
                    "create %s k=%d d=%d chunk=%lld window=%d", c->options.algorithm,
                    c->options.colors, c->options.arity, (long long)c->options.chunk,
                    c->options.window))
        return;
    for (int step = 0; step < 2 + LONG; step++) {
        fill(whole);
        blocked = sum_all(ctx, (pace){ .mode = TC_BLOCK }) && sums_are_exact() && blocked;
    }
    tap_ok_all(blocked, "%s: exact, blocking, step after step", tc_allreduce_choices(ctx));
    fill(whole);
    bool polled = sum_all(ctx, (pace){ .mode = TC_POLL }) && sums_are_exact();
    tap_ok_all(polled, "exact, polling");
    fill(whole);
    bool run = true;
    for (int b = 0; b < N_BUCKETS; b++)
        run = run && tc_allreduce_run(ctx, b, bucket[b]) == TC_OK;
    tap_ok_all(run && sums_are_exact(), "exact, bucket after bucket");
    fill(whole);
    tap_ok_all(sum_from_source(ctx) && sums_are_exact(), "exact, out of place");
    tap_ok_all(tc_allreduce_overlaps(ctx) == (strcmp(c->options.algorithm, "mpi") != 0),
               "says whether it overlaps");
    tc_allreduce_destroy(ctx);
}

/* A 64-bit FNV-1a hash of all buckets. */
static uint64_t hash_buckets(void)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (int b = 0; b < N_BUCKETS; b++)
        for (int64_t i = 0; i < counts[b] * (int64_t)sizeof(float); i++)
            hash = (hash ^ ((const unsigned char *)bucket[b])[i]) * UINT64_C(1099511628211);
    return hash;
}

static void test_same_bits(tc_comm *comm, const test_case *c)
{
    tc_allreduce *ctx = NULL;
    uint64_t hash[3], first[3];
    bool good = true;

    if (tc_allreduce_create(comm, &c->options, N_BUCKETS, counts, &ctx) != TC_OK)
        return;
    for (int run = 0; run < 3; run++) {
        fill(uneven);
        good = sum_all(ctx, (pace){ .mode = run == 2 ? TC_BLOCK : TC_POLL,
                                    .dawdle = run > 0,
                                    .seed = (uint64_t)tc_unix_ms() }) &&
               good;
        hash[run] = hash_buckets();
    }
    memcpy(first, hash, sizeof first);
    good = tc_comm_bcast(comm, first, sizeof first, 0) == TC_OK && good;
    tap_ok_all(good && memcmp(first, hash, sizeof hash) == 0, "%s: the same bits on all ranks",
               tc_allreduce_choices(ctx));
    tap_ok_all(hash[0] == hash[1] && hash[0] == hash[2], "and in any timing");
    tc_allreduce_destroy(ctx);
}

/* What the wire makes of a float. */
static float carried(tc_wire_type wire, float x)
{
    const tc_sum_kernels *kernels = tc_sum_kernels_best();
    uint16_t narrow;

    if (wire == TC_WIRE_F32)
        return x;
    (wire == TC_WIRE_BF16 ? kernels->to_bf16 : kernels->to_f16)(&narrow, &x, 1);
    (wire == TC_WIRE_BF16 ? kernels->from_bf16 : kernels->from_f16)(&x, &narrow, 1);
    return x;
}

/* The documented order: own value, then child 0 with all below it, then child 1, … */
static float tree_sum(const tc_allreduce_options *o, int place, int shift, int b, int64_t i)
{
    float sum = uneven((place + shift) % size, b, i);

    for (int j = 1; j <= o->arity && place * o->arity + j < size; j++)
        sum += carried(o->wire, tree_sum(o, place * o->arity + j, shift, b, i));
    return sum;
}

static float ring_sum(const tc_allreduce_options *o, int part, int b, int64_t i)
{
    float sum = uneven(part, b, i);

    for (int step = 1; step < size; step++)
        sum = carried(o->wire, sum) + uneven((part + step) % size, b, i);
    return sum;
}

/* Players from, …, from + n - 1; n is a power of two. */
static float tournament_sum(const tc_allreduce_options *o, int from, int n, int b, int64_t i)
{
    int power = 1, extra;

    if (n > 1)
        return carried(o->wire, tournament_sum(o, from, n / 2, b, i)) +
               carried(o->wire, tournament_sum(o, from + n / 2, n / 2, b, i));
    while (2 * power <= size)
        power *= 2;
    extra = size - power;
    return from < extra ? uneven(2 * from, b, i) + carried(o->wire, uneven(2 * from + 1, b, i))
                        : uneven(from + extra, b, i);
}

/* The documented sum of element i of part t of k. */
static float documented(const tc_allreduce_options *o, int t, int k, int b, int64_t i)
{
    int power = 1;

    if (strcmp(o->algorithm, "multicolor") == 0)
        return tree_sum(o, 0, t * size / k, b, i);
    if (strcmp(o->algorithm, "ring") == 0)
        return ring_sum(o, t, b, i);
    while (2 * power <= size)
        power *= 2;
    return tournament_sum(o, 0, power, b, i);
}

/* The order of the sums, which the result's last bits reveal. */
static void test_order(tc_comm *comm, tc_allreduce_options options)
{
    enum { COUNT = 1021, BUCKET = 4 };
    const int64_t count = COUNT;
    tc_allreduce *ctx = NULL;
    int differ = 0, k = options.colors > 0 && options.colors < size ? options.colors : size;

    if (!tap_ok_all(tc_allreduce_create(comm, &options, 1, &count, &ctx) == TC_OK, "create"))
        return;
    float *x = bucket[BUCKET];
    for (int64_t i = 0; i < COUNT; i++)
        x[i] = uneven(rank, BUCKET, i);
    tc_status status = tc_allreduce_run(ctx, 0, x);
    for (int t = 0, i = 0; t < k; t++)
        for (int end = i + COUNT / k + (t < COUNT % k); i < end; i++) {
            float want = documented(&options, t, k, BUCKET, i);
            if (size > 1)
                want = carried(options.wire, want);
            differ += memcmp(&want, &x[i], sizeof want) != 0;
        }
    tap_ok_all(status == TC_OK && differ == 0, "%s adds in the documented order",
               tc_allreduce_choices(ctx));
    tc_allreduce_destroy(ctx);
}

/* A message from the next rank, outside the allreduce, as `extra`. */
static void test_extra(tc_comm *comm, const char *algorithm)
{
    tc_allreduce_options options = { .algorithm = algorithm, .arity = -1 };
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, got = -1, done;
    int extras = 0, buckets = 0;
    tc_allreduce *ctx = NULL;
    tc_request extra;
    MPI_Request sent;
    bool moved, good;

    if (!tap_ok_all(tc_allreduce_create(comm, &options, N_BUCKETS, counts, &ctx) == TC_OK,
                    "create"))
        return;
    MPI_Irecv(&got, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &extra.mpi);
    good = tc_allreduce_progress(ctx, TC_POLL, &extra, &done, &moved) == TC_OK && done == TC_NONE &&
           !moved && extra.mpi != MPI_REQUEST_NULL;
    tap_ok_all(good, "%s: POLL does not wait for extra", algorithm);
    MPI_Isend(&rank, 1, MPI_INT, previous, 5, MPI_COMM_WORLD, &sent);
    good = tc_allreduce_progress(ctx, TC_BLOCK, &extra, &done, &moved) == TC_OK;
    tap_ok_all(good && done == TC_EXTRA && moved && got == next && extra.mpi == MPI_REQUEST_NULL,
               "BLOCK waits for extra alone");
    MPI_Wait(&sent, MPI_STATUS_IGNORE);

    fill(whole);
    MPI_Irecv(&got, 1, MPI_INT, next, 6, MPI_COMM_WORLD, &extra.mpi);
    for (int b = 0; b < N_BUCKETS; b++)
        good = tc_allreduce_start(ctx, b, bucket[b]) == TC_OK && good;
    MPI_Isend(&rank, 1, MPI_INT, previous, 6, MPI_COMM_WORLD, &sent);
    while (good && extras + buckets < N_BUCKETS + 1) {
        good =
            tc_allreduce_progress(ctx, TC_BLOCK, &extra, &done, &moved) == TC_OK && done != TC_NONE;
        extras += done == TC_EXTRA;
        buckets += done >= 0;
    }
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    tap_ok_all(good && extras == 1 && buckets == N_BUCKETS && sums_are_exact(),
               "extra completes once among the buckets");
    good = tc_allreduce_progress(ctx, TC_BLOCK, &extra, &done, &moved) == TC_OK;
    tap_ok_all(good && done == TC_NONE, "a request that is no more is no extra");
    tc_allreduce_destroy(ctx);
}

static void test_refused(tc_comm *comm, const char *what, tc_allreduce_options options, int n,
                         int64_t count, const char *text)
{
    int64_t many[3] = { 8, count, 8 };
    tc_allreduce *ctx = NULL;
    tc_status status = tc_allreduce_create(comm, &options, n, many, &ctx);

    tap_ok_all(status == TC_INVAL && ctx == NULL && strstr(tc_error_detail(), text) != NULL,
               "refused: %s", what);
}

static void test_wrong_use(tc_comm *comm)
{
    tc_allreduce_options good = OPTIONS("multicolor", 0, -1, 0, 0), bad = good;
    int64_t same[1] = { 5 }, mine[1] = { 5 + (rank == size - 1) };
    tc_allreduce *ctx = NULL;
    tc_status status;

    test_refused(comm, "an unknown algorithm", (tc_allreduce_options){ .algorithm = "magic" }, 2, 8,
                 "multicolor, mpi");
    test_refused(comm, "no algorithm", (tc_allreduce_options){ 0 }, 2, 8, "multicolor, mpi");
    bad.colors = -1;
    test_refused(comm, "negative colors", bad, 2, 8, "-1 colors");
    bad = good;
    bad.chunk = INT64_C(1) << 40;
    test_refused(comm, "a chunk beyond MPI's counts", bad, 2, 8, "chunks of 1099511627776 bytes");
    bad = good;
    bad.window = -3;
    test_refused(comm, "a negative window", bad, 2, 8, "window of -3");
    test_refused(comm, "no bucket", good, 0, 8, "0 buckets");
    test_refused(comm, "a negative count", good, 2, -8, "bucket 1 has -8 floats");

    bad = good;
    bad.algorithm = rank == size - 1 ? "magic" : "multicolor";
    status = tc_allreduce_create(comm, &bad, 1, same, &ctx);
    tap_ok_all(status == (rank == size - 1 ? TC_INVAL : TC_PEER) && ctx == NULL,
               "one rank's failure fails all");
    status = tc_allreduce_create(comm, &good, 1, mine, &ctx);
    tap_ok_all(size == 1 || (status == TC_INVAL && ctx == NULL), "sizes that differ are refused");
    if (size == 1)
        tc_allreduce_destroy(ctx);

    ctx = NULL;
    status = tc_allreduce_create(comm, &good, 1, same, &ctx);
    float x[5] = { 0 };
    int done = TC_NONE;
    tap_ok_all(status == TC_OK && tc_allreduce_start(ctx, 1, x) == TC_INVAL, "no such bucket");
    status = tc_allreduce_start(ctx, 0, x);
    tap_ok_all(status == TC_OK && tc_allreduce_start(ctx, 0, x) == TC_INVAL,
               "a bucket in flight cannot be started");
    status = tc_allreduce_progress(ctx, TC_BLOCK, NULL, &done, NULL);
    tap_ok_all(status == TC_OK && done == 0 && tc_allreduce_start(ctx, 0, x) == TC_OK,
               "until it has been reported");
    while (done != TC_NONE && status == TC_OK)
        status = tc_allreduce_progress(ctx, TC_BLOCK, NULL, &done, NULL);
    tc_allreduce_destroy(ctx);
    tc_allreduce_destroy(NULL);
}

static void test_many_buckets(tc_comm *comm)
{
    enum { MANY = 1 << 14 };
    tc_allreduce_options options = OPTIONS("multicolor", 2, -1, 0, 0);
    int64_t *many = calloc(MANY, sizeof *many);
    tc_allreduce *ctx = NULL;

    tc_status status = tc_allreduce_create(comm, &options, MANY, many, &ctx);
    tap_ok_all(size == 1 ? status == TC_OK : status == TC_INVAL,
               "more buckets times colors than tags are refused");
    tc_allreduce_destroy(ctx);
    free(many);
}

/* Few bits, so that a narrow wire loses none. */
static float small(int r, int b, int64_t i)
{
    return (float)((i * 5 + r * 3 + b) % 29 - 14);
}

static void test_wire(tc_comm *comm, tc_wire_type wire)
{
    static const char *const in_order[] = { "multicolor", "ring", "doubling" };
    tc_allreduce *ctx = NULL;

    for (int a = 0; a < 3; a++)
        test_order(comm, (tc_allreduce_options){ .algorithm = in_order[a],
                                                 .colors = a == 0 ? 3 : 0,
                                                 .arity = 2,
                                                 .chunk = 100,
                                                 .window = 2,
                                                 .wire = wire });
    for (int a = 0; tc_allreduce_name(a) != NULL; a++) {
        tc_allreduce_options options = {
            .algorithm = tc_allreduce_name(a), .colors = INT_MAX, .chunk = 4096, .wire = wire
        };
        tc_status status = tc_allreduce_create(comm, &options, N_BUCKETS, counts, &ctx);
        if (strcmp(options.algorithm, "mpi") == 0) {
            tap_ok_all(status == TC_INVAL, "mpi sends floats");
            continue;
        }
        fill(small);
        bool good = status == TC_OK && sum_all(ctx, (pace){ .mode = TC_BLOCK });
        good = good && are_sums_of(small);
        tap_ok_all(good, "%s: exact where nothing is lost", tc_allreduce_choices(ctx));
        tc_allreduce_destroy(ctx);
        test_same_bits(comm, &(test_case){ 0, options });
    }
}

/* Buckets that differ in algorithm, shape and wire, all in flight at once. */
static void test_mixed(tc_comm *comm)
{
    const tc_allreduce_options each[N_BUCKETS] = {
        OPTIONS("ring", 0, 0, 4096, 2),
        OPTIONS("multicolor", 3, 2, 4096, 2),
        OPTIONS("multicolor", 4, 0, 8192, 3),
        OPTIONS("mpi", 0, 0, 0, 0),
        OPTIONS("doubling", 0, 0, 512, 1),
        OPTIONS("rabenseifner", 0, 0, 0, 0),
        OPTIONS("multicolor", 3, 2, 4096, 2),
        OPTIONS("multicolor", 1, 1, 0, 0),
        { .algorithm = "ring", .wire = TC_WIRE_F16 },
    };
    tc_allreduce *ctx = NULL;
    tc_status status = tc_allreduce_create_each(comm, each, N_BUCKETS, counts, &ctx);

    if (!tap_ok_all(status == TC_OK, "create buckets that differ"))
        return;
    tap_ok_all(strstr(tc_allreduce_choices(ctx), "multicolor k=") != NULL &&
                   strstr(tc_allreduce_choices(ctx), " [6]") != NULL &&
                   strstr(tc_allreduce_choices(ctx), "mpi [3]") != NULL,
               "%s", tc_allreduce_choices(ctx));
    tc_allreduce_options o = tc_allreduce_of_bucket(ctx, 2);
    tap_ok_all(strcmp(o.algorithm, "multicolor") == 0 && o.arity == (size > 1 ? size - 1 : 1) &&
                   o.chunk == 8192 && tc_allreduce_overlaps(ctx),
               "their options can be asked for");
    fill(small);
    bool good = sum_all(ctx, (pace){ .mode = TC_BLOCK }) && are_sums_of(small);
    fill(small);
    good = sum_all(ctx, (pace){ .mode = TC_POLL, .dawdle = true }) && are_sums_of(small) && good;
    tap_ok_all(good, "exact, blocking and polling");
    tc_allreduce_destroy(ctx);
}

/* Even and odd ranks at the same time, each group with its own sums. */
static void test_groups(tc_comm *world)
{
    tc_comm *comm = NULL;

    if (!tap_ok_all(tc_comm_split(world, tc_comm_rank(world) % 2, &comm) == TC_OK, "split"))
        return;
    rank = tc_comm_rank(comm);
    size = tc_comm_size(comm);
    for (int a = 0; tc_allreduce_name(a) != NULL; a++) {
        tc_allreduce_options options = OPTIONS(tc_allreduce_name(a), 3, 2, 4096, 2);
        tc_allreduce *ctx = NULL;
        bool good = tc_allreduce_create(comm, &options, N_BUCKETS, counts, &ctx) == TC_OK;
        fill(whole);
        good = good && sum_all(ctx, (pace){ .mode = TC_BLOCK, .dawdle = a % 2 == 1 });
        tap_ok_all(good && sums_are_exact(), "%s in groups", options.algorithm);
        tc_allreduce_destroy(ctx);
    }
    tc_comm_destroy(comm);
    rank = tc_comm_rank(world);
    size = tc_comm_size(world);
}

int main(int argc, char **argv)
{
    tc_comm *comm = NULL;
    tc_status status = tc_comm_init(&argc, &argv, &comm);

    for (int b = 0; b < N_BUCKETS && status == TC_OK; b++)
        status = tc_alloc(counts[b] + 1, sizeof(float), "test bucket", &bucket[b]);
    for (int b = 0; b < N_BUCKETS && status == TC_OK; b++)
        status = tc_alloc(counts[b] + 1, sizeof(float), "test source", &source[b]);
    if (status != TC_OK)
        return tc_exit(comm, status);
    rank = tc_comm_rank(comm);
    size = tc_comm_size(comm);
    tap_ok_all(strcmp(tc_allreduce_name(0), "multicolor") == 0 &&
                   strcmp(tc_allreduce_name(1), "mpi") == 0 && tc_allreduce_name(-1) == NULL,
               "the names");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (LONG || size <= cases[i].most_ranks)
            test_exact(comm, &cases[i]);
        if (LONG || (i < 7 && (size <= 4 || i == 1)))
            test_same_bits(comm, &cases[i]);
    }
    test_order(comm, (tc_allreduce_options)OPTIONS("multicolor", 4, 2, 256, 2));
    test_order(comm, (tc_allreduce_options)OPTIONS("multicolor", 3, 4, 256, 2));
    test_order(comm, (tc_allreduce_options)OPTIONS("multicolor", 1, 1, 256, 2));
    test_order(comm, (tc_allreduce_options)OPTIONS("ring", 0, 0, 256, 2));
    test_order(comm, (tc_allreduce_options)OPTIONS("rabenseifner", 0, 0, 256, 2));
    test_order(comm, (tc_allreduce_options)OPTIONS("doubling", 0, 0, 256, 2));
    test_groups(comm);
    for (tc_wire_type wire = TC_WIRE_BF16; wire <= TC_WIRE_F16; wire++)
        test_wire(comm, wire);
    test_extra(comm, "multicolor");
    test_extra(comm, "mpi");
    test_wrong_use(comm);
    test_mixed(comm);
    test_many_buckets(comm);
    for (int b = 0; b < N_BUCKETS; b++) {
        tc_free(bucket[b]);
        tc_free(source[b]);
    }
    return tap_done_all();
}
