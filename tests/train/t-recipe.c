/* The rate at known epochs, warm-up, cosine, fractions of an epoch, and refusals. */
#include <config.h>

#include "train/recipe.h"

#include "../tap.h"
#include <math.h>

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fmax(1.0, fabs(b));
}

/* Goyal et al.: 90 epochs of 156 steps at B = 8192 -> 3.2; warm-up 5, divided at 30, 60, 80. */
static void goyal(void)
{
    tc_recipe r = tc_recipe_default();
    const int64_t e = 156;

    r.steps_per_epoch = e;
    r.global_batch = 8192;
    tap_ok(tc_recipe_resolve(&r) == TC_OK && near(r.lr, 3.2) && near(r.warmup, 5.0), "lr 3.2");
    tap_ok(tc_recipe_steps(&r) == 90 * e, "90 epochs of steps");
    tap_ok(near(tc_recipe_rate(&r, 0), 0.1), "the warm-up starts at 0.1");
    tap_ok(near(tc_recipe_rate(&r, 1) - tc_recipe_rate(&r, 0), 3.1 / (5 * e)) &&
               near(tc_recipe_rate(&r, 500) - tc_recipe_rate(&r, 499), 3.1 / (5 * e)),
           "one constant increment a step");
    tap_ok(tc_recipe_rate(&r, 5 * e - 1) < 3.2 && near(tc_recipe_rate(&r, 5 * e), 3.2),
           "the full rate after 5 epochs");
    tap_ok(near(tc_recipe_rate(&r, 30 * e - 1), 3.2) && near(tc_recipe_rate(&r, 30 * e), 0.32) &&
               near(tc_recipe_rate(&r, 60 * e - 1), 0.32) &&
               near(tc_recipe_rate(&r, 60 * e), 0.032) &&
               near(tc_recipe_rate(&r, 80 * e - 1), 0.032) &&
               near(tc_recipe_rate(&r, 80 * e), 0.0032) &&
               near(tc_recipe_rate(&r, 90 * e - 1), 0.0032),
           "divided by 10 at 30, 60 and 80");
    tc_recipe again = r;
    tap_ok(tc_recipe_resolve(&again) == TC_OK && near(again.lr, r.lr) && again.n_milestones == 3 &&
               near(again.milestone[2], r.milestone[2]),
           "a second resolve changes nothing");
}

static void others(void)
{
    tc_recipe r = tc_recipe_default();

    r.steps_per_epoch = 100;
    r.global_batch = 128;
    r.epochs = 18;
    tap_ok(tc_recipe_resolve(&r) == TC_OK && near(r.lr, 0.05) && near(tc_recipe_rate(&r, 0), 0.05),
           "a full rate under 0.1 needs no warm-up");

    r = tc_recipe_default();
    r.kind = TC_RECIPE_CIFAR;
    r.steps_per_epoch = 100;
    r.global_batch = 128;
    r.epochs = 18;
    tap_ok(tc_recipe_resolve(&r) == TC_OK && near(r.lr, 0.2) && near(tc_recipe_rate(&r, 0), 0.1) &&
               near(tc_recipe_rate(&r, 950), 0.1) && r.schedule == TC_SCHEDULE_COSINE &&
               near(r.weight_decay, 5e-4),
           "cifar: 0.2 for 128 pictures, along a cosine, decay 5e-4");
    r = tc_recipe_default();
    r.kind = TC_RECIPE_CIFAR;
    r.steps_per_epoch = 100;
    r.global_batch = 128;
    r.epochs = 18;
    r.lr = 0.3;
    r.schedule = TC_SCHEDULE_STEP;
    tap_ok(tc_recipe_resolve(&r) == TC_OK && near(r.lr, 0.3) &&
               near(tc_recipe_rate(&r, 1799), 3e-4),
           "cifar: what is set stays");

    r = tc_recipe_default();
    r.steps_per_epoch = 100;
    r.global_batch = 512;
    r.epochs = 18;
    r.schedule = TC_SCHEDULE_COSINE;
    tap_ok(tc_recipe_resolve(&r) == TC_OK && near(tc_recipe_rate(&r, 0), 0.1) &&
               near(tc_recipe_rate(&r, 100), 0.2) && near(tc_recipe_rate(&r, 950), 0.1) &&
               fabs(tc_recipe_rate(&r, 1800)) < 1e-12 && tc_recipe_rate(&r, 1799) > 0.0,
           "cosine: full after the warm-up, half in the middle of the rest, 0 at the end");

    r = tc_recipe_default();
    r.steps_per_epoch = 7;
    r.global_batch = 256;
    r.epochs = 0.5;
    tap_ok(tc_recipe_resolve(&r) == TC_OK && tc_recipe_steps(&r) == 4,
           "half an epoch of 7 steps: 4");

    r = tc_recipe_default();
    r.steps_per_epoch = 10;
    r.global_batch = 256;
    r.epochs = 4;
    r.warmup = 0;
    r.lr = 1.0;
    r.n_milestones = 1;
    r.milestone[0] = 2.5;
    r.gamma = 0.5;
    tap_ok(tc_recipe_resolve(&r) == TC_OK && near(tc_recipe_rate(&r, 0), 1.0) &&
               near(tc_recipe_rate(&r, 24), 1.0) && near(tc_recipe_rate(&r, 25), 0.5),
           "own milestones and gamma, in fractions of an epoch");
}

static bool refused(tc_recipe r)
{
    r.steps_per_epoch = 10;
    r.global_batch = 256;
    return tc_recipe_resolve(&r) == TC_INVAL;
}

static void refusals(void)
{
    tc_recipe r = tc_recipe_default();

    r.epochs = 0;
    tap_ok(refused(r), "0 epochs are refused");
    r = tc_recipe_default();
    r.lr = NAN;
    tap_ok(refused(r), "a rate that is no number is refused");
    r = tc_recipe_default();
    r.momentum = 1.0;
    tap_ok(refused(r), "momentum 1 is refused");
    r = tc_recipe_default();
    r.weight_decay = -1e-4;
    tap_ok(refused(r), "a negative weight decay is refused");
    r = tc_recipe_default();
    r.warmup = 91;
    tap_ok(refused(r), "a warm-up longer than the run is refused");
    r = tc_recipe_default();
    r.n_milestones = 2;
    r.milestone[0] = 60;
    r.milestone[1] = 30;
    tap_ok(refused(r), "milestones that do not ascend are refused");
}

int main(void)
{
    goyal();
    others();
    refusals();
    return tap_done();
}
