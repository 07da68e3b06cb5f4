/* Plans carried out: buckets, the requests of all their flows, and how to wait for them. */
#include <config.h>

#include "allreduce/engine.h"

#include <limits.h>
#include <string.h>

#define MAX_TAGS    (1 << 14) /* what the communicator grants; one for each bucket and color */
#define SLOT_FLOATS 32        /* slots begin on cache lines, on a narrow wire, too */

/* --- Memory -------------------------------------------------------------------------- */

static int64_t chunk_floats(const tc_allreduce_options *o, size_t bytes)
{
    int64_t floats = o->chunk / (int64_t)bytes;

    return floats < 1 ? 1 : floats < INT_MAX ? floats : INT_MAX;
}

/* Lay the buckets out: tags and flows follow each other. */
static tc_status plan_buckets(tc_engine *e, const tc_allreduce *ctx)
{
    int64_t flows = 0, tags = 0;

    for (int i = 0; i < e->n; i++) {
        const tc_variant *v = &ctx->variant[ctx->variant_of[i]];
        tc_bucket *b = &e->bucket[i];
        b->plan = &v->plan;
        b->wire = tc_wire_get(v->options.wire);
        b->chunk = chunk_floats(&v->options, b->wire.bytes);
        b->window = v->options.window;
        b->count = ctx->count[i];
        b->first_tag = (int)tags;
        tags += v->plan.n_colors;
        flows += v->plan.n_flows;
        if (tags > MAX_TAGS)
            return tc_fail(TC_INVAL,
                           "allreduce: %d buckets of %d colors are more than %d: use fewer colors "
                           "or larger buckets",
                           e->n, v->plan.n_colors, MAX_TAGS);
    }
    if (flows >= INT_MAX)
        return tc_fail(TC_INVAL, "allreduce: %lld flows: use fewer colors", (long long)flows);
    e->n_flows = (int)flows;
    return TC_OK;
}

/* Take the memory of one flow; its slots begin at *slots. */
static void plan_flow(tc_engine *e, const tc_bucket *b, tc_flow *f, int64_t *slots)
{
    int64_t largest = 0, chunks = tc_flow_chunks(e, f, &largest);

    f->window = (int)(chunks < b->window ? chunks : b->window);
    f->slot_floats = (largest + SLOT_FLOATS - 1) / SLOT_FLOATS * SLOT_FLOATS;
    f->first_slot = (int)(*slots < INT_MAX ? *slots : INT_MAX);
    *slots += f->window;
    if (b->plan->flow[f->number].adds || b->wire.bytes < sizeof(float))
        f->stage = tc_arena_take(&e->arena, f->window * f->slot_floats, b->wire.bytes);
}

static void plan_slots(tc_engine *e)
{
    for (int b = 0; b < e->n; b++)
        e->bucket[b].done =
            tc_arena_take(&e->arena, e->bucket[b].plan->n_steps, sizeof *e->bucket[b].done);
    e->queue = tc_arena_take(&e->arena, e->n_flows, sizeof *e->queue);
    e->flow_of = tc_arena_take(&e->arena, e->n_slots, sizeof *e->flow_of);
    e->busy = tc_arena_take(&e->arena, e->n_slots, sizeof *e->busy);
    e->request = tc_arena_take(&e->arena, e->n_slots + 1, sizeof *e->request);
    e->slot = tc_arena_take(&e->arena, e->n_slots + 1, sizeof *e->slot);
    e->completed = tc_arena_take(&e->arena, e->n_slots + 1, sizeof *e->completed);
}

/* Buckets and flows stand in memory of their own: the arena is planned from them. */
static tc_status take_memory(tc_engine *e)
{
    tc_flow *f = NULL;
    tc_status status = tc_alloc(e->n_flows, sizeof *e->flow, "flows", &e->flow);

    for (int pass = 0; status == TC_OK && pass < 2; pass++) {
        int64_t slots = 0;
        f = e->flow;
        for (int b = 0; b < e->n; b++) {
            e->bucket[b].flow = f;
            for (int i = 0; i < e->bucket[b].plan->n_flows; i++, f++) {
                f->bucket = b;
                f->number = i;
                plan_flow(e, &e->bucket[b], f, &slots);
            }
        }
        if (slots >= INT_MAX)
            return tc_fail(TC_INVAL,
                           "allreduce: %lld messages in flight: use larger chunks or a smaller "
                           "window",
                           (long long)slots);
        e->n_slots = (int)slots;
        plan_slots(e);
        if (pass == 0)
            status = tc_arena_alloc(&e->arena, "allreduce windows");
    }
    for (int i = 0; status == TC_OK && i < e->n_flows; i++)
        for (int s = 0; s < e->flow[i].window; s++)
            e->flow_of[e->flow[i].first_slot + s] = i;
    return status;
}

