#include <config.h>

#include "allreduce/allreduce.h"

#include "allreduce/allreduce_impl.h"
#include "allreduce/auto.h"
#include "allreduce/engine.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_COLORS 4
#define DEFAULT_ARITY  4
/* With its header below the 64 KiB up to which Open MPI's TCP sends without asking. */
#define DEFAULT_CHUNK     61440
#define CHUNK_OF_STARS    65536              /* a root is not flooded: its senders ask first */
#define CHUNK_ON_ONE_HOST 524288             /* the copy and its sum stay in a core's cache */
#define MAX_CHUNK         (INT64_C(1) << 31) /* bytes: its floats fit an MPI count */

static const tc_allreduce_algorithm *const algorithms[] = {
    &tc_allreduce_multicolor,   &tc_allreduce_mpi,      &tc_allreduce_ring,
    &tc_allreduce_rabenseifner, &tc_allreduce_doubling,
};

const char *tc_allreduce_name(int i)
{
    int n = (int)(sizeof algorithms / sizeof algorithms[0]);

    return i >= 0 && i < n ? algorithms[i]->name : NULL;
}

bool tc_allreduce_blocks(const char *name)
{
    for (int i = 0; tc_allreduce_name(i) != NULL; i++)
        if (strcmp(name, tc_allreduce_name(i)) == 0)
            return algorithms[i]->plan == NULL;
    return false;
}

