#include <config.h>

#include "train/recipe.h"

#include <math.h>

#define PI 3.14159265358979323846

tc_recipe tc_recipe_default(void)
{
    return (tc_recipe){
        .kind = TC_RECIPE_GOYAL,
        .warmup_start = 0.1,
        .warmup = -1.0,
        .n_milestones = -1,
        .gamma = 0.1,
        .momentum = 0.9,
        .weight_decay = NAN,
        .nesterov = true,
        .epochs = 90.0,
    };
}

/* Milestones must ascend inside the run: a typo there would silently train by another schedule. */
static tc_status check_milestones(const tc_recipe *recipe)
{
    if (recipe->n_milestones > TC_MILESTONES_MAX)
        return tc_fail(TC_INVAL, "%d milestones, at most %d are possible", recipe->n_milestones,
                       TC_MILESTONES_MAX);
    for (int i = 0; i < recipe->n_milestones; i++)
        if (!(recipe->milestone[i] >= 0.0) ||
            (i > 0 && recipe->milestone[i] < recipe->milestone[i - 1]))
            return tc_fail(TC_INVAL, "milestone %d is %g: milestones are epochs and ascend", i + 1,
                           recipe->milestone[i]);
    return TC_OK;
}

tc_status tc_recipe_resolve(tc_recipe *recipe)
{
    static const double part[] = { 1.0 / 3.0, 2.0 / 3.0, 8.0 / 9.0 };
    bool cifar = recipe->kind == TC_RECIPE_CIFAR;

    if (!(recipe->epochs > 0.0) || !isfinite(recipe->epochs))
        return tc_fail(TC_INVAL, "%g epochs: a number above 0 is needed", recipe->epochs);
    if (recipe->steps_per_epoch < 1 || recipe->global_batch < 1)
        return tc_fail(TC_INVAL, "%lld steps an epoch of %lld pictures: both must be at least 1",
                       (long long)recipe->steps_per_epoch, (long long)recipe->global_batch);
    if (recipe->epochs * (double)recipe->steps_per_epoch >= 0x1p52)
        return tc_fail(TC_INVAL, "%g epochs: too many", recipe->epochs);
    if (!(recipe->momentum >= 0.0 && recipe->momentum < 1.0))
        return tc_fail(TC_INVAL, "momentum %g is outside [0, 1)", recipe->momentum);
    if (isnan(recipe->weight_decay))
        recipe->weight_decay = cifar ? 5e-4 : 1e-4;
    if (!(recipe->weight_decay >= 0.0) || !isfinite(recipe->weight_decay))
        return tc_fail(TC_INVAL, "weight decay %g is below 0", recipe->weight_decay);
    if (!(recipe->gamma > 0.0) || !isfinite(recipe->gamma) || !isfinite(recipe->lr) ||
        !(recipe->warmup_start >= 0.0) || isnan(recipe->warmup))
        return tc_fail(TC_INVAL,
                       "rate %g, warm-up from %g over %g epochs, gamma %g: not all are numbers "
                       "in range",
                       recipe->lr, recipe->warmup_start, recipe->warmup, recipe->gamma);
    if (recipe->lr <= 0.0)
        recipe->lr = (double)recipe->global_batch * (cifar ? 0.2 / 128.0 : 0.1 / 256.0);
    if (recipe->schedule == TC_SCHEDULE_AUTO)
        recipe->schedule = cifar ? TC_SCHEDULE_COSINE : TC_SCHEDULE_STEP;
    if (recipe->warmup < 0.0)
        recipe->warmup = recipe->epochs / 18.0;
    if (recipe->warmup > recipe->epochs)
        return tc_fail(TC_INVAL, "a warm-up of %g epochs does not fit a run of %g", recipe->warmup,
                       recipe->epochs);
    if (recipe->n_milestones < 0) {
        recipe->n_milestones = 3;
        for (int i = 0; i < 3; i++)
            recipe->milestone[i] = recipe->epochs * part[i];
    }
    return check_milestones(recipe);
}

/* Epochs in steps, rounded. */
static int64_t to_steps(const tc_recipe *recipe, double epochs)
{
    return llround(epochs * (double)recipe->steps_per_epoch);
}

int64_t tc_recipe_steps(const tc_recipe *recipe)
{
    int64_t steps = to_steps(recipe, recipe->epochs);

    return steps > 0 ? steps : 1;
}

double tc_recipe_rate(const tc_recipe *recipe, int64_t step)
{
    int64_t warmup = to_steps(recipe, recipe->warmup), total = tc_recipe_steps(recipe);
    double rate = recipe->lr;

    if (step < warmup) {
        double start = fmin(recipe->warmup_start, recipe->lr);
        return start + (recipe->lr - start) * (double)step / (double)warmup;
    }
    if (recipe->schedule == TC_SCHEDULE_COSINE) {
        if (step >= total)
            return 0.0;
        return 0.5 * rate * (1.0 + cos(PI * (double)(step - warmup) / (double)(total - warmup)));
    }
    for (int i = 0; i < recipe->n_milestones; i++)
        if (step >= to_steps(recipe, recipe->milestone[i]))
            rate *= recipe->gamma;
    return rate;
}
