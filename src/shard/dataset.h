#ifndef TC_SHARD_DATASET_H
#define TC_SHARD_DATASET_H
/**
 * @file dataset.h
 * A split of a data set: DIR/train or DIR/val with dataset.json and 00000.shard, 00001.shard, …
 *
 * dataset.json is written last and is the mark of a finished set: without it the folder is not one.
 * Records are numbered through: shard 0's first.  Used by: store, data-prep, train.
 */
#include "base/status.h"
#include "shard/shard.h"
#include <stdint.h>

#define TC_DATASET_VERSION 1
#define TC_CLASS_NAME_MAX 256

typedef struct {
    char name[TC_CLASS_NAME_MAX];  /* folder name: a WNID in ImageNet */
    char words[TC_CLASS_NAME_MAX]; /* what it shows; may be "" */
    uint64_t count;                /* records */
} tc_class;

typedef struct {
    char path[4096];               /* DIR/split */
    char split[16];                /* "train" or "val" */
    int64_t n_classes;
    tc_class *classes;             /* in index order */
    uint64_t class_hash;           /* of the names in order; train and val must share it */
    uint32_t n_shards;
    uint64_t records, bytes;       /* totals; bytes of the pictures */
    uint64_t max_bytes;            /* of the largest picture */
    uint32_t min_side, max_side;   /* over all pictures and both sides, in pixels */
    uint64_t *first;               /* (n_shards + 1) number of each shard's first record */
    char encoding[128];            /* "jpeg q90 4:2:0, shorter side at most 256" or "kept" */
    uint64_t seed;                 /* of the distribution over the shards */
    uint64_t identity;             /* hash of all records' checksums in order */
} tc_dataset;

/** Hash of class names in order (XXH3). */
uint64_t tc_class_hash(const tc_class *classes, int64_t n);

/**
 * Fill in what the finished shards of dataset->path say: records, bytes, max_bytes, the sides,
 * first[], the classes' counts and the identity.  Given: path, split, classes, n_shards.
 *
 * Reads the indexes only.  Used by create, before dataset.json is written, and verify.
 * @retval TC_IO, TC_FORMAT  of a shard; a label that is no class.
 */
tc_status tc_dataset_scan(tc_dataset *dataset);

/** Write DIR/split/dataset.json: temporary name, fsync, rename, fsync of the folder. */
tc_status tc_dataset_write(const tc_dataset *dataset);

/**
 * Read dir/split/dataset.json.  @p dataset_p is tc_dataset_free()d by the caller.
 * @retval TC_IO  missing folder or file: says which, and to run tricolor-pack.
 * @retval TC_FORMAT  malformed, another version, totals that contradict each other.
 */
tc_status tc_dataset_read(const char *dir, const char *split, tc_dataset **dataset_p);
void tc_dataset_free(tc_dataset *dataset); /* NULL accepted */

/**
 * Open shard i of the set and hold its number, record count and labels against dataset.json.
 * @retval TC_FORMAT  names the shard, and the record whose label is none of the classes.
 */
tc_status tc_dataset_open_shard(const tc_dataset *dataset, uint32_t i, tc_shard **shard_p);

/** The same by tc_shard_open_bare(): number and record count are held against dataset.json, labels
 *  are not. */
tc_status tc_dataset_open_bare(const tc_dataset *dataset, uint32_t i, tc_shard **shard_p);

/** Find the shard and the index in it of record @p id < records. */
void tc_dataset_locate(const tc_dataset *dataset, uint64_t id, uint32_t *shard_p, uint64_t *i_p);

#endif
