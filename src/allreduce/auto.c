#include <config.h>

#include "allreduce/auto.h"

#include "allreduce/allreduce_impl.h"
#include "allreduce/cache.h"
#include "allreduce/spec.h"
#include "base/log.h"
#include "timing/timing.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define TRIAL   ((int64_t)2 << 20) /* floats: up to here everything is tried */
#define NEAR    1.25               /* what takes longer, beside the fastest, is out */
#define SECONDS 10.0               /* of a class: about as long it may take */
enum { FINALISTS = 6, KEY_SIZE = 256, SPEC_SIZE = 160 };

/* What may be best somewhere; where two are the same for these ranks, the second is left out. */
static const tc_allreduce_options usual[] = {
    { .algorithm = "multicolor", .arity = -1 },
    { .algorithm = "multicolor", .arity = -1, .chunk = 16384, .window = 4 },
    { .algorithm = "multicolor", .arity = -1, .chunk = 262144, .window = 2 },
    { .algorithm = "multicolor", .arity = 2 },
    { .algorithm = "multicolor", .colors = 8, .arity = 4 },
    { .algorithm = "multicolor", .colors = 1, .arity = 2 },
    { .algorithm = "multicolor", .colors = INT_MAX, .arity = 2 },
    { .algorithm = "multicolor", .colors = INT_MAX, .arity = 4 },
    { .algorithm = "multicolor", .colors = INT_MAX }, /* stars */
    { .algorithm = "multicolor", .colors = INT_MAX, .chunk = 262144 },
    { .algorithm = "multicolor", .colors = INT_MAX, .chunk = -1 },
    { .algorithm = "ring" },
    { .algorithm = "ring", .chunk = 16384 },
    { .algorithm = "ring", .chunk = 262144, .window = 2 },
    { .algorithm = "ring", .chunk = -1 },
    { .algorithm = "rabenseifner" },
    { .algorithm = "rabenseifner", .chunk = -1 },
    { .algorithm = "doubling" },
    { .algorithm = "doubling", .chunk = -1 },
    { .algorithm = "mpi" },
};
enum { MOST = sizeof usual / sizeof usual[0] };

typedef struct {
    tc_comm *comm;
    const tc_allreduce_options *options;
    char shape[KEY_SIZE / 2]; /* who the choices hold for */
    float *x;                 /* zeros stay zeros, however often summed */
} chooser;

/* Candidates of one class of sizes. */
typedef struct {
    chooser *chooser;
    int n;
    tc_variant candidate[MOST];
    tc_allreduce *ctx[MOST];
    tc_timing timing[MOST];
} race;

/* --- Candidates ----------------------------------------------------------------------- */

static tc_status list_candidates(race *r, int64_t count)
{
    const tc_allreduce_options *o = r->chooser->options;
    int64_t bytes = count * (int64_t)sizeof(float);

    for (int i = 0; i < MOST; i++) {
        tc_allreduce_options options = usual[i];
        tc_variant *new = &r->candidate[r->n];
        bool known = false;
        options.wire = o->wire;
        if (strcmp(options.algorithm, "mpi") == 0 && (o->overlapped || o->wire != TC_WIRE_F32))
            continue;
        tc_status status = tc_allreduce_resolve(r->chooser->comm, &options, new);
        if (status != TC_OK)
            return status;
        if (new->options.chunk > bytes &&new->algorithm->plan != NULL)
            new->options.chunk = bytes;
        for (int e = 0; e < r->n; e++)
            known = known || tc_variant_is_same(&r->candidate[e], new);
        r->n += !known;
    }
    return TC_OK;
}

static tc_status run_one(void *arg, int i)
{
    const race *r = arg;

    return tc_allreduce_run(r->ctx[i], 0, r->chooser->x);
}

/* Time the candidates on `count` floats. */
static tc_status take_turns(race *r, int64_t count, int rounds)
{
    tc_status status = TC_OK;

    for (int i = 0; i < r->n && status == TC_OK; i++) {
        tc_allreduce_options options = r->candidate[i].options;
        options.topology = r->chooser->options->topology;
        status = tc_allreduce_create(r->chooser->comm, &options, 1, &count, &r->ctx[i]);
    }
    if (status == TC_OK)
        status = tc_timing_turns(r->chooser->comm, r->n, 1, rounds, run_one, r, r->timing);
    for (int i = 0; i < r->n; i++) {
        tc_allreduce_destroy(r->ctx[i]);
        r->ctx[i] = NULL;
    }
    return status;
}

/* The fastest first; what was listed before stays before its equals. */
static void sort(race *r)
{
    for (int i = 1; i < r->n; i++)
        for (int k = i; k > 0 && r->timing[k].median < r->timing[k - 1].median; k--) {
            tc_timing timing = r->timing[k];
            tc_variant candidate = r->candidate[k];
            r->timing[k] = r->timing[k - 1];
            r->candidate[k] = r->candidate[k - 1];
            r->timing[k - 1] = timing;
            r->candidate[k - 1] = candidate;
        }
}

