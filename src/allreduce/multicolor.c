/*
 * `multicolor`: several trees at once, each for its part of the vector (Kumar et al. 2017).
 *
 * Color t of k is a d-ary heap over the ranks, rotated by floor(t*n/k), so that the roots, and as
 * far as n allows the inner nodes, are different ranks.  Part t of a bucket goes up tree t and
 * comes down again in chunks; a chunk comes down as soon as the root has it, while later ones still
 * go up.
 *
 * One bucket's part in one tree is a lane.  A lane has links: up to the parent, down from it, and
 * from and to each child.  A link carries the chunks 0, 1, 2, … in order; those in flight occupy
 * the window's slots, chunk c slot c % window.  Everything a link may do follows from a few
 * counters:
 *
 *   from child j   into the scratch slot, once the chunk before it in the slot has been added
 *   add            chunk c of child j after chunk c of child j-1: a fixed order of sums
 *   up             when all children's chunk has been added
 *   down           straight into the vector, once the same chunk has left it upwards
 *   to child j     when the chunk is there: from above, or at the root when it is summed
 */
#include <config.h>

#include "allreduce/allreduce_impl.h"
#include "base/mem.h"
#include "comm/comm_mpi.h"

#include <limits.h>
#include <stdio.h>

#define MAX_TAGS  (1 << 14) /* what the communicator grants; one for each bucket and color */
#define SUM_BLOCK 16        /* floats the compiler turns into vector instructions */

enum { UP, DOWN, FIRST_CHILD }; /* links; then for child j: from 2+2j, to 3+2j */

typedef struct {
    int parent; /* -1 at the root */
    int n_children;
    int *child; /* (n_children) */
} tree;

typedef struct {
    int64_t posted, done; /* chunks [done, posted) are in flight */
} link_state;

typedef struct {
    const tree *tree;
    float *data;           /* the part, while in flight */
    int64_t offset, count; /* floats, in the bucket */
    int64_t chunks;
    int bucket, tag, window;
    int first_slot;   /* of n_links(tree) * window */
    link_state *link; /* (n_links) */
    int64_t *added;   /* (n_children) chunks of each child that are in the sum; never increasing */
    float *scratch;   /* (n_children, window, chunk) */
    bool queued;      /* in the queue of sums */
} lane;

typedef struct {
    int64_t chunk; /* floats */
    int k, n_lanes, n_slots;
    MPI_Comm comm;
    tree *tree;      /* (k) */
    lane *lane;      /* (n, k): lane of color t of bucket b is b*k + t */
    int *lanes_left; /* (n) unfinished lanes of each bucket */
    int *lane_of;    /* (n_slots) */
    bool *busy;      /* (n_slots) the slot's transfer has not completed */
    int *sums;       /* (n_lanes) ring of lanes that have a chunk to add */
    int next_sum, n_sums;
    /* The transfers in flight, without gaps, and room for the caller's request at the end. */
    MPI_Request *request; /* (n_slots + 1) */
    int *slot;            /* (n_slots + 1) */
    int *completed;       /* (n_slots + 1) what Testsome reports */
    int n_requests;
    tc_arena arena;
} multicolor;