static tc_status find_algorithm(const char *name, const tc_allreduce_algorithm **algorithm_p)
{
    char list[128] = "";

    for (int i = 0; tc_allreduce_name(i) != NULL; i++) {
        if (name != NULL && strcmp(name, tc_allreduce_name(i)) == 0) {
            *algorithm_p = algorithms[i];
            return TC_OK;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", tc_allreduce_name(i));
    }
    return tc_fail(TC_INVAL, "no allreduce is called '%s': choose one of %s, auto",
                   name ? name : "", list);
}

/* Chunk and window where the caller leaves them open; all measured, see doc/PERFORMANCE. */
static void fill_in(tc_comm *comm, bool trees, tc_allreduce_options *o)
{
    int ranks = tc_comm_size(comm);
    bool one_host = tc_comm_host_count(comm) == 1, stars = trees && o->arity >= ranks - 1;

    if (o->chunk < 0)
        o->chunk = MAX_CHUNK;
    if (o->chunk == 0)
        o->chunk = one_host ? CHUNK_ON_ONE_HOST : stars ? CHUNK_OF_STARS : DEFAULT_CHUNK;
    if (o->window == 0 && one_host) /* two ranks keep each other busy with a single chunk */
        o->window = ranks <= 2 ? 1 : 4;
    if (o->window == 0)
        o->window = trees && !stars ? 2 : 4;
}

tc_status tc_allreduce_resolve(tc_comm *comm, const tc_allreduce_options *options, tc_variant *v)
{
    int ranks = tc_comm_size(comm), star = ranks > 1 ? ranks - 1 : 1;
    tc_allreduce_options *o = &v->options;
    tc_status status = find_algorithm(options->algorithm, &v->algorithm);

    if (status != TC_OK)
        return status;
    *o = *options;
    o->algorithm = v->algorithm->name;
    o->topology = o->cache = NULL; /* the caller's */
    if (o->colors < 0)
        return tc_fail(TC_INVAL, "allreduce: %d colors: use 0 (the default) or more", o->colors);
    if (o->chunk > MAX_CHUNK)
        return tc_fail(TC_INVAL, "allreduce: chunks of %lld bytes: use 0 (the default) to %lld",
                       (long long)o->chunk, (long long)MAX_CHUNK);
    if (o->window < 0)
        return tc_fail(TC_INVAL, "allreduce: a window of %d chunks: use 0 (the default) or more",
                       o->window);
    if (o->wire != TC_WIRE_F32 && v->algorithm->plan == NULL)
        return tc_fail(TC_INVAL,
                       "allreduce: %s sends floats: use another algorithm for a "
                       "narrow wire",
                       v->algorithm->name);
    if (o->colors == 0)
        o->colors = DEFAULT_COLORS;
    if (o->colors > ranks)
        o->colors = ranks;
    if (o->arity < 0)
        o->arity = DEFAULT_ARITY;
    if (o->arity == 0 || o->arity > star)
        o->arity = star;
    if (!v->algorithm->has_trees) {
        o->colors = 0;
        o->arity = -1;
    }
    if (v->algorithm->plan == NULL) { /* nothing to choose */
        o->chunk = o->window = 0;
        return TC_OK;
    }
    fill_in(comm, v->algorithm->has_trees, o);
    return TC_OK;
}

bool tc_variant_is_same(const tc_variant *a, const tc_variant *b)
{
    const tc_allreduce_options *x = &a->options, *y = &b->options;

    return a->algorithm == b->algorithm && x->colors == y->colors && x->arity == y->arity &&
           x->chunk == y->chunk && x->window == y->window && x->wire == y->wire;
}

/* How bucket b is summed: as another before it, or in a way of its own. */
static tc_status add_variant(tc_allreduce *ctx, int b, const tc_allreduce_options *options)
{
    tc_variant new = { 0 };
    int v = 0;
    tc_status status = tc_allreduce_resolve(ctx->comm, options, &new);

    if (status != TC_OK)
        return status;
    while (v < ctx->n_variants && !tc_variant_is_same(&ctx->variant[v], &new))
        v++;
    ctx->variant_of[b] = v;
    if (v < ctx->n_variants)
        return TC_OK;
    ctx->variant[ctx->n_variants++] = new;
    if (new.algorithm->plan == NULL)
        return TC_OK;
    new.algorithm->plan(ctx, &new.options, &ctx->variant[v].plan);
    return tc_plan_close(&ctx->variant[v].plan, new.options.wire != TC_WIRE_F32);
}

static tc_status take_memory(tc_allreduce *ctx)
{
    tc_status status = tc_alloc(ctx->n, sizeof *ctx->count, "bucket sizes", &ctx->count);

    if (status == TC_OK)
        status = tc_alloc(ctx->n, sizeof *ctx->finished, "finished buckets", &ctx->finished);
    if (status == TC_OK)
        status = tc_alloc(ctx->n, sizeof *ctx->in_flight, "bucket states", &ctx->in_flight);
    if (status == TC_OK)
        status = tc_alloc(ctx->n, sizeof *ctx->variant, "allreduce options", &ctx->variant);
    if (status == TC_OK)
        status = tc_alloc(ctx->n, sizeof *ctx->variant_of, "buckets' options", &ctx->variant_of);
    return status;
}

static tc_status build(tc_allreduce *ctx, const tc_allreduce_options *options, bool each, int n,
                       const int64_t *count)
{
    tc_status status = TC_OK;

    if (n < 1)
        return tc_fail(TC_INVAL, "allreduce: %d buckets: at least 1 is needed", n);
    for (int b = 0; b < n; b++)
        if (count[b] < 0)
            return tc_fail(TC_INVAL, "allreduce: bucket %d has %lld floats", b,
                           (long long)count[b]);
    ctx->n = n;
    status = take_memory(ctx);
    if (status != TC_OK)
        return status;
    memcpy(ctx->count, count, (size_t)n * sizeof *count);
    for (int b = 0; b < n && status == TC_OK; b++)
        status = add_variant(ctx, b, each ? &options[b] : options);
    return status == TC_OK ? tc_engine_create(ctx) : status;
}

/* --- What was chosen ------------------------------------------------------------------ */

TC_PRINTF(2, 3) static void say(tc_allreduce *ctx, const char *fmt, ...)
{
    size_t used = strlen(ctx->choices);
    va_list args;

    va_start(args, fmt);
    vsnprintf(ctx->choices + used, sizeof ctx->choices - used, fmt, args);
    va_end(args);
}

static void say_variant(tc_allreduce *ctx, const tc_variant *v)
{
    const tc_allreduce_options *o = &v->options;

    say(ctx, "%s", v->algorithm->name);
    if (v->algorithm->has_trees)
        say(ctx, " k=%d d=%d", o->colors, o->arity);
    if (v->algorithm->plan != NULL)
        say(ctx, " chunk=%lld window=%d", (long long)o->chunk, o->window);
    if (o->wire != TC_WIRE_F32)
        say(ctx, " wire=%s", tc_wire_get(o->wire).name);
}

static void write_choices(tc_allreduce *ctx)
{
    bool memory = false;

    for (int v = 0; v < ctx->n_variants; v++) {
        if (v > 0)
            say(ctx, "; ");
        say_variant(ctx, &ctx->variant[v]);
        memory = memory || ctx->variant[v].algorithm->plan != NULL;
        for (int b = 0, first = 0; b < ctx->n && ctx->n_variants > 1; b++) { /* runs of buckets */
            bool mine = ctx->variant_of[b] == v, more = b + 1 < ctx->n;
            if (b == 0 || ctx->variant_of[b - 1] != v)
                first = b;
            if (mine && !(more && ctx->variant_of[b + 1] == v))
                say(ctx, first == b ? " [%d]" : " [%d-%d]", first, b);
        }
    }
    if (memory)
        say(ctx, " memory=%lld", (long long)ctx->engine->arena.size);
}

/* --- Contexts ------------------------------------------------------------------------- */

static uint32_t hash_number(uint32_t hash, int64_t x)
{
    for (int byte = 0; byte < 8; byte++)
        hash = (hash ^ (uint32_t)((uint64_t)x >> 8 * byte & 0xff)) * 16777619u;
    return hash;
}

/* Refuse plans that differ between ranks: they would wait for messages that nobody sends. */
static tc_status compare_plans(const tc_allreduce *ctx)
{
    uint32_t hash = hash_number(2166136261u, ctx->n); /* FNV-1a over what shapes the messages */

    for (int b = 0; b < ctx->n; b++) {
        const tc_allreduce_options *o = &ctx->variant[ctx->variant_of[b]].options;
        const int64_t shape[] = { ctx->count[b], o->colors, o->arity,
                                  o->chunk,      o->window, (int64_t)o->wire };
        for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++)
            hash = hash_number(hash, shape[i]);
        for (const char *c = o->algorithm; *c != '\0'; c++)
            hash = hash_number(hash, *c);
    }
    double extremes[2] = { hash, -(double)hash };
    tc_status status = tc_comm_max(ctx->comm, extremes, 2);
    if (status == TC_OK && extremes[0] != -extremes[1])
        status = tc_fail(TC_INVAL, "allreduce: options or bucket sizes differ between the ranks");
    return status;
}

