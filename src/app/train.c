/* tricolor-train: read the command line, start MPI, hand over to tc_train_run(). */
#include <config.h>

#include "app/launch.h"
#include "base/log.h"
#include "comm/comm.h"
#include "train/train.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *argp_program_version = PACKAGE_STRING;

static const char doc[] =
    "Train a convolutional network on a data set made by tricolor-pack, on one or many ranks."
    "\vStart it alone or by mpirun, mpiexec or srun.  Exit status: 0 done (or stopped by SIGTERM "
    "or "
    "SIGUSR1 after a checkpoint), 1 failed, 2 wrong use.  See tricolor-train(1).";

enum {
    OPT_FIRST = 0x100,
    OPT_ACCUMULATE,
    OPT_ALLREDUCE,
    OPT_ARITY,
    OPT_AUGMENT,
    OPT_AUX,
    OPT_BACKEND,
    OPT_BIND,
    OPT_BN_BATCH,
    OPT_BUCKET_BYTES,
    OPT_CHECKPOINT,
    OPT_CHECKPOINT_EVERY,
    OPT_CHECKPOINT_KEEP,
    OPT_CHOICES,
    OPT_CHUNK,
    OPT_COLORS,
    OPT_DESCRIBE,
    OPT_DEVICES,
    OPT_DUMP_GRADIENT,
    OPT_DUMP_LOSS,
    OPT_DUMP_ORDER,
    OPT_EVAL_EVERY,
    OPT_EVALUATE,
    OPT_FILES,
    OPT_FORCE,
    OPT_GAMMA,
    OPT_INIT,
    OPT_LOADER_THREADS,
    OPT_LOG,
    OPT_RECIPE,
    OPT_LR,
    OPT_MAX_STEPS,
    OPT_MILESTONES,
    OPT_MOMENTUM,
    OPT_NO_NESTEROV,
    OPT_OVERLAP,
    OPT_PRECISION,
    OPT_PREDICTIONS,
    OPT_RESUME,
    OPT_SCHEDULE,
    OPT_SEED,
    OPT_SIZE,
    OPT_STORE,
    OPT_STORE_GROUPS,
    OPT_STRIDE_IN_1X1,
    OPT_SYNC_STEPS,
    OPT_TABLE,
    OPT_THREADS,
    OPT_TOPOLOGY,
    OPT_WARMUP,
    OPT_WARMUP_START,
    OPT_WEIGHT_DECAY,
    OPT_WINDOW,
};

