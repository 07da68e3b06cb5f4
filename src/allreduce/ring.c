/*
 * `ring`: parts go round, first to be summed, then to be known (Patarasuk and Yuan 2009).
 *
 * Of n parts, part p starts at rank p; every rank adds what it has to what comes from the rank
 * before it and passes that on, until after n-1 steps rank p-1 has the sum:
 * ((x[p] + x[p+1]) + x[p+2]) + …  Then the sums go round once more.  Segmented, a part is passed on
 * chunk by chunk; plain (chunk < 0), in one message.
 *
 * Ranks stand in the ring by place (places.h): only one link leaves each host, and each switch.
 */
#include <config.h>

#include "allreduce/allreduce_impl.h"

enum { SUMS, RESULTS, COLORS };

static void ring_plan(const tc_allreduce *ctx, const tc_allreduce_options *o, tc_plan *plan)
{
    const tc_places *p = &ctx->places;
    int n = p->n, place = p->place[tc_comm_rank(ctx->comm)];
    int next = p->rank[(place + 1) % n], before = p->rank[(place + n - 1) % n];

    (void)o; /* it has no shape to choose */
    tc_plan_init(plan, n, COLORS);
    int send = tc_plan_flow(plan, true), add = tc_plan_flow(plan, false);
    int store = tc_plan_flow(plan, false);
    for (int step = 0; step < n - 1; step++) {
        int out = (place - step + n) % n, in = (place - step - 1 + n) % n;
        tc_plan_step(plan, send, TC_STEP_SEND, next, out, out + 1, SUMS, 0);
        tc_plan_step(plan, add, TC_STEP_ADD, before, in, in + 1, SUMS,
                     step == n - 2 ? TC_STEP_ROUND : 0);
    }
    for (int step = 0; step < n - 1; step++) {
        int out = (place - step + 1 + n) % n, in = (place - step + n) % n;
        tc_plan_step(plan, send, TC_STEP_SEND, next, out, out + 1, RESULTS, 0);
        tc_plan_step(plan, store, TC_STEP_STORE, before, in, in + 1, RESULTS, 0);
    }
}

const tc_allreduce_algorithm tc_allreduce_ring = { .name = "ring", .plan = ring_plan };