static tc_status create(tc_comm *comm, const tc_allreduce_options *options, bool each, int n,
                        const int64_t *count, tc_allreduce **ctx_p)
{
    tc_allreduce *ctx = NULL;
    tc_status status = tc_alloc(1, sizeof *ctx, "allreduce context", &ctx);

    status = tc_comm_agree(comm, status);
    if (status == TC_OK)
        status = tc_places_find(comm, options->topology, &ctx->places);
    if (status != TC_OK) {
        tc_free(ctx);
        return status;
    }
    ctx->comm = comm;
    status = tc_comm_agree(comm, build(ctx, options, each, n, count));
    if (status == TC_OK)
        status = compare_plans(ctx); /* the same verdict on all ranks */
    if (status != TC_OK) {
        tc_allreduce_destroy(ctx);
        return status;
    }
    write_choices(ctx);
    *ctx_p = ctx;
    return TC_OK;
}

tc_status tc_allreduce_create(tc_comm *comm, const tc_allreduce_options *options, int n,
                              const int64_t *count, tc_allreduce **ctx_p)
{
    bool is_auto = options->algorithm != NULL && strcmp(options->algorithm, "auto") == 0;
    double extremes[2] = { is_auto, -(double)is_auto };
    tc_allreduce_options *choice = NULL;
    tc_status status = tc_comm_max(comm, extremes, 2);

    if (status == TC_OK && extremes[0] != -extremes[1])
        status = tc_fail(TC_INVAL, "allreduce: the algorithms differ between the ranks");
    if (status != TC_OK || !is_auto)
        return status == TC_OK ? create(comm, options, false, n, count, ctx_p) : status;
    status = tc_comm_agree(comm, tc_alloc(n > 1 ? n : 1, sizeof *choice, "choices", &choice));
    if (status == TC_OK)
        status = tc_auto_choose(comm, options, n, count, choice);
    if (status == TC_OK) {
        choice[0].topology = options->topology;
        status = create(comm, choice, true, n, count, ctx_p);
    }
    tc_free(choice);
    return status;
}

