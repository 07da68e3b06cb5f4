/*
 * `multicolor`: several trees at once, each for its part of the vector (Kumar et al. 2017).
 *
 * Color t of k is a d-ary heap over the ranks, rotated by floor(t*n/k), so that the roots, and as
 * far as n allows the inner nodes, are different ranks.  Part t of a bucket goes up tree t and
 * comes down again in chunks; a chunk comes down as soon as the root has it, while later ones still
 * go up.  Own value, then child 0 with all below it, then child 1, …: the order of the sums.
 *
 * Where d = n-1 the trees are stars, and all ranks would send to one root at once.  There they take
 * turns: in round r a rank sends to the r-th before it, and receives from the r-th after it; on the
 * way down the other way round.  The order of the sums is the same.
 */
#include <config.h>

#include "allreduce/engine.h"

/* The heap of one color, as this rank sees it. */
static void plan_tree(const tc_allreduce *ctx, tc_plan *plan, int t)
{
    int64_t n = tc_comm_size(ctx->comm), arity = ctx->options.arity;
    int64_t shift = t * n / ctx->options.colors;
    int64_t place = (tc_comm_rank(ctx->comm) - shift + n) % n; /* in the heap; 0 is the root */
    int64_t first = place * arity + 1, past = first + arity < n ? first + arity : n;
    int parent = (int)(((place - 1) / arity + shift) % n);

    for (int64_t child = first; child < past; child++)
        tc_plan_step(plan, tc_plan_flow(plan, false), TC_STEP_ADD, (int)((child + shift) % n), t,
                     t + 1, t, child + 1 == past && place == 0 ? TC_STEP_ROUND : 0);
    if (place > 0) {
        tc_plan_step(plan, tc_plan_flow(plan, true), TC_STEP_SEND, parent, t, t + 1, t, 0);
        tc_plan_step(plan, tc_plan_flow(plan, false), TC_STEP_STORE, parent, t, t + 1, t, 0);
    }
    for (int64_t child = first; child < past; child++)
        tc_plan_step(plan, tc_plan_flow(plan, true), TC_STEP_SEND, (int)((child + shift) % n), t,
                     t + 1, t, 0);
}

/* The color whose root this rank is, or -1. */
static int color_of_root(const tc_allreduce *ctx, int rank)
{
    int64_t n = tc_comm_size(ctx->comm), k = ctx->options.colors;
    int64_t t = ((int64_t)rank * k + n - 1) / n; /* the smallest t with t*n/k >= rank */

    return t < k && t * n / k == rank ? (int)t : -1;
}

/* All stars at once, in turns. */
static void plan_stars(const tc_allreduce *ctx, tc_plan *plan)
{
    int n = tc_comm_size(ctx->comm), rank = tc_comm_rank(ctx->comm);
    int send = tc_plan_flow(plan, true), add = tc_plan_flow(plan, false);
    int store = tc_plan_flow(plan, false), own = color_of_root(ctx, rank);

    for (int round = 1; round < n; round++) { /* up */
        int root = (rank - round + n) % n, t = color_of_root(ctx, root);
        if (t >= 0)
            tc_plan_step(plan, send, TC_STEP_SEND, root, t, t + 1, t, 0);
        if (own >= 0)
            tc_plan_step(plan, add, TC_STEP_ADD, (rank + round) % n, own, own + 1, own,
                         round == n - 1 ? TC_STEP_ROUND : 0);
    }
    for (int round = 1; round < n; round++) { /* down */
        int root = (rank - round + n) % n, t = color_of_root(ctx, root);
        if (own >= 0)
            tc_plan_step(plan, send, TC_STEP_SEND, (rank + round) % n, own, own + 1, own, 0);
        if (t >= 0)
            tc_plan_step(plan, store, TC_STEP_STORE, root, t, t + 1, t, 0);
    }
}

static void multicolor_plan(const tc_allreduce *ctx, tc_plan *plan)
{
    int k = ctx->options.colors, n = tc_comm_size(ctx->comm);

    tc_plan_init(plan, k, k);
    if (n > 1 && ctx->options.arity >= n - 1)
        plan_stars(ctx, plan);
    else
        for (int i = 0; i < k; i++) /* each rank begins with another root */
            plan_tree(ctx, plan, (i + tc_comm_rank(ctx->comm)) % k);
}

const tc_allreduce_algorithm tc_allreduce_multicolor = {
    .name = "multicolor", .has_trees = true, .plan = multicolor_plan, TC_ENGINE_FUNCTIONS
};
