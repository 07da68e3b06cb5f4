#include <config.h>

#include "allreduce/allreduce.h"

#include "allreduce/allreduce_impl.h"
#include "base/mem.h"

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
    return tc_fail(TC_INVAL, "no allreduce is called '%s': choose one of %s", name ? name : "",
                   list);
}

/* Chunk and window where the caller leaves them open; all measured, see doc/PERFORMANCE. */
static void fill_in(const tc_allreduce *ctx, tc_allreduce_options *o)
{
    int ranks = tc_comm_size(ctx->comm);
    bool one_host = tc_comm_host_count(ctx->comm) == 1;
    bool trees = ctx->algorithm->has_trees, stars = trees && o->arity >= ranks - 1;

    if (o->chunk < 0)
        o->chunk = MAX_CHUNK;
    if (o->chunk == 0)
        o->chunk = one_host ? CHUNK_ON_ONE_HOST : stars ? CHUNK_OF_STARS : DEFAULT_CHUNK;
    if (o->window == 0 && one_host) /* two ranks keep each other busy with a single chunk */
        o->window = ranks <= 2 ? 1 : 4;
    if (o->window == 0)
        o->window = trees && !stars ? 2 : 4;
}

/* Check the options and fill in the defaults for this number of ranks. */
static tc_status resolve(const tc_allreduce *ctx, tc_allreduce_options *o)
{
    int ranks = tc_comm_size(ctx->comm), star = ranks > 1 ? ranks - 1 : 1;

    if (o->colors < 0)
        return tc_fail(TC_INVAL, "allreduce: %d colors: use 0 (the default) or more", o->colors);
    if (o->chunk > MAX_CHUNK)
        return tc_fail(TC_INVAL, "allreduce: chunks of %lld bytes: use 0 (the default) to %lld",
                       (long long)o->chunk, (long long)MAX_CHUNK);
    if (o->window < 0)
        return tc_fail(TC_INVAL, "allreduce: a window of %d chunks: use 0 (the default) or more",
                       o->window);
    if (o->wire != TC_WIRE_F32 && ctx->algorithm->plan == NULL)
        return tc_fail(TC_INVAL,
                       "allreduce: %s sends floats: use another algorithm for a "
                       "narrow wire",
                       ctx->algorithm->name);
    if (o->colors == 0)
        o->colors = DEFAULT_COLORS;
    if (o->colors > ranks)
        o->colors = ranks;
    if (o->arity < 0)
        o->arity = DEFAULT_ARITY;
    if (o->arity == 0 || o->arity > star)
        o->arity = star;
    fill_in(ctx, o);
    return TC_OK;
}

static tc_status build(tc_allreduce *ctx, const tc_allreduce_options *options, int n,
                       const int64_t *count)
{
    tc_status status = find_algorithm(options->algorithm, &ctx->algorithm);

    ctx->options = *options;
    ctx->options.topology = NULL; /* the caller's */
    if (status == TC_OK)
        status = resolve(ctx, &ctx->options);
    if (status == TC_OK && n < 1)
        status = tc_fail(TC_INVAL, "allreduce: %d buckets: at least 1 is needed", n);
    for (int b = 0; status == TC_OK && b < n; b++)
        if (count[b] < 0)
            status =
                tc_fail(TC_INVAL, "allreduce: bucket %d has %lld floats", b, (long long)count[b]);
    if (status != TC_OK)
        return status;
    ctx->n = n;
    status = tc_alloc(n, sizeof *ctx->count, "bucket sizes", &ctx->count);
    if (status == TC_OK)
        status = tc_alloc(n, sizeof *ctx->finished, "finished buckets", &ctx->finished);
    if (status == TC_OK)
        status = tc_alloc(n, sizeof *ctx->in_flight, "bucket states", &ctx->in_flight);
    if (status != TC_OK)
        return status;
    memcpy(ctx->count, count, (size_t)n * sizeof *count);
    return ctx->algorithm->create(ctx);
}

/* Refuse plans that differ between ranks: they would wait for messages that nobody sends. */
static tc_status compare_plans(const tc_allreduce *ctx)
{
    const tc_allreduce_options *o = &ctx->options;
    uint32_t hash = 2166136261u; /* FNV-1a over the numbers that shape the messages */
    int64_t shape[6] = { o->colors, o->arity, o->chunk, o->window, ctx->n, (int64_t)o->wire };

    for (int i = 0; i < 6 + ctx->n; i++) {
        uint64_t x = (uint64_t)(i < 6 ? shape[i] : ctx->count[i - 6]);
        for (int byte = 0; byte < 8; byte++)
            hash = (hash ^ (uint32_t)(x >> 8 * byte & 0xff)) * 16777619u;
    }
    for (const char *c = ctx->algorithm->name; *c != '\0'; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619u;
    double extremes[2] = { hash, -(double)hash };
    tc_status status = tc_comm_max(ctx->comm, extremes, 2);
    if (status == TC_OK && extremes[0] != -extremes[1])
        status = tc_fail(TC_INVAL, "allreduce: options or bucket sizes differ between the ranks");
    return status;
}

tc_status tc_allreduce_create(tc_comm *comm, const tc_allreduce_options *options, int n,
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
    status = tc_comm_agree(comm, build(ctx, options, n, count));
    if (status == TC_OK)
        status = compare_plans(ctx); /* the same verdict on all ranks */
    if (status != TC_OK) {
        tc_allreduce_destroy(ctx);
        return status;
    }
    *ctx_p = ctx;
    return TC_OK;
}

void tc_allreduce_destroy(tc_allreduce *ctx)
{
    if (ctx == NULL)
        return;
    if (ctx->algorithm != NULL)
        ctx->algorithm->destroy(ctx);
    tc_places_free(&ctx->places);
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
    return ctx->algorithm->start(ctx, b, src, dst);
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
        tc_status status = ctx->algorithm->progress(ctx, mode, extra, &extra_done, &moved);
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
    return ctx->algorithm->overlaps;
}

const char *tc_allreduce_choices(const tc_allreduce *ctx)
{
    return ctx->choices;
}