static int n_links(const tree *t)
{
    return FIRST_CHILD + 2 * t->n_children;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t chunk_count(const multicolor *m, const lane *l, int64_t c)
{
    return smaller(m->chunk, l->count - c * m->chunk);
}

/* --- The plan ------------------------------------------------------------------------ */

/* Take the tree of color t as this rank sees it. */
static void plan_tree(multicolor *m, const tc_allreduce *ctx, int t)
{
    int64_t n = tc_comm_size(ctx->comm), arity = ctx->options.arity;
    int64_t shift = t * n / m->k;
    int64_t place = (tc_comm_rank(ctx->comm) - shift + n) % n; /* in the heap; 0 is the root */
    int64_t first = place * arity + 1, children = smaller(arity, n - first);
    tree *tr = &m->tree[t];

    tr->parent = place == 0 ? -1 : (int)(((place - 1) / arity + shift) % n);
    tr->n_children = children > 0 ? (int)children : 0;
    tr->child = tc_arena_take(&m->arena, tr->n_children, sizeof *tr->child);
    for (int j = 0; tr->child != NULL && j < tr->n_children; j++) /* NULL: still planning */
        tr->child[j] = (int)((first + j + shift) % n);
}

/* Cut the part of color t out of bucket b. */
static void cut_lane(multicolor *m, const tc_allreduce *ctx, int b, int t)
{
    lane *l = &m->lane[b * m->k + t];
    int64_t even = ctx->count[b] / m->k, rest = ctx->count[b] % m->k;

    l->tree = &m->tree[t];
    l->offset = t * even + smaller(t, rest);
    l->count = even + (t < rest);
    l->chunks = l->count / m->chunk + (l->count % m->chunk != 0);
    l->window = (int)smaller(ctx->options.window, l->chunks);
    l->bucket = b;
    l->tag = b * m->k + t;
}

/* Take the memory of one lane; its slots begin at *slots. */
static void plan_lane(multicolor *m, lane *l, int64_t *slots, int64_t *scratch)
{
    int children = l->tree->n_children, links = n_links(l->tree);
    int64_t floats = (int64_t)children * l->window * smaller(m->chunk, l->count);

    l->first_slot = (int)smaller(*slots, INT_MAX);
    l->link = tc_arena_take(&m->arena, links, sizeof *l->link);
    l->added = tc_arena_take(&m->arena, children, sizeof *l->added);
    l->scratch = tc_arena_take(&m->arena, floats, sizeof *l->scratch);
    *slots += (int64_t)links * l->window;
    *scratch += floats * (int64_t)sizeof *l->scratch;
}

static void plan_slots(multicolor *m, int n)
{
    m->lanes_left = tc_arena_take(&m->arena, n, sizeof *m->lanes_left);
    m->sums = tc_arena_take(&m->arena, m->n_lanes, sizeof *m->sums);
    m->lane_of = tc_arena_take(&m->arena, m->n_slots, sizeof *m->lane_of);
    m->busy = tc_arena_take(&m->arena, m->n_slots, sizeof *m->busy);
    m->request = tc_arena_take(&m->arena, m->n_slots + 1, sizeof *m->request);
    m->slot = tc_arena_take(&m->arena, m->n_slots + 1, sizeof *m->slot);
    m->completed = tc_arena_take(&m->arena, m->n_slots + 1, sizeof *m->completed);
}

/* Trees and lanes stand in memory of their own: the arena is planned from them. */
static tc_status plan(multicolor *m, tc_allreduce *ctx)
{
    tc_status status;

    status = tc_alloc(m->k, sizeof *m->tree, "trees", &m->tree);
    if (status == TC_OK)
        status = tc_alloc(m->n_lanes, sizeof *m->lane, "lanes", &m->lane);
    for (int pass = 0; status == TC_OK && pass < 2; pass++) {
        int64_t slots = 0, scratch = 0;
        for (int t = 0; t < m->k; t++)
            plan_tree(m, ctx, t);
        for (int i = 0; i < m->n_lanes; i++) {
            cut_lane(m, ctx, i / m->k, i % m->k);
            plan_lane(m, &m->lane[i], &slots, &scratch);
        }
        if (slots >= INT_MAX)
            return tc_fail(TC_INVAL,
                           "allreduce: %lld messages in flight: use larger chunks or a "
                           "smaller window",
                           (long long)slots);
        m->n_slots = (int)slots;
        plan_slots(m, ctx->n);
        if (pass == 0)
            status = tc_arena_alloc(&m->arena, "allreduce windows");
        snprintf(ctx->choices, sizeof ctx->choices,
                 "multicolor k=%d d=%d chunk=%lld window=%d scratch=%lld", m->k, ctx->options.arity,
                 (long long)ctx->options.chunk, ctx->options.window, (long long)scratch);
    }
    for (int i = 0; status == TC_OK && i < m->n_lanes; i++) {
        const lane *l = &m->lane[i];
        for (int s = 0; s < n_links(l->tree) * l->window; s++)
            m->lane_of[l->first_slot + s] = i;
    }
    return status;
}

static tc_status multicolor_create(tc_allreduce *ctx)
{
    multicolor *m = NULL;
    int k = ctx->options.colors;

    if ((int64_t)ctx->n * k > MAX_TAGS)
        return tc_fail(TC_INVAL,
                       "allreduce: %d buckets of %d colors are more than %d: use fewer "
                       "colors or larger buckets",
                       ctx->n, k, MAX_TAGS);
    tc_status status = tc_alloc(1, sizeof *m, "multicolor plan", &m);
    if (status != TC_OK)
        return status;
    ctx->plan = m;
    m->k = k;
    m->n_lanes = ctx->n * k;
    m->chunk = ctx->options.chunk < (int64_t)sizeof(float)
                   ? 1
                   : smaller(ctx->options.chunk / (int64_t)sizeof(float), INT_MAX);
    m->comm = tc_comm_mpi(ctx->comm);
    return plan(m, ctx);
}

static void multicolor_destroy(tc_allreduce *ctx)
{
    multicolor *m = ctx->plan;

    if (m == NULL)
        return;
    tc_arena_free(&m->arena);
    tc_free(m->lane);
    tc_free(m->tree);
    tc_free(m);
}

/* --- Transfers ----------------------------------------------------------------------- */

/* Chunks of this lane in which the sum over this rank and all below it is complete. */
static int64_t summed(const lane *l)
{
    int children = l->tree->n_children;

    return children ? l->added[children - 1] : l->chunks;
}

static int64_t arrived_final(const lane *l)
{
    return l->tree->parent < 0 ? summed(l) : l->link[DOWN].done;
}

/* How many chunks the link may have posted by now. */
static int64_t allowed(const lane *l, int link)
{
    int64_t window_from = l->link[link].done, ready;
    bool from_child = link >= FIRST_CHILD && (link - FIRST_CHILD) % 2 == 0;

    if (link == UP) {
        ready = summed(l);
    } else if (link == DOWN) {
        ready = l->link[UP].done;
    } else if (from_child) {
        ready = l->chunks;
        window_from = l->added[(link - FIRST_CHILD) / 2]; /* till then the slot is needed */
    } else {
        ready = arrived_final(l);
    }
    return smaller(ready, window_from + l->window);
}

static tc_status post(multicolor *m, lane *l, int link)
{
    int64_t c = l->link[link].posted++;
    int place = (int)(c % l->window), slot = l->first_slot + link * l->window + place;
    int count = (int)chunk_count(m, l, c), at = m->n_requests++;
    int child = (link - FIRST_CHILD) / 2;
    int peer = link < FIRST_CHILD ? l->tree->parent : l->tree->child[child];
    float *data = l->data + c * m->chunk;

    m->busy[slot] = true;
    m->slot[at] = slot;
    if (link == UP || (link >= FIRST_CHILD && (link - FIRST_CHILD) % 2 == 1)) {
        TC_TRY_MPI(MPI_Isend(data, count, MPI_FLOAT, peer, l->tag, m->comm, &m->request[at]));
        return TC_OK;
    }
    if (link != DOWN)
        data = l->scratch + ((int64_t)child * l->window + place) * smaller(m->chunk, l->count);
    TC_TRY_MPI(MPI_Irecv(data, count, MPI_FLOAT, peer, l->tag, m->comm, &m->request[at]));
    return TC_OK;
}

/* Post whatever the counters of this lane allow. */
static tc_status pump(multicolor *m, lane *l)
{
    for (int link = l->tree->parent < 0 ? FIRST_CHILD : UP; link < n_links(l->tree); link++) {
        int64_t until = allowed(l, link);
        while (l->link[link].posted < until) {
            tc_status status = post(m, l, link);
            if (status != TC_OK)
                return status;
        }
    }
    return TC_OK;
}

static bool lane_is_done(const lane *l)
{
    if (arrived_final(l) < l->chunks)
        return false;
    for (int j = 0; j < l->tree->n_children; j++)
        if (l->link[FIRST_CHILD + 2 * j + 1].done < l->chunks)
            return false;
    return true;
}

/* The child whose next chunk has its turn in the sum, or -1.  The last one possible is taken: it is
 * nearest to completing a chunk. */
static int next_to_add(const lane *l)
{
    for (int j = l->tree->n_children - 1; j >= 0; j--)
        if (l->added[j] < l->link[FIRST_CHILD + 2 * j].done &&
            (j == 0 || l->added[j - 1] > l->added[j]))
            return j;
    return -1;
}

static void queue_sum(multicolor *m, lane *l)
{
    if (l->queued || next_to_add(l) < 0)
        return;
    l->queued = true;
    m->sums[(m->next_sum + m->n_sums++) % m->n_lanes] = (int)(l - m->lane);
}

/* The transfer of this slot has completed: count it, post what it made possible. */
static tc_status complete(tc_allreduce *ctx, multicolor *m, int slot)
{
    lane *l = &m->lane[m->lane_of[slot]];
    int link = (slot - l->first_slot) / l->window;
    link_state *s = &l->link[link];
    const bool *busy = m->busy + l->first_slot + link * l->window;

    m->busy[slot] = false;
    while (s->done < s->posted && !busy[s->done % l->window]) /* they may complete out of order */
        s->done++;
    if (link >= FIRST_CHILD && (link - FIRST_CHILD) % 2 == 0) {
        queue_sum(m, l); /* taken between two looks at the network */
        return TC_OK;
    }
    tc_status status = pump(m, l);
    if (status == TC_OK && lane_is_done(l) && --m->lanes_left[l->bucket] == 0)
        tc_allreduce_finish(ctx, l->bucket);
    return status;
}

/* --- Sums ---------------------------------------------------------------------------- */

static void add(float *restrict sum, const float *restrict term, int64_t count)
{
    int64_t i = 0;

    for (; i + SUM_BLOCK <= count; i += SUM_BLOCK)
        for (int u = 0; u < SUM_BLOCK; u++)
            sum[i + u] += term[i + u];
    for (; i < count; i++)
        sum[i] += term[i];
}

/* Add one chunk of the next lane in the queue. */
static tc_status take_sum(multicolor *m)
{
    lane *l = &m->lane[m->sums[m->next_sum]];
    int j = next_to_add(l);
    int64_t c = l->added[j];

    m->next_sum = (m->next_sum + 1) % m->n_lanes;
    m->n_sums--;
    l->queued = false;
    add(l->data + c * m->chunk,
        l->scratch + ((int64_t)j * l->window + c % l->window) * smaller(m->chunk, l->count),
        chunk_count(m, l, c));
    l->added[j]++;
    queue_sum(m, l);
    return pump(m, l);
}

/* --- Progress ------------------------------------------------------------------------ */

#ifdef SMPI_H /* in a simulation every look costs simulated time, and Waitany sees as much */
enum { LOOKS_ARE_FREE = 0 };
#else
enum { LOOKS_ARE_FREE = 1 };
#endif

/* Put the caller's request behind ours; returns how many there are then. */
static int lend(multicolor *m, const tc_request *extra)
{
    m->request[m->n_requests] = extra != NULL ? extra->mpi : MPI_REQUEST_NULL;
    return m->n_requests + (m->request[m->n_requests] != MPI_REQUEST_NULL);
}

/* Close the gaps that completed transfers left. */
static void compact(multicolor *m)
{
    int kept = 0;

    for (int i = 0; i < m->n_requests; i++)
        if (m->request[i] != MPI_REQUEST_NULL) {
            m->request[kept] = m->request[i];
            m->slot[kept++] = m->slot[i];
        }
    m->n_requests = kept;
}

/* Act on what completed: m->completed[0 … count) are places in the array of `lent` requests. */
static tc_status act(tc_allreduce *ctx, multicolor *m, tc_request *extra, int lent, int count,
                     bool *extra_done_p)
{
    int kept = 0;
    tc_status status = TC_OK;

    if (lent > m->n_requests)
        extra->mpi = m->request[m->n_requests];
    /* First slots for places, without gaps: what follows posts new transfers into the array. */
    for (int i = 0; i < count; i++) {
        if (m->completed[i] == m->n_requests)
            *extra_done_p = true;
        else
            m->completed[kept++] = m->slot[m->completed[i]];
    }
    if (kept > 0)
        compact(m);
    for (int i = 0; i < kept && status == TC_OK; i++)
        status = complete(ctx, m, m->completed[i]);
    return status;
}

/* Look at the network once. */
static tc_status look(tc_allreduce *ctx, multicolor *m, tc_request *extra, bool *extra_done_p,
                      bool *moved_p)
{
    int lent = lend(m, extra), count = 0;

    /* Not Testany: SimGrid's overlooks small sends that are over. */
    TC_TRY_MPI(MPI_Testsome(lent, m->request, &count, m->completed, MPI_STATUSES_IGNORE));
    if (count == MPI_UNDEFINED)
        count = 0;
    *moved_p = *moved_p || count > 0;
    return act(ctx, m, extra, lent, count, extra_done_p);
}

/* Wait for one transfer or extra; returns without moving when nothing is in flight. */
static tc_status wait_for_one(tc_allreduce *ctx, multicolor *m, tc_request *extra,
                              bool *extra_done_p, bool *moved_p)
{
    int lent = lend(m, extra);

    if (lent == 0)
        return TC_OK;
    TC_TRY_MPI(MPI_Waitany(lent, m->request, m->completed, MPI_STATUS_IGNORE));
    *moved_p = m->completed[0] != MPI_UNDEFINED;
    return act(ctx, m, extra, lent, *moved_p, extra_done_p);
}

static tc_status multicolor_start(tc_allreduce *ctx, int b, float *data)
{
    multicolor *m = ctx->plan;
    int rank = tc_comm_rank(ctx->comm);

    m->lanes_left[b] = 0;
    for (int t = 0; t < m->k; t++)
        m->lanes_left[b] += m->lane[b * m->k + t].chunks > 0;
    for (int i = 0; i < m->k; i++) { /* each rank begins with another root */
        lane *l = &m->lane[b * m->k + (i + rank) % m->k];
        l->data = data + l->offset;
        for (int link = 0; link < n_links(l->tree); link++)
            l->link[link] = (link_state){ 0, 0 };
        for (int j = 0; j < l->tree->n_children; j++)
            l->added[j] = 0;
        tc_status status = pump(m, l);
        if (status != TC_OK)
            return status;
    }
    return TC_OK;
}

static tc_status multicolor_progress(tc_allreduce *ctx, tc_progress_mode mode, tc_request *extra,
                                     bool *extra_done_p, bool *moved_p)
{
    multicolor *m = ctx->plan;

    while (ctx->n_finished == 0 && !*extra_done_p) {
        bool moved = false;
        tc_status status = TC_OK;
        if (mode == TC_POLL || (LOOKS_ARE_FREE && m->n_sums > 0))
            status = look(ctx, m, extra, extra_done_p, &moved);
        if (status == TC_OK && m->n_sums > 0) {
            status = take_sum(m);
            moved = true;
        }
        if (status == TC_OK && !moved && mode == TC_BLOCK)
            status = wait_for_one(ctx, m, extra, extra_done_p, &moved);
        *moved_p = *moved_p || moved;
        if (status != TC_OK || !moved)
            return status;
    }
    return TC_OK;
}

const tc_allreduce_algorithm tc_allreduce_multicolor = {
    .name = "multicolor",
    .overlaps = true,
    .create = multicolor_create,
    .destroy = multicolor_destroy,
    .start = multicolor_start,
    .progress = multicolor_progress,
};
