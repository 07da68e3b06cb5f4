/*
 * `multicolor`: several trees at once, each for its part of the vector (Kumar et al. 2017).
 *
 * Color t of k is a d-ary heap over the ranks, rotated by floor(t*n/k), so that the roots, and as
 * far as n allows the inner nodes, are different ranks; where several ranks share a host, or hosts
 * a leaf switch, it is a heap of heaps (places.h).  Part t of a bucket goes up tree t and comes
 * down again in chunks; a chunk comes down as soon as the root has it, while later ones still go
 * up.  Own value, then child 0 with all below it, then child 1, …: the order of the sums.
 *
 * Where d = n-1 the trees are stars, and all ranks would send to one root at once.  There they take
 * turns: in round r a rank sends to the r-th before it, and receives from the r-th after it; on the
 * way down the other way round.  The order of the sums is the same.
 */
#include <config.h>

#include "allreduce/allreduce_impl.h"

/* The tree of one color, as this rank sees it. */
static void plan_tree(const tc_allreduce *ctx, const tc_allreduce_options *o, tc_plan *plan, int t)
{
    int rank = tc_comm_rank(ctx->comm);
    tc_tree tree;
    tc_status status = tc_tree_build(&ctx->places, o->colors, o->arity, t, &tree);

    if (status != TC_OK) {
        plan->status = status;
        return;
    }
    int parent = tree.parent[rank], first = tree.child_at[rank], past = tree.child_at[rank + 1];
    for (int c = first; c < past; c++)
        tc_plan_step(plan, tc_plan_flow(plan, false), TC_STEP_ADD, tree.child[c], t, t + 1, t,
                     c + 1 == past && parent < 0 ? TC_STEP_ROUND : 0);
    if (parent >= 0) {
        tc_plan_step(plan, tc_plan_flow(plan, true), TC_STEP_SEND, parent, t, t + 1, t, 0);
        tc_plan_step(plan, tc_plan_flow(plan, false), TC_STEP_STORE, parent, t, t + 1, t, 0);
    }
    for (int c = first; c < past; c++)
        tc_plan_step(plan, tc_plan_flow(plan, true), TC_STEP_SEND, tree.child[c], t, t + 1, t, 0);
    tc_tree_free(&tree);
}

/* The color whose root this rank is, or -1. */
static int color_of_root(int64_t n, int64_t k, int rank)
{
    int64_t t = ((int64_t)rank * k + n - 1) / n; /* the smallest t with t*n/k >= rank */

    return t < k && t * n / k == rank ? (int)t : -1;
}

/* All stars at once, in turns. */
static void plan_stars(const tc_allreduce *ctx, int k, tc_plan *plan)
{
    int n = tc_comm_size(ctx->comm), rank = tc_comm_rank(ctx->comm);
    int send = tc_plan_flow(plan, true), add = tc_plan_flow(plan, false);
    int store = tc_plan_flow(plan, false), own = color_of_root(n, k, rank);

    for (int round = 1; round < n; round++) { /* up */
        int root = (rank - round + n) % n, t = color_of_root(n, k, root);
        if (t >= 0)
            tc_plan_step(plan, send, TC_STEP_SEND, root, t, t + 1, t, 0);
        if (own >= 0)
            tc_plan_step(plan, add, TC_STEP_ADD, (rank + round) % n, own, own + 1, own,
                         round == n - 1 ? TC_STEP_ROUND : 0);
    }
    for (int round = 1; round < n; round++) { /* down */
        int root = (rank - round + n) % n, t = color_of_root(n, k, root);
        if (own >= 0)
            tc_plan_step(plan, send, TC_STEP_SEND, (rank + round) % n, own, own + 1, own, 0);
        if (t >= 0)
            tc_plan_step(plan, store, TC_STEP_STORE, root, t, t + 1, t, 0);
    }
}

static void multicolor_plan(const tc_allreduce *ctx, const tc_allreduce_options *o, tc_plan *plan)
{
    int k = o->colors, n = tc_comm_size(ctx->comm);

    tc_plan_init(plan, k, k);
    if (n > 1 && o->arity >= n - 1 && tc_places_are_flat(&ctx->places))
        plan_stars(ctx, k, plan);
    else
        for (int i = 0; i < k; i++) /* each rank begins with another root */
            plan_tree(ctx, o, plan, (i + tc_comm_rank(ctx->comm)) % k);
}

const tc_allreduce_algorithm tc_allreduce_multicolor = { .name = "multicolor",
                                                         .has_trees = true,
                                                         .plan = multicolor_plan };
