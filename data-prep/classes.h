#ifndef TC_PACK_CLASSES_H
#define TC_PACK_CLASSES_H
/**
 * @file classes.h
 * The classes met while packing, and the names of all records.
 *
 * Classes get provisional numbers as they come; when all are known, tc_classes_order() gives the
 * final ones: bytewise or numeric order of the names, or that of a given class map.  Used by:
 * create.
 */
#include "base/status.h"
#include "shard/dataset.h"
#include <stdbool.h>

typedef struct tc_classes tc_classes;

/**
 * @param fixed    Class map that must be kept (of the train set); NULL: a free one.
 * @param numeric  Of a free one: the names are whole numbers, and their values give the order.
 */
tc_status tc_classes_create(const tc_dataset *fixed, bool numeric, tc_classes **classes_p);
void tc_classes_destroy(tc_classes *classes); /* NULL accepted */

/**
 * Find or add a class; @p name is its first @p length bytes.
 * @retval TC_FORMAT  too long, not UTF-8, or not in the fixed class map.
 */
tc_status tc_classes_find(tc_classes *classes, const char *name, size_t length, int32_t *class_p);

/** Whether there is a fixed class map, and it lacks this class. */
bool tc_classes_lacks(const tc_classes *classes, const char *name, size_t length);

/** Note a picture met in a class (also one that is rejected or held out later).  Returns how many
 *  were met in it before. */
uint64_t tc_classes_meet(tc_classes *classes, int32_t c);

/** Note the name of a picture of class @p c that is to be packed.
 *  @retval TC_FORMAT  met before. */
tc_status tc_classes_take_name(tc_classes *classes, int32_t c, const char *name);

/** Note that one of them has become a record. */
void tc_classes_keep(tc_classes *classes, int32_t c);

/**
 * Put the classes in order.
 *
 * @param[out] map_p  Provisional to final number, of *met_p entries; the classes' own.
 * @param[out] list_p The classes in order; the caller's, tc_free().
 * @retval TC_FORMAT  no class at all; a class folder without a (sound) picture, by name; one that
 *                    is no number where that is wanted.
 */
tc_status tc_classes_order(tc_classes *classes, const int32_t **map_p, int64_t *met_p,
                           tc_class **list_p, int64_t *n_p);

/** UTF-8 without control characters: names and words stand in JSON, in tables and in messages. */
bool tc_is_text(const char *text);

/** A whole number of at most 18 digits. */
bool tc_is_number(const char *name);

#endif