static const struct argp_option options[] = {
    { 0, 0, 0, 0, "What to train:", 1 },
    { "data", 'd', "DIR", 0, "data set: DIR/train and DIR/val, made by tricolor-pack", 0 },
    { "model", 'm', "NAME", 0, "resnet50 (default), googlenetbn, resnet18, resnet20 and others",
      0 },
    { "aux", OPT_AUX, "none|idle|train", 0, "googlenetbn: the auxiliary head (default: none)", 0 },
    { "stride-in-1x1", OPT_STRIDE_IN_1X1, 0, 0, "resnet50 and deeper: not in the 3x3", 0 },
    { "size", OPT_SIZE, "PIXELS", 0, "input height and width (default: the model's)", 0 },
    { "describe", OPT_DESCRIBE, 0, 0, "print the network and stop", 0 },

    { 0, 0, 0, 0, "The three optimizations (the first value is the default):", 2 },
    { "store", OPT_STORE, "memory|shards|files", 0, "where the records are", 0 },
    { "allreduce", OPT_ALLREDUCE, "SPEC", 0,
      "how gradients are summed: multicolor, mpi, ring, rabenseifner, doubling, auto (the fastest "
      "here); options as in multicolor:k=4,d=2,chunk=64K,window=4,wire=bf16",
      0 },
    { "table", OPT_TABLE, "optimized|baseline", 0, "how the devices of a rank are driven", 0 },
    { "overlap", OPT_OVERLAP, "auto|on|off", 0, "sum while backward goes on", 0 },

    { 0, 0, 0, 0, "Machine:", 3 },
    { "backend", OPT_BACKEND, "NAME", 0, "ref, onednn (default: the best one here)", 0 },
    { "devices", 'n', "N", 0, "devices a rank (default 1)", 0 },
    { "threads", 't', "N", 0, "cores a device (default: the host's, divided)", 0 },
    { "bind", OPT_BIND, 0, 0, "bind devices to cores where the launcher bound no rank", 0 },
    { "loader-threads", OPT_LOADER_THREADS, "N", 0, "decoding threads a rank", 0 },
    { "precision", OPT_PRECISION, "WORD", 0, "f32 (default); onednn: also bf16", 0 },
    { "files", OPT_FILES, "DIR", 0, "--store=files: images in DIR/train and DIR/val", 0 },
    { "store-groups", OPT_STORE_GROUPS, "G", 0, "groups of ranks that each hold the whole set", 0 },
    { "colors", OPT_COLORS, "K", 0, "multicolor: trees", 0 },
    { "arity", OPT_ARITY, "D", 0, "multicolor: children of a node; 0: stars", 0 },
    { "choices", OPT_CHOICES, "FILE", 0,
      "--allreduce=auto: keep what it chooses there, and look there first", 0 },
    { "topology", OPT_TOPOLOGY, "FILE", 0, "lines `HOST SWITCH': trees and rings keep below one",
      0 },
    { "chunk", OPT_CHUNK, "BYTES", 0, "multicolor: bytes of a message", 0 },
    { "window", OPT_WINDOW, "N", 0, "multicolor: chunks in flight a link", 0 },
    { "bucket-bytes", OPT_BUCKET_BYTES, "BYTES", 0, "gradient bytes summed at a time", 0 },
    { "sync-steps", OPT_SYNC_STEPS, "N", 0, "steps between metric reductions (default: 1 s)", 0 },

    { 0, 0, 0, 0, "Recipe:", 4 },
    { "batch", 'b', "B", 0, "pictures a device and step (default 32)", 0 },
    { "accumulate", OPT_ACCUMULATE, "N", 0, "batches a device and step, their gradients added (1)",
      0 },
    { "bn-batch", OPT_BN_BATCH, "N", 0, "pictures that share BN statistics (default: --batch)", 0 },
    { "epochs", 'e', "E", 0, "default 90; may be a fraction", 0 },
    { "recipe", OPT_RECIPE, "auto|goyal|cifar", 0,
      "of rate and schedule (auto: cifar for resnet20 and its like)", 0 },
    { "lr", OPT_LR, "RATE", 0, "full rate (0.1 for 256 pictures; cifar: 0.2 for 128)", 0 },
    { "schedule", OPT_SCHEDULE, "step|cosine", 0,
      "after the warm-up (default: step; cifar: cosine)", 0 },
    { "warmup", OPT_WARMUP, "EPOCHS", 0, "default: epochs / 18", 0 },
    { "warmup-start", OPT_WARMUP_START, "RATE", 0, "first rate (default 0.1, or less)", 0 },
    { "milestones", OPT_MILESTONES, "E,E,...", 0, "epochs of the divisions (1/3, 2/3, 8/9)", 0 },
    { "gamma", OPT_GAMMA, "F", 0, "factor at a milestone (0.1)", 0 },
    { "momentum", OPT_MOMENTUM, "M", 0, "default 0.9", 0 },
    { "no-nesterov", OPT_NO_NESTEROV, 0, 0, "plain momentum", 0 },
    { "weight-decay", OPT_WEIGHT_DECAY, "W", 0, "default 1e-4 (cifar: 5e-4); not on BN", 0 },
    { "augment", OPT_AUGMENT, "auto|torchvision|pad|none", 0, "of the training pictures", 0 },
    { "seed", OPT_SEED, "S", 0, "of weights, order and augmentation (default 1)", 0 },

    { 0, 0, 0, 0, "Results and restart:", 5 },
    { "log", 'l', "FILE", 0, "append the training log", 0 },
    { "checkpoint", OPT_CHECKPOINT, "DIR", 0, "save checkpoints there", 0 },
    { "checkpoint-every", OPT_CHECKPOINT_EVERY, "EPOCHS", 0, "default 1; may be a fraction", 0 },
    { "checkpoint-keep", OPT_CHECKPOINT_KEEP, "K", 0, "keep the newest K (default 3)", 0 },
    { "resume", 'r', 0, 0, "go on from the newest checkpoint, if there is one", 0 },
    { "force", OPT_FORCE, 0, 0, "resume with other options; begin anew over checkpoints", 0 },
    { "init", OPT_INIT, "FILE", 0, "start from the weights of a safetensors file", 0 },
    { "evaluate", OPT_EVALUATE, 0, 0, "only evaluate the weights of --init or --resume", 0 },
    { "eval-every", OPT_EVAL_EVERY, "N", 0, "epochs (default 1; 0: at the end; -1: never)", 0 },
    { "predictions", OPT_PREDICTIONS, "FILE", 0, "write the last evaluation's, a line each", 0 },
    { "max-steps", OPT_MAX_STEPS, "N", 0, "stop after so many steps of the run", 0 },
    { "verbose", 'v', 0, 0, "say more", 0 },
    { "quiet", 'q', 0, 0, "only warnings and errors", 0 },

    /* For the project's own tests. */
    { "dump-order", OPT_DUMP_ORDER, "FILE%r", OPTION_HIDDEN, 0, 0 },
    { "dump-gradient", OPT_DUMP_GRADIENT, "FILE", OPTION_HIDDEN, 0, 0 },
    { "dump-loss", OPT_DUMP_LOSS, "FILE", OPTION_HIDDEN, 0, 0 },
    { 0, 0, 0, 0, 0, 0 },
};