tc_status tc_allreduce_create_each(tc_comm *comm, const tc_allreduce_options *options, int n,
                                   const int64_t *count, tc_allreduce **ctx_p)
{
    return create(comm, options, true, n, count, ctx_p);
}

void tc_allreduce_destroy(tc_allreduce *ctx)
{
    if (ctx == NULL)
        return;
    tc_engine_destroy(ctx);
    for (int v = 0; v < ctx->n_variants; v++)
        tc_plan_free(&ctx->variant[v].plan);
    tc_places_free(&ctx->places);
    tc_free(ctx->variant_of);
    tc_free(ctx->variant);
    tc_free(ctx->in_flight);
    tc_free(ctx->finished);
    tc_free(ctx->count);
    tc_free(ctx);
}

tc_status tc_allreduce_start(tc_allreduce *ctx, int b, float *data)
{
    return tc_allreduce_start_from(ctx, b, data, data);
}

tc_status tc_allreduce_start_from(tc_allreduce *ctx, int b, const float *src, float *dst)
{
    if (b < 0 || b >= ctx->n)
        return tc_fail(TC_INVAL, "allreduce: there is no bucket %d of %d", b, ctx->n);
    if (ctx->in_flight[b])
        return tc_fail(TC_INVAL, "allreduce: bucket %d is still in flight", b);
    ctx->in_flight[b] = true;
    ctx->n_in_flight++;
    if (ctx->count[b] == 0 || tc_comm_size(ctx->comm) == 1) {
        if (src != dst)
            memcpy(dst, src, (size_t)ctx->count[b] * sizeof *dst);
        tc_allreduce_finish(ctx, b); /* the sum is there */
        return TC_OK;
    }
    const tc_allreduce_algorithm *algorithm = ctx->variant[ctx->variant_of[b]].algorithm;
    if (algorithm->plan != NULL)
        return tc_engine_start(ctx, b, src, dst);
    tc_status status = algorithm->sum(ctx, ctx->count[b], src, dst);
    if (status == TC_OK)
        tc_allreduce_finish(ctx, b);
    return status;
}

void tc_allreduce_finish(tc_allreduce *ctx, int b)
{
    ctx->finished[(ctx->next_finished + ctx->n_finished++) % ctx->n] = b;
}

static int take_finished(tc_allreduce *ctx)
{
    int b = ctx->finished[ctx->next_finished];

    ctx->next_finished = (ctx->next_finished + 1) % ctx->n;
    ctx->n_finished--;
    ctx->in_flight[b] = false;
    ctx->n_in_flight--;
    return b;
}

tc_status tc_allreduce_progress(tc_allreduce *ctx, tc_progress_mode mode, tc_request *extra,
                                int *done_p, bool *moved_p)
{
    bool extra_done = false, moved = ctx->n_finished > 0;

    if (ctx->n_finished == 0) {
        tc_status status = tc_engine_progress(ctx, mode, extra, &extra_done, &moved);
        if (status != TC_OK)
            return status;
    }
    if (moved_p != NULL)
        *moved_p = moved;
    if (extra_done) /* first: nothing else remembers it, a bucket stays in the ring */
        *done_p = TC_EXTRA;
    else
        *done_p = ctx->n_finished > 0 ? take_finished(ctx) : TC_NONE;
    return TC_OK;
}

tc_status tc_allreduce_run(tc_allreduce *ctx, int b, float *data)
{
    int done = TC_NONE;
    tc_status status;

    if (ctx->n_in_flight > 0)
        return tc_fail(TC_INVAL, "allreduce: run() while buckets are in flight");
    status = tc_allreduce_start(ctx, b, data);
    while (status == TC_OK && done != b)
        status = tc_allreduce_progress(ctx, TC_BLOCK, NULL, &done, NULL);
    return status;
}

bool tc_allreduce_overlaps(const tc_allreduce *ctx)
{
    for (int v = 0; v < ctx->n_variants; v++)
        if (ctx->variant[v].algorithm->plan != NULL)
            return true;
    return false;
}

tc_allreduce_options tc_allreduce_of_bucket(const tc_allreduce *ctx, int b)
{
    return ctx->variant[ctx->variant_of[b]].options;
}

const char *tc_allreduce_choices(const tc_allreduce *ctx)
{
    return ctx->choices;
}
