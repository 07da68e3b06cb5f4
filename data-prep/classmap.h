#ifndef TC_PACK_CLASSMAP_H
#define TC_PACK_CLASSMAP_H
/**
 * @file classmap.h
 * Where the classes of a split come from, and what they must agree with: the other split above all.
 *
 * Flow: tc_classmap_read() -> tc_classmap_fixed(), pack, then, with the classes in order,
 *       tc_classmap_words() -> tc_classmap_check() -> tc_classmap_free().
 * Used by: create.
 */
#include "data-prep/commands.h"
#include "data-prep/labels.h"
#include "shard/dataset.h"

/** Zero-initialise. */
typedef struct {
    tc_dataset *kept;  /* the set whose class numbers are kept; NULL: none */
    tc_labels *labels; /* of the devkit or a list; NULL: none */
    bool flat;         /* the labels give the classes of the pictures, not only words */
    char words[4096];  /* file of words; "": none */
} tc_classmap;

/**
 * Read what the options name: --classes-from (for val, without it, DIR/train if it is there),
 * --devkit, --labels, --words; and the lists that lie in a folder of Kaggle's layout.
 * @retval TC_FORMAT  of a file; a devkit with other classes than those kept.
 */
tc_status tc_classmap_read(const tc_create_options *options, tc_classmap *map);
void tc_classmap_free(tc_classmap *map);

/** The classes that are allowed and numbered already, or NULL. */
const tc_dataset *tc_classmap_fixed(const tc_classmap *map);

/** Fill in what the classes of @p dataset show, where it is known. */
tc_status tc_classmap_words(const tc_classmap *map, tc_dataset *dataset);

/**
 * Before anything is finished: refuse a val set of one class and classes that are not those of the
 * other split; tell of an ImageNet that is not whole, and of classes that are numbers.
 *
 * @param met       Classes met.
 * @param pictures  Pictures met, also those that were left out.
 */
tc_status tc_classmap_check(const tc_create_options *options, const tc_classmap *map,
                            const tc_dataset *dataset, int64_t met, uint64_t pictures);

#endif