/* Rounds, an odd number of them, that fit the time. */
static int rounds_in(double seconds, double of_round, int least, int most)
{
    double fit = of_round > 0.0 ? seconds / of_round : most;

    return fit < least ? least : fit > most ? most : (int)fit | 1;
}

/* --- One class of sizes --------------------------------------------------------------- */

static void describe(const tc_variant *v, char *text, size_t size)
{
    const tc_allreduce_spec spec = { .options = v->options };

    tc_allreduce_spec_print(&spec, text, size);
}

/* Say what won, and by how much. */
static void announce(const race *r, int64_t count, int tried)
{
    char first[SPEC_SIZE], second[SPEC_SIZE] = "nothing else";
    double lead = 0.0;

    if (tc_comm_rank(r->chooser->comm) != 0)
        return;
    describe(&r->candidate[0], first, sizeof first);
    if (r->n > 1) {
        describe(&r->candidate[1], second, sizeof second);
        lead = r->timing[1].median / r->timing[0].median;
    }
    tc_log(TC_LOG_INFO, "allreduce", "auto: %lld bytes: %s, %.1f us; next of %d: %s, %.2f times",
           (long long)count * (long long)sizeof(float), first, r->timing[0].median * 1e6, tried,
           second, lead);
}

/* Those that are left once more, on more floats if the time allows. */
static tc_status run_final(race *r, int64_t count, int64_t *length_p)
{
    double each = r->timing[0].median / (double)*length_p * r->n * NEAR; /* s a round and float */
    double fit = SECONDS / (5.0 + 1.0) / each;

    if (r->n == 1)
        return TC_OK;
    if (*length_p < count && fit > (double)*length_p)
        *length_p = fit < (double)count ? (int64_t)fit : count;
    tc_status status =
        take_turns(r, *length_p, rounds_in(SECONDS, each * (double)*length_p, 5, 31));
    if (status == TC_OK)
        sort(r);
    return status;
}

/* Let all candidates race for vectors of so many floats. */
static tc_status measure(chooser *c, int64_t count, tc_allreduce_options *choice, double *seconds_p)
{
    race r = { .chooser = c };
    int64_t length = count < TRIAL ? count : TRIAL;
    double sum = 0.0;
    tc_status status = tc_comm_agree(c->comm, list_candidates(&r, count));

    if (status == TC_OK)
        status = take_turns(&r, length, 1);
    if (status != TC_OK)
        return status;
    int tried = r.n;
    for (int i = 0; i < r.n; i++)
        sum += r.timing[i].median;
    if (sum < SECONDS / 10.0) { /* cheap: look again, longer */
        status = take_turns(&r, length, rounds_in(SECONDS / 10.0, sum, 3, 15));
        if (status != TC_OK)
            return status;
    }
    sort(&r);
    while (r.n > 1 && (r.n > FINALISTS || r.timing[r.n - 1].median > NEAR * r.timing[0].median))
        r.n--;
    status = run_final(&r, count, &length);
    if (status != TC_OK)
        return status;
    announce(&r, count, tried);
    *choice = r.candidate[0].options;
    *seconds_p = r.timing[0].median * (double)count / (double)length;
    return TC_OK;
}

/* --- The cache ------------------------------------------------------------------------ */

static void write_shape(chooser *c, const tc_places *places)
{
    uint32_t hash = 2166136261u; /* FNV-1a over who is where */

    for (int i = 0; i < places->n; i++)
        hash = (hash ^ (uint32_t)places->rank[i]) * 16777619u;
    for (int i = 0; i <= places->n_nodes; i++)
        hash = (hash ^ (uint32_t)places->node_at[i]) * 16777619u;
    for (int i = 0; i <= places->n_leaves; i++)
        hash = (hash ^ (uint32_t)places->leaf_at[i]) * 16777619u;
    snprintf(c->shape, sizeof c->shape, "tricolor=%s ranks=%d nodes=%d places=%08x",
             PACKAGE_VERSION, places->n, places->n_nodes, (unsigned)hash);
}

static void write_key(const chooser *c, int64_t count, char *key)
{
    static const char *const word[] = { "f32", "bf16", "f16" };

    snprintf(key, KEY_SIZE, "%s wire=%s overlapped=%d bytes=%lld", c->shape, word[c->options->wire],
             c->options->overlapped, (long long)count * (long long)sizeof(float));
}

