/* tricolor-pack: put pictures into shards, look at them, check them, take them out again. */
#include <config.h>

#include "data-prep/commands.h"

#include <argp.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_USAGE 2

const char *argp_program_version = "tricolor-pack (" PACKAGE_NAME ") " PACKAGE_VERSION;

enum {
    KEY_SPLIT = 256,
    KEY_SHARDS,
    KEY_SEED,
    KEY_QUALITY,
    KEY_SHORTER,
    KEY_KEEP,
    KEY_PREFIX,
    KEY_CLASSES,
    KEY_ERROR,
    KEY_FORCE,
    KEY_HOLD_OUT,
    KEY_DECODE,
    KEY_EXIF,
    KEY_PIXELS,
    KEY_MEMORY,
    KEY_DEVKIT,
    KEY_LABELS,
    KEY_WORDS,
    KEY_NUMERIC,
    KEY_MD5,
    KEY_SUBSET
};

/* What all commands read; each uses its part. */
typedef struct {
    tc_create_options create;
    const char *dir; /* info, verify, extract */
    bool decode;
} settings;

/* A whole number in [low, high], or the end with status 2. */
static long long number(const struct argp_state *state, const char *name, const char *text,
                        long long low, long long high)
{
    char *end = NULL;

    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < low || value > high)
        argp_error(state, "%s=%s: a whole number from %lld to %lld is wanted", name, text, low,
                   high);
    return value;
}

/* Cores that this process may use: fewer than the machine has, in a batch job. */
static int cores(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
}

static void set_split(const struct argp_state *state, settings *s, const char *text)
{
    if (strcmp(text, "train") != 0 && strcmp(text, "val") != 0)
        argp_error(state, "--split=%s: train or val is wanted", text);
    s->create.split = text;
}