tc_status tc_engine_create(tc_allreduce *ctx)
{
    tc_engine *e = NULL;
    tc_status status = tc_alloc(1, sizeof *e, "allreduce engine", &e);

    if (status != TC_OK)
        return status;
    ctx->engine = e;
    e->comm = tc_comm_mpi(ctx->comm);
    e->n = ctx->n;
    status = tc_alloc(e->n, sizeof *e->bucket, "buckets", &e->bucket);
    if (status == TC_OK)
        status = plan_buckets(e, ctx);
    return status == TC_OK ? take_memory(e) : status;
}

void tc_engine_destroy(tc_allreduce *ctx)
{
    tc_engine *e = ctx->engine;

    if (e == NULL)
        return;
    tc_arena_free(&e->arena);
    tc_free(e->flow);
    tc_free(e->bucket);
    tc_free(e);
}

/* --- Chunks to take ------------------------------------------------------------------ */

void tc_engine_queue(tc_engine *e, tc_flow *f)
{
    if (f->queued || !tc_flow_can_take(e, f))
        return;
    f->queued = true;
    e->queue[(e->next_queued + e->n_queued++) % e->n_flows] = (int)(f - e->flow);
}

/* The flow may have come to its end, and its bucket. */
static void see_end(tc_allreduce *ctx, tc_engine *e, const tc_flow *f)
{
    if (tc_flow_is_done(e, f) && --e->bucket[f->bucket].flows_left == 0)
        tc_allreduce_finish(ctx, f->bucket);
}

static tc_status take_one(tc_allreduce *ctx, tc_engine *e)
{
    tc_flow *f = &e->flow[e->queue[e->next_queued]];

    e->next_queued = (e->next_queued + 1) % e->n_flows;
    e->n_queued--;
    f->queued = false;
    tc_status status = tc_flow_take(e, f);
    if (status == TC_OK)
        see_end(ctx, e, f);
    return status;
}

/* --- Requests ------------------------------------------------------------------------ */

#ifdef SMPI_H /* in a simulation every look costs simulated time, and Waitany sees as much */
enum { LOOKS_ARE_FREE = 0 };
#else
enum { LOOKS_ARE_FREE = 1 };
#endif

/* Put the caller's request behind ours; returns how many there are then. */
static int lend(tc_engine *e, const tc_request *extra)
{
    e->request[e->n_requests] = extra != NULL ? extra->mpi : MPI_REQUEST_NULL;
    return e->n_requests + (e->request[e->n_requests] != MPI_REQUEST_NULL);
}

/* Close the gaps that completed transfers left. */
static void compact(tc_engine *e)
{
    int kept = 0;

    for (int i = 0; i < e->n_requests; i++)
        if (e->request[i] != MPI_REQUEST_NULL) {
            e->request[kept] = e->request[i];
            e->slot[kept++] = e->slot[i];
        }
    e->n_requests = kept;
}

/* Act on what completed: e->completed[0 … count) are places in the array of `lent` requests. */
static tc_status act(tc_allreduce *ctx, tc_engine *e, tc_request *extra, int lent, int count,
                     bool *extra_done_p)
{
    int kept = 0;
    tc_status status = TC_OK;

    if (lent > e->n_requests)
        extra->mpi = e->request[e->n_requests];
    /* First slots for places, without gaps: what follows posts new transfers into the array. */
    for (int i = 0; i < count; i++) {
        if (e->completed[i] == e->n_requests)
            *extra_done_p = true;
        else
            e->completed[kept++] = e->slot[e->completed[i]];
    }
    if (kept > 0)
        compact(e);
    for (int i = 0; i < kept && status == TC_OK; i++) {
        tc_flow *f = &e->flow[e->flow_of[e->completed[i]]];
        bool was_done = tc_flow_is_done(e, f);
        status = tc_flow_arrive(e, f, e->completed[i]);
        if (status == TC_OK && !was_done)
            see_end(ctx, e, f);
    }
    return status;
}

