/* One flow of one bucket: which chunk may move, where it comes from and goes to. */
#include <config.h>

#include "allreduce/engine.h"

#include <string.h>

#define LINE 16 /* floats: chunks begin on cache lines of their step */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static tc_bucket *bucket_of(const tc_engine *e, const tc_flow *f)
{
    return &e->bucket[f->bucket];
}

static bool is_narrow(const tc_bucket *b)
{
    return b->wire.bytes < sizeof(float);
}

/* Whether chunks of this step wait in the stage, between wire and vector. */
static bool is_staged(const tc_bucket *b, const tc_step *s)
{
    return s->kind == TC_STEP_ADD || (s->kind == TC_STEP_STORE && is_narrow(b));
}

static void *slot_of(const tc_engine *e, const tc_flow *f, int64_t chunk)
{
    return f->stage + chunk % f->window * f->slot_floats * (int64_t)bucket_of(e, f)->wire.bytes;
}

static int step_number(const tc_engine *e, const tc_flow *f, int i)
{
    const tc_plan *plan = bucket_of(e, f)->plan;

    return plan->order[plan->flow[f->number].first + i];
}

static const tc_step *step_at(const tc_engine *e, const tc_flow *f, int i)
{
    return &bucket_of(e, f)->plan->step[step_number(e, f, i)];
}

/* Where part p of the bucket begins: parts differ by one float at most. */
static int64_t cut(const tc_engine *e, const tc_flow *f, int p)
{
    int64_t count = bucket_of(e, f)->count, parts = bucket_of(e, f)->plan->n_parts;

    return p * (count / parts) + smaller(p, count % parts);
}

/* The floats of the chunk that begins at the cursor.  A step is cut evenly. */
static int64_t chunk_count(const tc_engine *e, const tc_flow *f, const tc_cursor *c)
{
    const tc_step *s = step_at(e, f, c->step);
    int64_t chunk = bucket_of(e, f)->chunk, end = cut(e, f, s->to);
    int64_t length = end - cut(e, f, s->from), pieces = length / chunk + (length % chunk != 0);
    int64_t even = (length + pieces - 1) / pieces;

    even = smaller(chunk, (even + LINE - 1) / LINE * LINE);
    return smaller(even, end - c->at);
}

static int step_count(const tc_engine *e, const tc_flow *f)
{
    return bucket_of(e, f)->plan->flow[f->number].n;
}

/* Go on to the next step that has floats, if the step at hand has none left. */
static void settle(const tc_engine *e, const tc_flow *f, tc_cursor *c)
{
    int n = step_count(e, f);

    while (c->step < n && c->at >= cut(e, f, step_at(e, f, c->step)->to)) {
        if (++c->step < n)
            c->at = cut(e, f, step_at(e, f, c->step)->from);
    }
}

static void advance(const tc_engine *e, const tc_flow *f, tc_cursor *c)
{
    c->at += chunk_count(e, f, c);
    c->chunks++;
    settle(e, f, c);
}

static bool at_end(const tc_engine *e, const tc_flow *f, const tc_cursor *c)
{
    return c->step == step_count(e, f);
}

static void rewind_cursor(const tc_engine *e, const tc_flow *f, tc_cursor *c)
{
    *c = (tc_cursor){ 0 };
    if (!at_end(e, f, c)) {
        c->at = cut(e, f, step_at(e, f, 0)->from);
        settle(e, f, c);
    }
}

int64_t tc_flow_chunks(const tc_engine *e, const tc_flow *f, int64_t *largest_p)
{
    tc_cursor c;

    *largest_p = 0;
    for (rewind_cursor(e, f, &c); !at_end(e, f, &c); advance(e, f, &c)) {
        int64_t count = chunk_count(e, f, &c);
        *largest_p = count > *largest_p ? count : *largest_p;
    }
    return c.chunks;
}

bool tc_flow_reset(tc_engine *e, tc_flow *f)
{
    rewind_cursor(e, f, &f->post);
    f->arrive = f->take = f->post;
    for (int i = 0; i < step_count(e, f); i++)
        bucket_of(e, f)->done[step_number(e, f, i)] = cut(e, f, step_at(e, f, i)->from);
    return !at_end(e, f, &f->post);
}

/* Whether everything that step s needs has been done up to this place of the vector. */
static bool needs_are_done(const tc_engine *e, const tc_flow *f, const tc_step *s, int64_t until)
{
    const tc_plan *plan = bucket_of(e, f)->plan;
    const int64_t *done = bucket_of(e, f)->done;

    for (int i = 0; i < s->n_needs; i++) {
        int need = plan->need[s->first_need + i];
        const tc_step *early = &plan->step[need];
        if (done[need] < until && done[need] < cut(e, f, early->to) &&
            cut(e, f, early->from) < until)
            return false;
    }
    return true;
}