/* One of two or three words, by its number; or the end with status 2. */
static int word(const struct argp_state *state, const char *name, const char *text,
                const char *const words[3])
{
    for (int i = 0; i < 3 && words[i] != NULL; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    if (words[2] == NULL)
        argp_error(state, "%s=%s: %s or %s is wanted", name, text, words[0], words[1]);
    else
        argp_error(state, "%s=%s: %s, %s or %s is wanted", name, text, words[0], words[1],
                   words[2]);
    return 0;
}

/* The options of create that say what happens to a picture. */
static error_t parse_picture(int key, char *text, struct argp_state *state)
{
    tc_create_options *o = &((settings *)state->input)->create;
    tc_recode_options *recode = &o->recode;
    int chosen;

    switch (key) {
    case KEY_QUALITY: recode->quality = (int)number(state, "--quality", text, 1, 100); break;
    case KEY_SHORTER:
        recode->shorter = number(state, "--shorter", text, 1, TC_JPEG_SIDE_MAX);
        break;
    case KEY_KEEP: recode->keep = true; break;
    case KEY_EXIF:
        recode->turn = word(state, "--exif", text, (const char *[3]){ "ignore", "apply" }) == 1;
        break;
    case KEY_PIXELS:
        recode->limits.max_pixels = number(state, "--max-pixels", text, 1, TC_DECODER_PIXELS);
        break;
    case KEY_MEMORY: /* MiB */
        recode->limits.max_memory = number(state, "--max-memory", text, 1, 1 << 20) << 20;
        break;
    case KEY_ERROR:
        chosen = word(state, "--on-error", text, (const char *[3]){ "fail", "skip", "keep" });
        o->skip = chosen > 0;
        recode->limits.salvage = chosen == 2;
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static error_t parse_create(int key, char *text, struct argp_state *state)
{
    settings *s = state->input;
    tc_create_options *o = &s->create;

    switch (key) {
    case 'o': o->out = text; break;
    case KEY_SPLIT: set_split(state, s, text); break;
    case KEY_PREFIX: o->prefix = text; break;
    case KEY_CLASSES: o->classes_from = text; break;
    case KEY_DEVKIT: o->devkit = text; break;
    case KEY_LABELS: o->labels = text; break;
    case KEY_WORDS: o->words = text; break;
    case KEY_NUMERIC: o->numeric = true; break;
    case KEY_SUBSET: o->subset = true; break;
    case KEY_MD5:
        o->md5 = true;
        o->sum = text;
        if (text != NULL && (strlen(text) != 32 || strspn(text, "0123456789abcdefABCDEF") != 32))
            argp_error(state, "--md5=%s: 32 hexadecimal digits are wanted", text);
        break;
    case KEY_SHARDS: o->shards = (uint32_t)number(state, "--shards", text, 1, 1000); break;
    case KEY_SEED: o->seed = (uint64_t)number(state, "--seed", text, 0, INT64_MAX); break;
    case 'j': o->threads = (int)number(state, "--threads", text, 1, 1024); break;
    case KEY_HOLD_OUT: o->hold_out = number(state, "--hold-out", text, 2, 1000000); break;
    case KEY_FORCE: o->force = true; break;
    case ARGP_KEY_ARGS:
        o->sources = state->argv + state->next;
        o->n_sources = state->argc - state->next;
        break;
    case ARGP_KEY_END:
        if (o->n_sources == 0)
            argp_error(state, "no source is given");
        if (o->sum != NULL && o->n_sources > 1)
            argp_error(state, "--md5=%s: one source is wanted", o->sum);
        if (o->devkit != NULL && o->labels != NULL)
            argp_error(state, "--devkit or --labels is wanted, not both");
        if (o->out == NULL || o->split == NULL)
            argp_error(state, "%s is wanted", o->out == NULL ? "-o DIR" : "--split train|val");
        break;
    default: return parse_picture(key, text, state);
    }
    return 0;
}

static error_t parse_dir(int key, char *text, struct argp_state *state)
{
    settings *s = state->input;

    switch (key) {
    case 'o': s->create.out = text; break;
    case 'j': s->create.threads = (int)number(state, "--threads", text, 1, 1024); break;
    case KEY_SPLIT: set_split(state, s, text); break;
    case KEY_DECODE: s->decode = true; break;
    case ARGP_KEY_ARG:
        if (s->dir != NULL)
            argp_error(state, "%s: one data set is wanted", text);
        s->dir = text;
        break;
    case ARGP_KEY_END:
        if (s->dir == NULL)
            argp_error(state, "no data set is given");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp_option create_options[] = {
    { "output", 'o', "DIR", 0, "Data set to write: DIR/train or DIR/val", 1 },
    { "split", KEY_SPLIT, "train|val", 0, "Which split to write", 1 },
    { "force", KEY_FORCE, NULL, 0, "Replace a finished set", 1 },
    { "prefix", KEY_PREFIX, "FOLDER", 0,
      "Pack what lies below FOLDER of the source (default: train/ for train, val/ or test/ for "
      "val, where the source has them; else all of it)", 2 },
    { "hold-out", KEY_HOLD_OUT, "N", 0,
      "Of a source without splits, keep every N-th picture of each class for val", 2 },
    { "classes-from", KEY_CLASSES, "DIR/train", 0,
      "Keep the class numbers of this set (default for val: those of DIR/train)", 2 },
    { "subset", KEY_SUBSET, NULL, 0,
      "The train set has fewer classes than the source: pass over the pictures of the others", 2 },
    { "devkit", KEY_DEVKIT, "FILE", 0,
      "ILSVRC2012_devkit_t12.tar.gz: the classes of val's pictures, and what all classes show", 2 },
    { "labels", KEY_LABELS, "FILE", 0,
      "The classes of pictures that lie in no class folders: lines 'name class', or Kaggle's "
      "LOC_val_solution.csv", 2 },
    { "words", KEY_WORDS, "FILE", 0,
      "What the classes show: lines 'class words', as in Kaggle's LOC_synset_mapping.txt", 2 },
    { "numeric", KEY_NUMERIC, NULL, 0,
      "Class folders are called by numbers: number the classes in their order, and print it", 2 },
    { "md5", KEY_MD5, "SUM", OPTION_ARG_OPTIONAL,
      "Check the MD5 of the archive while it is read: it must be that of ILSVRC2012's official "
      "file, or SUM", 2 },
    { "on-error", KEY_ERROR, "fail|skip|keep", 0,
      "What to do about a file that is no sound picture: fail (default); skip: leave it out and "
      "list it in create.tsv; keep: the same, but keep what can be seen of a damaged one", 2 },
    { "keep", KEY_KEEP, NULL, 0, "Store the original bytes of every JPEG", 3 },
    { "quality", KEY_QUALITY, "Q", 0, "JPEG quality (default 90)", 3 },
    { "shorter", KEY_SHORTER, "PIXELS", 0, "Largest shorter side (default 256)", 3 },
    { "exif", KEY_EXIF, "ignore|apply", 0,
      "Turn pictures by their Exif orientation, or not (default)", 3 },
    { "max-pixels", KEY_PIXELS, "N", 0, "Refuse larger pictures (default 134217728)", 3 },
    { "max-memory", KEY_MEMORY, "MIB", 0,
      "Refuse pictures that take more memory to decode (default 1024)", 3 },
    { "shards", KEY_SHARDS, "S", 0, "Number of shards (default 16)", 4 },
    { "seed", KEY_SEED, "N", 0, "Seed of the distribution over the shards (default 1)", 4 },
    { "threads", 'j', "N", 0, "Worker threads (default: all cores)", 4 },
    { 0 }
};

static const struct argp_option verify_options[] = {
    { "decode", KEY_DECODE, NULL, 0, "Decode every picture, too", 0 },
    { "threads", 'j', "N", 0, "Worker threads (default: all cores)", 0 },
    { 0 }
};

static const struct argp_option extract_options[] = {
    { "split", KEY_SPLIT, "train|val", 0, "Which split to take out (default train)", 0 },
    { "output", 'o', "OUT", 0, "Where to (default DIR/SPLIT/files)", 0 },
    { "threads", 'j', "N", 0, "Worker threads (default: all cores)", 0 },
    { 0 }
};

static const struct argp_option no_options[] = { { 0 } };

static tc_status do_create(const settings *s)
{
    return tc_pack_create(&s->create);
}

static tc_status do_info(const settings *s)
{
    return tc_pack_info(s->dir);
}

static tc_status do_verify(const settings *s)
{
    return tc_pack_verify(s->dir, s->decode, s->create.threads);
}

static tc_status do_extract(const settings *s)
{
    const char *split = s->create.split == NULL ? "train" : s->create.split;

    return tc_pack_extract(s->dir, split, s->create.out, s->create.threads);
}

static const struct {
    const char *name;
    struct argp argp;
    tc_status (*run)(const settings *s);
} commands[] = {
    { "create",
      { create_options, parse_create, "SRC...", "Pack the pictures of SRC: a folder of class "
        "folders, or a tar (compressed, too) or zip of one.", NULL, NULL, NULL },
      do_create },
    { "info", { no_options, parse_dir, "DIR", "Say what is in a data set.", NULL, NULL, NULL },
      do_info },
    { "verify",
      { verify_options, parse_dir, "DIR", "Check every byte of a data set.", NULL, NULL, NULL },
      do_verify },
    { "extract",
      { extract_options, parse_dir, "DIR", "Write the pictures of a split as files.", NULL, NULL,
        NULL },
      do_extract },
};

#define N_COMMANDS ((int)(sizeof commands / sizeof *commands))

/* The word that chooses the command, and nothing behind it. */
typedef struct {
    int command; /* -1: none yet */
    int next;    /* of argv: the command's own arguments */
} choice;

static error_t parse_choice(int key, char *text, struct argp_state *state)
{
    choice *c = state->input;

    if (key == ARGP_KEY_ARG) {
        for (int i = 0; i < N_COMMANDS; i++)
            if (strcmp(text, commands[i].name) == 0)
                c->command = i;
        if (c->command < 0)
            argp_error(state, "%s: no such command", text);
        c->next = state->next;
        state->next = state->argc; /* the rest is the command's */
        return 0;
    }
    if (key == ARGP_KEY_END && c->command < 0)
        argp_error(state, "a command is wanted");
    return key == ARGP_KEY_END ? 0 : ARGP_ERR_UNKNOWN;
}

static const struct argp main_argp = {
    no_options, parse_choice,
    "create SRC... -o DIR --split train|val\ninfo DIR\nverify DIR\nextract DIR",
    "Put labelled pictures into shards for tricolor-train, look at them, check them and take them "
    "out again.\vEach command has its own options: tricolor-pack COMMAND --help.",
    NULL, NULL, NULL
};

int main(int argc, char **argv)
{
    settings s = { .create = { .shards = 16,
                               .seed = 1,
                               .threads = cores(),
                               .recode = { .quality = 90, .shorter = 256 } } };
    choice chosen = { .command = -1 };
    char name[64];

    signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error that names it */
    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(&main_argp, argc, argv, ARGP_IN_ORDER, NULL, &chosen) != 0)
        return EXIT_USAGE;
    snprintf(name, sizeof name, "tricolor-pack %s", commands[chosen.command].name);
    argv[chosen.next - 1] = name; /* so that its --help calls itself by both words */
    if (argp_parse(&commands[chosen.command].argp, argc - chosen.next + 1, argv + chosen.next - 1,
                   0, NULL, &s) != 0)
        return EXIT_USAGE;
    if (commands[chosen.command].run(&s) != TC_OK) {
        fprintf(stderr, "tricolor-pack: %s\n", tc_error_detail());
        return EXIT_FAILURE;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "tricolor-pack: cannot write the result: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
