/*
 * `rabenseifner`: recursive halving, then recursive doubling (Rabenseifner 2004), and `doubling`:
 * recursive doubling of the whole vector, in the fewest messages, for short ones (Thakur et al.
 * 2005).
 *
 * Both work on the largest power of two of ranks.  Of the others, each lends its values to the rank
 * before it and gets the result (by place, see places.h): x[0]+x[1] counts as one value, then
 * x[2]+x[3], … for as many as there are too many.  Values are then added as in a tournament: (v0 +
 * v1) + (v2 + v3), …  Both partners of a match add the same two numbers, and a + b is b + a to the
 * last bit.
 */
#include <config.h>

#include "allreduce/allreduce_impl.h"

enum { SUMS, RESULTS, COLORS };

typedef struct {
    tc_plan *plan;
    const tc_places *places; /* neighbours there share a host */
    int players, extra;      /* a power of two of ranks, and the others */
    int player;              /* its number; -1: lends its values */
    int partner;             /* the rank that lends to it or borrows from it; -1: none */
    int send, add, store;
} tournament;

static int rank_of(const tournament *t, int player)
{
    return t->places->rank[player < t->extra ? 2 * player : player + t->extra];
}

/* Begin the plan: extra ranks lend their values. */
static void lend_values(const tc_allreduce *ctx, tournament *t, int parts)
{
    int n = tc_comm_size(ctx->comm), place = ctx->places.place[tc_comm_rank(ctx->comm)];

    t->places = &ctx->places;
    t->extra = n - t->players;
    t->player = place >= 2 * t->extra ? place - t->extra : place % 2 == 0 ? place / 2 : -1;
    t->partner = t->player < 0          ? ctx->places.rank[place - 1]
                 : t->player < t->extra ? ctx->places.rank[place + 1]
                                        : -1;
    tc_plan_init(t->plan, parts, COLORS);
    t->send = tc_plan_flow(t->plan, true);
    t->add = tc_plan_flow(t->plan, false);
    t->store = tc_plan_flow(t->plan, false);
    if (t->player < 0)
        tc_plan_step(t->plan, t->send, TC_STEP_SEND, t->partner, 0, parts, SUMS, 0);
    else if (t->player < t->extra)
        tc_plan_step(t->plan, t->add, TC_STEP_ADD, t->partner, 0, parts, SUMS, 0);
}

/* End the plan: they get the result. */
static void return_results(tournament *t, int parts)
{
    if (t->player < 0)
        tc_plan_step(t->plan, t->store, TC_STEP_STORE, t->partner, 0, parts, RESULTS, 0);
    else if (t->player < t->extra)
        tc_plan_step(t->plan, t->send, TC_STEP_SEND, t->partner, 0, parts, RESULTS, 0);
}

static int largest_power_of_two(int n)
{
    int power = 1;

    while (power <= n / 2)
        power *= 2;
    return power;
}

static void rabenseifner_plan(const tc_allreduce *ctx, const tc_allreduce_options *o, tc_plan *plan)
{
    tournament t = { .plan = plan, .players = largest_power_of_two(tc_comm_size(ctx->comm)) };
    int from = 0, to = t.players, half;

    (void)o; /* it has no shape to choose */
    lend_values(ctx, &t, t.players);
    /* Neighbours exchange the most. */
    for (int bit = 1; t.player >= 0 && bit < t.players; bit *= 2) {
        int peer = rank_of(&t, t.player ^ bit), middle = (from + to) / 2;
        bool upper = (t.player & bit) != 0;
        tc_plan_step(plan, t.send, TC_STEP_SEND, peer, upper ? from : middle, upper ? middle : to,
                     SUMS, 0);
        from = upper ? middle : from;
        to = upper ? to : middle;
        tc_plan_step(plan, t.add, TC_STEP_ADD, peer, from, to, SUMS,
                     2 * bit == t.players ? TC_STEP_ROUND : 0);
    }
    for (int bit = t.players / 2; t.player >= 0 && bit > 0; bit /= 2) {
        int peer = rank_of(&t, t.player ^ bit);
        bool upper = (t.player & bit) != 0;
        half = to - from;
        tc_plan_step(plan, t.send, TC_STEP_SEND, peer, from, to, RESULTS, 0);
        tc_plan_step(plan, t.store, TC_STEP_STORE, peer, upper ? from - half : to,
                     upper ? from : to + half, RESULTS, 0);
        from = upper ? from - half : from;
        to = from + 2 * half;
    }
    return_results(&t, t.players);
}

static void doubling_plan(const tc_allreduce *ctx, const tc_allreduce_options *o, tc_plan *plan)
{
    tournament t = { .plan = plan, .players = largest_power_of_two(tc_comm_size(ctx->comm)) };

    (void)o;
    lend_values(ctx, &t, 1);
    for (int bit = 1; t.player >= 0 && bit < t.players; bit *= 2) {
        int peer = rank_of(&t, t.player ^ bit);
        tc_plan_step(plan, t.send, TC_STEP_SEND, peer, 0, 1, SUMS, bit == 1 ? TC_STEP_ROUND : 0);
        tc_plan_step(plan, t.add, TC_STEP_ADD, peer, 0, 1, SUMS, TC_STEP_ROUND);
    }
    return_results(&t, 1);
}

const tc_allreduce_algorithm tc_allreduce_rabenseifner = { .name = "rabenseifner",
                                                           .plan = rabenseifner_plan };
const tc_allreduce_algorithm tc_allreduce_doubling = { .name = "doubling", .plan = doubling_plan };