static bool may_post(const tc_engine *e, const tc_flow *f)
{
    const tc_cursor *c = &f->post;

    if (at_end(e, f, c) || c->chunks - f->take.chunks >= f->window)
        return false;
    const tc_step *s = step_at(e, f, c->step);
    return is_staged(bucket_of(e, f), s) || needs_are_done(e, f, s, c->at + chunk_count(e, f, c));
}

static tc_status post(tc_engine *e, tc_flow *f)
{
    const tc_step *s = step_at(e, f, f->post.step);
    const tc_bucket *b = bucket_of(e, f);
    int64_t count = chunk_count(e, f, &f->post), at = f->post.at;
    int slot = f->first_slot + (int)(f->post.chunks % f->window);
    int tag = b->first_tag + s->color;
    MPI_Request *request = &e->request[e->n_requests];
    void *stage = slot_of(e, f, f->post.chunks);

    e->busy[slot] = true;
    e->slot[e->n_requests++] = slot;
    advance(e, f, &f->post);
    if (s->kind == TC_STEP_SEND) {
        const void *from = (s->fresh ? b->src : b->dst) + at;
        if (is_narrow(b)) {
            b->wire.narrow(stage, from, count);
            from = stage;
        }
        if (s->round)
            b->wire.widen(b->dst + at, stage, count);
        TC_TRY_MPI(MPI_Isend(from, (int)count, b->wire.type, s->peer, tag, e->comm, request));
        return TC_OK;
    }
    TC_TRY_MPI(MPI_Irecv(is_staged(b, s) ? stage : b->dst + at, (int)count, b->wire.type, s->peer,
                         tag, e->comm, request));
    return TC_OK;
}

tc_status tc_flow_post(tc_engine *e, tc_flow *f)
{
    tc_status status = TC_OK;

    while (status == TC_OK && may_post(e, f))
        status = post(e, f);
    return status;
}

bool tc_flow_can_take(const tc_engine *e, const tc_flow *f)
{
    const tc_cursor *c = &f->take;

    return f->arrive.chunks > c->chunks &&
           needs_are_done(e, f, step_at(e, f, c->step), c->at + chunk_count(e, f, c));
}

/* The step has done one chunk more: go on with whatever waited for it. */
static tc_status step_is_done_until(tc_engine *e, tc_flow *f, int step, int64_t until)
{
    const tc_bucket *b = bucket_of(e, f);
    const tc_step *s = &b->plan->step[step];
    tc_status status = TC_OK;

    b->done[step] = until;
    for (int i = 0; i < s->n_wakes && status == TC_OK; i++) {
        tc_flow *waiting = b->flow + b->plan->wake[s->first_wake + i];
        status = tc_flow_post(e, waiting);
        tc_engine_queue(e, waiting);
    }
    return status;
}

/* The chunk at f->take is where it belongs. */
static tc_status pass(tc_engine *e, tc_flow *f)
{
    int step = step_number(e, f, f->take.step);
    int64_t until = f->take.at + chunk_count(e, f, &f->take);

    advance(e, f, &f->take);
    return step_is_done_until(e, f, step, until);
}

/* Pass the chunks that need no stage, then see what the window has room for. */
static tc_status pass_all(tc_engine *e, tc_flow *f)
{
    tc_status status = TC_OK;

    while (status == TC_OK && f->take.chunks < f->arrive.chunks &&
           !is_staged(bucket_of(e, f), step_at(e, f, f->take.step)))
        status = pass(e, f);
    tc_engine_queue(e, f); /* what is staged is taken between two looks at the network */
    return status == TC_OK ? tc_flow_post(e, f) : status;
}

tc_status tc_flow_arrive(tc_engine *e, tc_flow *f, int slot)
{
    const bool *busy = e->busy + f->first_slot;

    e->busy[slot] = false;
    while (f->arrive.chunks < f->post.chunks &&
           !busy[f->arrive.chunks % f->window]) /* they may complete out of order */
        advance(e, f, &f->arrive);
    return pass_all(e, f);
}

tc_status tc_flow_take(tc_engine *e, tc_flow *f)
{
    const tc_step *s = step_at(e, f, f->take.step);
    const tc_bucket *b = bucket_of(e, f);
    int64_t count = chunk_count(e, f, &f->take), at = f->take.at;
    void *stage = slot_of(e, f, f->take.chunks);

    if (s->kind == TC_STEP_STORE) {
        b->wire.widen(b->dst + at, stage, count);
    } else {
        if (s->fresh && b->src != b->dst)
            memcpy(b->dst + at, b->src + at, (size_t)count * sizeof *b->dst);
        b->wire.add(b->dst + at, stage, count);
        if (s->round) {
            b->wire.narrow(stage, b->dst + at, count);
            b->wire.widen(b->dst + at, stage, count);
        }
    }
    tc_status status = pass(e, f);
    return status == TC_OK ? pass_all(e, f) : status;
}

bool tc_flow_is_done(const tc_engine *e, const tc_flow *f)
{
    return at_end(e, f, &f->take);
}
