#ifndef TC_TRAIN_RECIPE_H
#define TC_TRAIN_RECIPE_H
/**
 * @file recipe.h
 * The learning rate of every step.
 *
 * `goyal`: Goyal et al. 2017 (arXiv 1706.02677): 0.1 for 256 pictures, divided by 10 three times.
 * `cifar`: for short runs of the CIFAR nets, chosen by measuring: 0.2 for 128 pictures along a
 * cosine, weight decay 5e-4.  Ten epochs of resnet20 on CIFAR-10 end at 83.8 % with it, at 81.2 %
 * with the 0.1 and 1e-4 of He et al. 2015 (arXiv 1512.03385) along the same cosine.
 *
 * Flow:  tc_recipe_default() -> set fields -> tc_recipe_resolve() -> tc_recipe_rate(step) …
 * Used by: train, sim.
 */
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

#define TC_MILESTONES_MAX 8

typedef enum { TC_RECIPE_GOYAL, TC_RECIPE_CIFAR } tc_recipe_kind;
typedef enum { TC_SCHEDULE_AUTO, TC_SCHEDULE_STEP, TC_SCHEDULE_COSINE } tc_schedule;

typedef struct {
    tc_recipe_kind kind; /* decides what is not set below */
    tc_schedule schedule; /* AUTO: goyal step, cifar cosine */
    double lr;           /* full rate; <= 0: goyal 0.1 * B / 256, cifar 0.2 * B / 128 */
    double warmup_start; /* first rate; the smaller of this and the full rate is used */
    double warmup;       /* epochs; < 0: epochs / 18 */
    int n_milestones;
    double milestone[TC_MILESTONES_MAX]; /* epochs; n_milestones < 0: epochs * (1/3, 2/3, 8/9) */
    double gamma;                        /* factor at a milestone: 0.1 */
    double momentum;
    double weight_decay; /* NaN: goyal 1e-4, cifar 5e-4 */
    bool nesterov;
    double epochs; /* may be a fraction */
    int64_t steps_per_epoch, global_batch;
} tc_recipe;

/** FACTS section 4's defaults: goyal. */
tc_recipe tc_recipe_default(void);
/** Fill in what is derived (lr, warm-up, milestones); a second call changes nothing.
 *  @retval TC_INVAL  a number out of range, named. */
tc_status tc_recipe_resolve(tc_recipe *recipe);
int64_t tc_recipe_steps(const tc_recipe *recipe); /* of the whole run */
/** The rate of a step, counted from 0 over the run.  Step: start + (lr - start) * step / W in the
 *  W steps of the warm-up, then lr * gamma^(milestones passed).  Cosine: from lr to 0 after it. */
double tc_recipe_rate(const tc_recipe *recipe, int64_t step);

#endif
