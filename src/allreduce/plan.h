#ifndef TC_ALLREDUCE_PLAN_H
#define TC_ALLREDUCE_PLAN_H
/**
 * @file plan.h
 * What one rank does in an allreduce, as data: steps in flows.
 *
 * Flow:  tc_plan_init() -> an algorithm's planner: { tc_plan_flow(), tc_plan_step() … } ->
 *        tc_plan_close() -> the engine reads it -> tc_plan_free()
 * Used by: the algorithms and the engine of this folder, tests.
 *
 * A plan holds for vectors of any length: it speaks of parts, into which each vector is cut evenly.
 * A step sends parts to a rank, or receives them from one and adds or stores them.  A flow is a
 * sequence of steps of one direction that share a window: it has at most so many chunks in flight,
 * and goes on to its next step when the one before is under way.
 *
 * Steps are given in the order in which a rank could do them one by one.  The engine does as many
 * at once as it can and keeps that order only where two steps touch the same floats and one of them
 * writes, chunk by chunk; so the sums are always the same, in any timing.
 */
#include "base/mem.h"
#include "base/status.h"
#include <stdbool.h>

typedef enum {
    TC_STEP_SEND,
    TC_STEP_ADD,  /* receive, and add to what is there */
    TC_STEP_STORE /* receive, and put it there */
} tc_step_kind;

enum {
    TC_STEP_ROUND = 1
}; /* on a narrow wire: the vector takes the value that the wire can carry,
    * before it is sent, or after something was added */

typedef struct {
    tc_step_kind kind;
    int flow, peer;
    int from, to; /* parts [from, to) */
    int color;    /* both ends of a transfer give the same; chunks of one color stay in order */
    bool round;
    bool fresh;              /* nothing has been written to these parts before */
    int first_need, n_needs; /* in plan->need: steps that come before it */
    int first_wake, n_wakes; /* in plan->wake: flows that wait for it */
} tc_step;

typedef struct {
    bool sends, adds;
    int first, n; /* in plan->order: its steps */
} tc_flow_plan;

typedef struct {
    int n_parts, n_colors;
    int n_steps, n_flows;
    tc_step *step;      /* (n_steps) in the order given */
    tc_flow_plan *flow; /* (n_flows) */
    int *order;         /* (n_steps) steps, flow by flow */
    int *need, *wake;
    bool copies_first; /* a step reads parts of which only some are fresh, or rounds fresh ones */
    tc_status status;  /* the first failure: planners need not look */
    tc_buffer steps, flows, needs, wakes;
} tc_plan;

/** Begin a plan over @p n_parts parts, with tags of @p n_colors colors for each bucket. */
void tc_plan_init(tc_plan *plan, int n_parts, int n_colors);
void tc_plan_free(tc_plan *plan); /* a half-built one, too */

/** A new flow; returns its number. */
int tc_plan_flow(tc_plan *plan, bool sends);

/** The next step.  Parts may be empty ([from, from)): then nothing is done. */
void tc_plan_step(tc_plan *plan, int flow, tc_step_kind kind, int peer, int from, int to, int color,
                  int flags);

/** Work out who waits for whom.  @retval TC_OK, TC_NOMEM (also of any call before).
 *  @param narrow  The wire carries less than a float: steps that round do so. */
tc_status tc_plan_close(tc_plan *plan, bool narrow);

#endif
