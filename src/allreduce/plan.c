#include <config.h>

#include "allreduce/plan.h"

void tc_plan_init(tc_plan *plan, int n_parts, int n_colors)
{
    *plan = (tc_plan){ .n_parts = n_parts, .n_colors = n_colors, .status = TC_OK };
}

void tc_plan_free(tc_plan *plan)
{
    tc_buffer_free(&plan->steps);
    tc_buffer_free(&plan->flows);
    tc_buffer_free(&plan->needs);
    tc_buffer_free(&plan->wakes);
    tc_free(plan->order);
    plan->order = NULL;
}

static void append(tc_plan *plan, tc_buffer *buffer, const void *item, size_t bytes)
{
    if (plan->status == TC_OK)
        plan->status = tc_buffer_append(buffer, item, bytes);
}

int tc_plan_flow(tc_plan *plan, bool sends)
{
    const tc_flow_plan flow = { .sends = sends };

    append(plan, &plan->flows, &flow, sizeof flow);
    return plan->n_flows++;
}

void tc_plan_step(tc_plan *plan, int flow, tc_step_kind kind, int peer, int from, int to, int color,
                  int flags)
{
    const tc_step step = { .kind = kind,
                           .flow = flow,
                           .peer = peer,
                           .from = from,
                           .to = to,
                           .color = color,
                           .round = (flags & TC_STEP_ROUND) != 0 };

    if (from >= to)
        return;
    append(plan, &plan->steps, &step, sizeof step);
    plan->n_steps++;
}

static bool meet(const tc_step *a, const tc_step *b)
{
    return a->from < b->to && b->from < a->to;
}

static bool writes(const tc_step *s)
{
    return s->kind != TC_STEP_SEND || s->round;
}

/* Whether where s meets t, a step that s already needs comes after t anyway. */
static bool is_implied(const tc_plan *plan, const tc_step *s, int t, const int *need, int n_needs)
{
    const tc_step *early = &plan->step[t];
    int from = s->from > early->from ? s->from : early->from;
    int to = s->to < early->to ? s->to : early->to;

    for (int i = 0; i < n_needs; i++) {
        const tc_step *late = &plan->step[need[i]];
        if (late->from <= from && late->to >= to && (writes(late) || writes(early)))
            return true;
    }
    return false;
}

/* Find the steps that step s has to wait for, the last of them first. */
static void find_needs(tc_plan *plan, int s)
{
    tc_step *step = &plan->step[s];

    step->first_need = (int)(plan->needs.bytes / sizeof(int));
    for (int t = s - 1; t >= 0 && plan->status == TC_OK; t--) {
        const tc_step *early = &plan->step[t];
        const int *need = (const int *)(const void *)plan->needs.data + step->first_need;
        if (!meet(step, early) || (!writes(step) && !writes(early)) ||
            is_implied(plan, step, t, need, step->n_needs))
            continue;
        append(plan, &plan->needs, &t, sizeof t);
        step->n_needs++;
    }
}

/* Find the steps that read what the caller gave, and not what another step left. */
static void find_fresh(tc_plan *plan, bool *written)
{
    for (int s = 0; s < plan->n_steps; s++) {
        tc_step *step = &plan->step[s];
        int n_written = 0;
        for (int part = step->from; part < step->to; part++) {
            n_written += written[part];
            written[part] = written[part] || writes(step);
        }
        step->fresh = n_written == 0;
        if (step->kind != TC_STEP_STORE && n_written > 0 && n_written < step->to - step->from)
            plan->copies_first = true;
        if (step->kind == TC_STEP_SEND && step->round && step->fresh)
            plan->copies_first = true; /* what is rounded must stand in the vector */
    }
}

/* The flows that wait for step s, each once. */
static void find_wakes(tc_plan *plan, int s)
{
    tc_step *step = &plan->step[s];

    step->first_wake = (int)(plan->wakes.bytes / sizeof(int));
    for (int t = s + 1; t < plan->n_steps && plan->status == TC_OK; t++) {
        const tc_step *late = &plan->step[t];
        const int *wake = (const int *)(const void *)plan->wakes.data + step->first_wake;
        bool waits = false, known = false;
        for (int i = 0; i < late->n_needs; i++)
            waits = waits || plan->need[late->first_need + i] == s;
        for (int i = 0; waits && i < step->n_wakes; i++)
            known = known || wake[i] == late->flow;
        if (!waits || known)
            continue;
        append(plan, &plan->wakes, &late->flow, sizeof late->flow);
        step->n_wakes++;
    }
}

/* Lay the steps of each flow side by side. */
static void sort_by_flow(tc_plan *plan)
{
    int at = 0;

    for (int f = 0; f < plan->n_flows; f++) {
        tc_flow_plan *flow = &plan->flow[f];
        flow->first = at;
        for (int s = 0; s < plan->n_steps; s++) {
            if (plan->step[s].flow != f)
                continue;
            plan->order[at++] = s;
            flow->adds = flow->adds || plan->step[s].kind == TC_STEP_ADD;
        }
        flow->n = at - flow->first;
    }
}

tc_status tc_plan_close(tc_plan *plan, bool narrow)
{
    bool *written = NULL;

    if (plan->status == TC_OK)
        plan->status = tc_alloc(plan->n_steps, sizeof *plan->order, "plan", &plan->order);
    if (plan->status == TC_OK)
        plan->status = tc_alloc(plan->n_parts, sizeof *written, "parts of a plan", &written);
    if (plan->status != TC_OK)
        return plan->status;
    plan->step = (tc_step *)(void *)plan->steps.data;
    plan->flow = (tc_flow_plan *)(void *)plan->flows.data;
    for (int s = 0; s < plan->n_steps; s++)
        plan->step[s].round = plan->step[s].round && narrow;
    find_fresh(plan, written);
    tc_free(written);
    for (int s = 0; s < plan->n_steps; s++)
        find_needs(plan, s);
    plan->need = (int *)(void *)plan->needs.data;
    for (int s = 0; s < plan->n_steps && plan->status == TC_OK; s++)
        find_wakes(plan, s);
    plan->wake = (int *)(void *)plan->wakes.data;
    if (plan->status == TC_OK)
        sort_by_flow(plan);
    return plan->status;
}