/* What the cache says, on all ranks: spec is "" where it says nothing. */
static tc_status ask_cache(const chooser *c, int64_t count, char *spec,
                           tc_allreduce_options *choice)
{
    const char *path = c->options->cache;
    tc_allreduce_spec read;
    char key[KEY_SIZE];
    tc_status status = TC_OK;

    memset(spec, 0, SPEC_SIZE);
    if (path == NULL)
        return TC_OK;
    write_key(c, count, key);
    if (tc_comm_rank(c->comm) == 0) {
        status = tc_cache_find(path, key, spec, SPEC_SIZE);
        if (status == TC_OK && spec[0] != '\0' && tc_allreduce_spec_parse(spec, &read) != TC_OK)
            status = tc_fail(TC_FORMAT, "%s: choice=%s: %s: remove the line", path, spec,
                             tc_error_detail());
        if (status == TC_OK && spec[0] == '\0')
            status = tc_cache_prepare(path);
    }
    status = tc_comm_agree(c->comm, status);
    if (status == TC_OK)
        status = tc_comm_bcast(c->comm, spec, SPEC_SIZE, 0);
    if (status != TC_OK || spec[0] == '\0')
        return status;
    status = tc_comm_agree(c->comm, tc_allreduce_spec_parse(spec, &read));
    if (status != TC_OK)
        return status;
    *choice = read.options;
    if (tc_comm_rank(c->comm) == 0)
        tc_log(TC_LOG_INFO, "allreduce", "auto: %lld bytes: %s, as chosen before (%s)",
               (long long)count * (long long)sizeof(float), spec, path);
    return TC_OK;
}

static tc_status choose_class(chooser *c, int64_t count, tc_allreduce_options *choice)
{
    char key[KEY_SIZE], spec[SPEC_SIZE];
    double seconds = 0.0;
    tc_status status = ask_cache(c, count, spec, choice);

    if (status != TC_OK || spec[0] != '\0')
        return status;
    status = measure(c, count, choice, &seconds);
    if (status != TC_OK || c->options->cache == NULL)
        return status;
    if (tc_comm_rank(c->comm) == 0) {
        const tc_variant v = { .options = *choice };
        write_key(c, count, key);
        describe(&v, spec, sizeof spec);
        status = tc_cache_add(c->options->cache, key, seconds, spec);
    }
    return tc_comm_agree(c->comm, status);
}

/* --- All buckets ---------------------------------------------------------------------- */

/* Sizes that differ between the ranks would let the candidates wait for ever. */
static tc_status compare_sizes(tc_comm *comm, int n, const int64_t *count)
{
    double extremes[4] = { n, -n, 0.0, 0.0 };
    uint32_t hash = 2166136261u;
    bool negative = n < 1;

    for (int b = 0; b < n; b++) {
        hash = (hash ^ (uint32_t)((uint64_t)count[b] >> 32)) * 16777619u;
        hash = (hash ^ (uint32_t)count[b]) * 16777619u;
        negative = negative || count[b] < 0;
    }
    extremes[2] = hash;
    extremes[3] = -(double)hash;
    tc_status status =
        tc_comm_agree(comm, negative ? tc_fail(TC_INVAL, "allreduce: auto needs buckets, and "
                                                         "none of negative size")
                                     : TC_OK);
    if (status == TC_OK)
        status = tc_comm_max(comm, extremes, 4);
    if (status == TC_OK && (extremes[0] != -extremes[1] || extremes[2] != -extremes[3]))
        status = tc_fail(TC_INVAL, "allreduce: options or bucket sizes differ between the ranks");
    return status;
}

static tc_status choose_all(chooser *c, int n, const int64_t *count, tc_allreduce_options *choice)
{
    tc_status status = TC_OK;

    for (int b = 0; b < n; b++) /* what is left of it stays so: empty buckets, a single rank */
        choice[b] = (tc_allreduce_options){ .algorithm = NULL };
    while (status == TC_OK) {
        int64_t largest = 0;
        tc_allreduce_options found = { .algorithm = "multicolor", .arity = -1 };
        for (int b = 0; b < n; b++)
            if (choice[b].algorithm == NULL && count[b] > largest)
                largest = count[b];
        if (largest > 0 && tc_comm_size(c->comm) > 1)
            status = choose_class(c, largest, &found);
        found.wire = c->options->wire;
        for (int b = 0; b < n && status == TC_OK; b++)
            if (choice[b].algorithm == NULL && count[b] >= largest / 2)
                choice[b] = found;
        if (largest == 0)
            break;
    }
    return status;
}

tc_status tc_auto_choose(tc_comm *comm, const tc_allreduce_options *options, int n,
                         const int64_t *count, tc_allreduce_options *choice)
{
    chooser c = { .comm = comm, .options = options };
    int64_t largest = 0;
    tc_places places = { 0 };
    tc_status status = compare_sizes(comm, n, count);

    if (status == TC_OK)
        status = tc_places_find(comm, options->topology, &places);
    if (status != TC_OK)
        return status;
    write_shape(&c, &places);
    tc_places_free(&places);
    for (int b = 0; b < n; b++)
        largest = count[b] > largest ? count[b] : largest;
    status = tc_comm_agree(comm, tc_alloc(largest, sizeof *c.x, "a vector to measure with", &c.x));
    if (status == TC_OK)
        status = choose_all(&c, n, count, choice);
    tc_free(c.x);
    return status;
}
