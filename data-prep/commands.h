#ifndef TC_PACK_COMMANDS_H
#define TC_PACK_COMMANDS_H
/**
 * @file commands.h
 * What tricolor-pack can do; main() has read the options.  Used by: tricolor-pack.
 */
#include "base/status.h"
#include "data-prep/recode.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    char **sources;
    int n_sources;
    const char *out;          /* DIR */
    const char *split;        /* "train" or "val" */
    const char *prefix;       /* NULL: found, see source.h */
    const char *classes_from; /* folder of a packed split; NULL: see classmap.h */
    const char *devkit;       /* of ILSVRC2012; or NULL */
    const char *labels;       /* list of pictures and their classes, or NULL */
    const char *words;        /* list of classes and what they show, or NULL */
    bool numeric;             /* class folders are numbers, and their values give the order */
    bool subset;              /* pass over pictures of classes that the train set has not */
    bool md5;                 /* hold the sum of each source against: */
    const char *sum;          /* this one; NULL: the published one */
    uint32_t shards;
    uint64_t seed;
    int threads;
    int64_t hold_out; /* every N-th picture of each class goes to val; 0: none */
    tc_recode_options recode;
    bool skip; /* leave out, and list, what is no sound picture */
    bool force;
} tc_create_options;

/** Pack; see the man page.  Prints one line about what was packed to stdout. */
tc_status tc_pack_create(const tc_create_options *options);

/** Print both splits of DIR.  @retval TC_IO  there is none. */
tc_status tc_pack_info(const char *dir);

/**
 * Read everything and compare every checksum, count and total; with @p decode, every picture too.
 * Each fault is logged.  @retval TC_FORMAT  there were some: the text counts them.
 */
tc_status tc_pack_verify(const char *dir, bool decode, int threads);

/** Write the pictures of a split as files below @p out (NULL: DIR/split/files). */
tc_status tc_pack_extract(const char *dir, const char *split, const char *out, int threads);

#endif
