#ifndef TC_PACK_LABELS_H
#define TC_PACK_LABELS_H
/**
 * @file labels.h
 * The classes of pictures that do not lie in class folders, by their names.
 *
 * Used by: create.
 */
#include "base/status.h"
#include "shard/dataset.h"
#include <stdbool.h>

typedef struct tc_labels tc_labels;

/** From the development kit of ILSVRC2012; see devkit.h.
 *  @retval TC_FORMAT  also of an ID in the ground truth that is no class. */
tc_status tc_labels_from_devkit(const char *path, tc_labels **labels_p);

/**
 * From a text file: a line "name class" a picture; or Kaggle's LOC_val_solution.csv, which begins
 * with "ImageId,PredictionString" and has "name,class x y x y …".
 * @retval TC_FORMAT  names the line; a name with two classes.
 */
tc_status tc_labels_from_file(const char *path, tc_labels **labels_p);

void tc_labels_destroy(tc_labels *labels); /* NULL accepted */

/**
 * The class of a picture, or NULL.
 * @param name  Below the source; if it is not there with its folders, its last part is looked for,
 *              with and without its ending.
 */
const char *tc_labels_find(const tc_labels *labels, const char *name);

uint64_t tc_labels_count(const tc_labels *labels); /* pictures named */

/** All classes, in bytewise order, with their words; `path` is where they are from. */
const tc_dataset *tc_labels_map(const tc_labels *labels);

/** Read words from lines "class words …" (LOC_synset_mapping.txt) into @p map's classes. */
tc_status tc_labels_read_words(const char *path, tc_class *classes, int64_t n);

#endif