typedef struct {
    tc_train_options train;
    tc_log_level level;
} arguments;

/* Read a whole number; the caller gave it as the value of option `key`. */
static error_t to_int(struct argp_state *state, const char *arg, int64_t low, int64_t *value_p)
{
    char *end;

    errno = 0;
    long long value = strtoll(arg, &end, 10);
    if (end == arg || *end != '\0' || errno != 0 || value < low || value > INT64_MAX / 4) {
        argp_error(state, "'%s' is not a whole number of at least %lld", arg, (long long)low);
        return EINVAL;
    }
    *value_p = value;
    return 0;
}

static error_t to_small(struct argp_state *state, const char *arg, int low, int *value_p)
{
    int64_t value = 0;
    error_t rc = to_int(state, arg, low, &value);

    if (rc == 0 && value > 1 << 30) {
        argp_error(state, "%s is too large", arg);
        return EINVAL;
    }
    *value_p = (int)value;
    return rc;
}

static error_t to_real(struct argp_state *state, const char *arg, double *value_p)
{
    char *end;
    double value = strtod(arg, &end);

    if (end == arg || *end != '\0' || !isfinite(value)) {
        argp_error(state, "'%s' is not a number", arg);
        return EINVAL;
    }
    *value_p = value;
    return 0;
}

/* "30,60,80" */
static error_t to_milestones(struct argp_state *state, const char *arg, tc_recipe *recipe)
{
    char text[256], *save = NULL;
    error_t rc = 0;

    recipe->n_milestones = 0;
    snprintf(text, sizeof text, "%s", arg);
    for (char *word = strtok_r(text, ",", &save); word && rc == 0;
         word = strtok_r(NULL, ",", &save)) {
        if (recipe->n_milestones == TC_MILESTONES_MAX) {
            argp_error(state, "at most %d milestones are possible", TC_MILESTONES_MAX);
            return EINVAL;
        }
        rc = to_real(state, word, &recipe->milestone[recipe->n_milestones++]);
    }
    return rc;
}

static error_t to_schedule(struct argp_state *state, const char *arg, tc_recipe *recipe)
{
    if (strcmp(arg, "step") == 0)
        recipe->schedule = TC_SCHEDULE_STEP;
    else if (strcmp(arg, "cosine") == 0)
        recipe->schedule = TC_SCHEDULE_COSINE;
    else {
        argp_error(state, "--schedule=%s: unknown; it may be: step, cosine", arg);
        return EINVAL;
    }
    return 0;
}

