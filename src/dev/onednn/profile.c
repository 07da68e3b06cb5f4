/* Where a step's time goes: laps between pieces of work, and the convolutions alone. */
#include <config.h>

#include "dev/onednn/onednn.h"

#include "base/clock.h"

#include <string.h>

static const char *const work_name[DN_WORKS] = {
    [DN_WORK_LOAD] = "weights to layouts",
    [DN_WORK_CONV] = "conv forward",
    [DN_WORK_CONV_DATA] = "conv data gradient",
    [DN_WORK_CONV_WEIGHTS] = "conv weight gradient",
    [DN_WORK_BN] = "bn forward",
    [DN_WORK_BN_BACK] = "bn backward",
    [DN_WORK_POOL] = "pools forward",
    [DN_WORK_POOL_BACK] = "pools backward",
    [DN_WORK_FC] = "fc forward",
    [DN_WORK_FC_BACK] = "fc backward",
    [DN_WORK_OTHER] = "relu, add, concat forward",
    [DN_WORK_OTHER_BACK] = "relu, add, concat backward",
    [DN_WORK_SUM] = "gradient sums",
    [DN_WORK_LOSS] = "loss",
};

void dn_lap(tc_step *step, dn_work work)
{
    if (!step->timed)
        return;
    double now = tc_now();
    step->lap[work] += now - step->lap_start;
    step->lap_start = now;
}

/* The middle one of three runs. */
static tc_status alone(tc_step *step, dn_prim *prim, int slot, double *sum)
{
    double t[3];

    for (int i = 0; i < 3; i++) {
        double start = tc_now();
        tc_status status = dn_run(step->dev, prim, slot);
        if (status != TC_OK)
            return status;
        t[i] = tc_now() - start;
    }
    double low = t[0] < t[1] ? t[0] : t[1], high = t[0] < t[1] ? t[1] : t[0];
    *sum += t[2] < low ? low : t[2] > high ? high : t[2];
    return TC_OK;
}

tc_status dn_profile(tc_step *step, int slot, float scale, tc_profile *profile_p)
{
    tc_profile profile = { .n = DN_WORKS };

    memset(step->lap, 0, sizeof step->lap);
    step->timed = true;
    step->lap_start = tc_now();
    tc_status status = dn_train(step, slot, scale, NULL);
    step->timed = false;
    for (int i = 0; i < DN_WORKS; i++)
        profile.part[i] = (tc_time){ work_name[i], step->lap[i] };
    for (int i = 0; i < step->n_ops && status == TC_OK; i++) {
        dn_op *op = &step->op[i];
        if (op->kind != TC_OP_CONV)
            continue;
        status = alone(step, &op->forward, slot, &profile.bare);
        if (status == TC_OK && op->live)
            status = alone(step, &op->back_weights, slot, &profile.bare);
        if (status == TC_OK && op->live && op->dx[0] >= 0)
            status = alone(step, &op->back_data, slot, &profile.bare);
    }
    step->ran = false;
    if (status == TC_OK)
        *profile_p = profile;
    return status;
}