/* Look at the network once. */
static tc_status look(tc_allreduce *ctx, tc_engine *e, tc_request *extra, bool *extra_done_p,
                      bool *moved_p)
{
    int lent = lend(e, extra), count = 0;

    /* Not Testany: SimGrid's overlooks small sends that are over. */
    TC_TRY_MPI(MPI_Testsome(lent, e->request, &count, e->completed, MPI_STATUSES_IGNORE));
    if (count == MPI_UNDEFINED)
        count = 0;
    *moved_p = *moved_p || count > 0;
    if (count > 0 || e->n_requests == 0)
        tc_watch_moved(&e->watch);
    else if (LOOKS_ARE_FREE) {
        tc_status status = tc_watch_idle(ctx->comm, &e->watch, "allreduce");
        if (status != TC_OK)
            return status;
    }
    return act(ctx, e, extra, lent, count, extra_done_p);
}

#ifdef SMPI_H
/* Wait for one transfer or extra; returns without moving when nothing is in flight. */
static tc_status wait_for_one(tc_allreduce *ctx, tc_engine *e, tc_request *extra,
                              bool *extra_done_p, bool *moved_p)
{
    int lent = lend(e, extra);

    if (lent == 0)
        return TC_OK;
    TC_TRY_MPI(MPI_Waitany(lent, e->request, e->completed, MPI_STATUS_IGNORE));
    *moved_p = e->completed[0] != MPI_UNDEFINED;
    return act(ctx, e, extra, lent, *moved_p, extra_done_p);
}
#else
/* The same by looking, so that other ranks get the core and no rank is waited for for ever. */
static tc_status wait_for_one(tc_allreduce *ctx, tc_engine *e, tc_request *extra,
                              bool *extra_done_p, bool *moved_p)
{
    tc_status status = TC_OK;

    while (status == TC_OK && !*moved_p && lend(e, extra) > 0) {
        status = look(ctx, e, extra, extra_done_p, moved_p);
        if (!*moved_p)
            tc_watch_pause(&e->watch);
    }
    return status;
}
#endif

/* --- Buckets ------------------------------------------------------------------------- */

tc_status tc_engine_start(tc_allreduce *ctx, int b, const float *src, float *dst)
{
    tc_engine *e = ctx->engine;
    tc_bucket *bucket = &e->bucket[b];
    tc_status status = TC_OK;

    if (src != dst && bucket->plan->copies_first) {
        memcpy(dst, src, (size_t)bucket->count * sizeof *dst);
        src = dst;
    }
    bucket->src = src;
    bucket->dst = dst;
    bucket->flows_left = 0;
    for (int i = 0; i < bucket->plan->n_flows; i++)
        bucket->flows_left += tc_flow_reset(e, &bucket->flow[i]);
    for (int i = 0; i < bucket->plan->n_flows && status == TC_OK; i++)
        status = tc_flow_post(e, &bucket->flow[i]);
    return status;
}

tc_status tc_engine_progress(tc_allreduce *ctx, tc_progress_mode mode, tc_request *extra,
                             bool *extra_done_p, bool *moved_p)
{
    tc_engine *e = ctx->engine;

    while (ctx->n_finished == 0 && !*extra_done_p) {
        bool moved = false;
        tc_status status = TC_OK;
        if (mode == TC_POLL || (LOOKS_ARE_FREE && e->n_queued > 0))
            status = look(ctx, e, extra, extra_done_p, &moved);
        if (status == TC_OK && e->n_queued > 0) {
            status = take_one(ctx, e);
            moved = true;
        }
        if (status == TC_OK && !moved && mode == TC_BLOCK)
            status = wait_for_one(ctx, e, extra, extra_done_p, &moved);
        *moved_p = *moved_p || moved;
        if (status != TC_OK || !moved)
            return status;
    }
    return TC_OK;
}