static error_t parse_recipe(int key, char *arg, struct argp_state *state, tc_train_options *o)
{
    int64_t seed;
    error_t rc;

    switch (key) {
    case 'b':
        return to_int(state, arg, 1, &o->batch);
    case OPT_ACCUMULATE:
        return to_int(state, arg, 1, &o->accumulate);
    case OPT_BN_BATCH:
        return to_int(state, arg, 1, &o->bn_batch);
    case 'e':
        return to_real(state, arg, &o->recipe.epochs);
    case OPT_RECIPE:
        o->recipe_name = arg;
        return 0;
    case OPT_LR:
        return to_real(state, arg, &o->recipe.lr);
    case OPT_SCHEDULE:
        return to_schedule(state, arg, &o->recipe);
    case OPT_WARMUP:
        return to_real(state, arg, &o->recipe.warmup);
    case OPT_WARMUP_START:
        return to_real(state, arg, &o->recipe.warmup_start);
    case OPT_MILESTONES:
        return to_milestones(state, arg, &o->recipe);
    case OPT_GAMMA:
        return to_real(state, arg, &o->recipe.gamma);
    case OPT_MOMENTUM:
        return to_real(state, arg, &o->recipe.momentum);
    case OPT_NO_NESTEROV:
        o->recipe.nesterov = false;
        return 0;
    case OPT_WEIGHT_DECAY:
        return to_real(state, arg, &o->recipe.weight_decay);
    case OPT_AUGMENT:
        o->augment = arg;
        return 0;
    case OPT_SEED:
        rc = to_int(state, arg, 0, &seed);
        o->seed = rc == 0 ? (uint64_t)seed : 0;
        return rc;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_machine(int key, char *arg, struct argp_state *state, tc_train_options *o)
{
    switch (key) {
    case OPT_STORE:
        o->store = arg;
        return 0;
    case OPT_ALLREDUCE:
        o->allreduce = arg;
        return 0;
    case OPT_CHOICES:
        o->choices = arg;
        return 0;
    case OPT_TOPOLOGY:
        o->topology = arg;
        return 0;
    case OPT_TABLE:
        o->table = arg;
        return 0;
    case OPT_OVERLAP:
        o->overlap = arg;
        return 0;
    case OPT_BACKEND:
        o->backend = arg;
        return 0;
    case OPT_PRECISION:
        o->precision = arg;
        return 0;
    case OPT_FILES:
        o->files_dir = arg;
        return 0;
    case OPT_BIND:
        o->bind = true;
        return 0;
    case 'n':
        return to_small(state, arg, 1, &o->devices);
    case 't':
        return to_small(state, arg, 0, &o->threads);
    case OPT_LOADER_THREADS:
        return to_small(state, arg, 0, &o->loader_threads);
    case OPT_STORE_GROUPS:
        return to_small(state, arg, 1, &o->store_groups);
    case OPT_COLORS:
        return to_small(state, arg, 0, &o->colors);
    case OPT_ARITY:
        return to_small(state, arg, -1, &o->arity);
    case OPT_WINDOW:
        return to_small(state, arg, 0, &o->window);
    case OPT_CHUNK:
        return to_int(state, arg, 0, &o->chunk);
    case OPT_BUCKET_BYTES:
        return to_int(state, arg, 0, &o->bucket_bytes);
    case OPT_SYNC_STEPS:
        return to_int(state, arg, 0, &o->sync_steps);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_results(int key, char *arg, struct argp_state *state, tc_train_options *o)
{
    switch (key) {
    case 'l':
        o->log = arg;
        return 0;
    case OPT_CHECKPOINT:
        o->checkpoint = arg;
        return 0;
    case OPT_CHECKPOINT_EVERY:
        return to_real(state, arg, &o->checkpoint_every);
    case OPT_CHECKPOINT_KEEP:
        return to_small(state, arg, 1, &o->checkpoint_keep);
    case 'r':
        o->resume = true;
        return 0;
    case OPT_FORCE:
        o->force = true;
        return 0;
    case OPT_INIT:
        o->init = arg;
        return 0;
    case OPT_EVALUATE:
        o->evaluate_only = true;
        return 0;
    case OPT_EVAL_EVERY:
        return to_small(state, arg, -1, &o->eval_every);
    case OPT_PREDICTIONS:
        o->predictions = arg;
        return 0;
    case OPT_MAX_STEPS:
        return to_int(state, arg, 0, &o->max_steps);
    case OPT_DUMP_ORDER:
        o->dump_order = arg;
        return 0;
    case OPT_DUMP_GRADIENT:
        o->dump_gradient = arg;
        return 0;
    case OPT_DUMP_LOSS:
        o->dump_loss = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *a = state->input;
    error_t rc;

    switch (key) {
    case 'd':
        a->train.data = arg;
        return 0;
    case 'm':
        a->train.model = arg;
        return 0;
    case OPT_SIZE:
        return to_int(state, arg, 0, &a->train.size);
    case OPT_AUX:
        a->train.aux = arg;
        return 0;
    case OPT_STRIDE_IN_1X1:
        a->train.stride_in_1x1 = true;
        return 0;
    case OPT_DESCRIBE:
        a->train.describe = true;
        return 0;
    case 'v':
        a->level = TC_LOG_DEBUG;
        return 0;
    case 'q':
        a->level = TC_LOG_WARN;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s': there is nothing to give here but options", arg);
        return EINVAL;
    }
    rc = parse_recipe(key, arg, state, &a->train);
    if (rc == ARGP_ERR_UNKNOWN)
        rc = parse_machine(key, arg, state, &a->train);
    if (rc == ARGP_ERR_UNKNOWN)
        rc = parse_results(key, arg, state, &a->train);
    return rc;
}

static tc_status check(void *input)
{
    const arguments *a = input;

    return tc_train_options_check(&a->train);
}

int main(int argc, char **argv)
{
    static const struct argp argp = { options, parse, 0, doc, 0, 0, 0 };
    arguments a = { .train = tc_train_options_default(), .level = TC_LOG_INFO };
    tc_comm *comm = NULL;
    tc_status status;
    int rc = tc_app_read(&argp, argc, argv, &a, "tricolor-train", check);

    if (rc != 0)
        return rc - 1;
    tc_log_set_level(a.level);
    if (a.train.describe)
        return tc_exit(NULL, tc_train_describe(&a.train, stdout));
    /* An evaluation has nothing to save: a signal may end it at once. */
    if (!a.train.evaluate_only)
        tc_train_block_signals();
    status = tc_comm_init(&argc, &argv, &comm);
    if (status == TC_OK)
        status = tc_train_run(comm, &a.train);
    return tc_exit(comm, status);
}
