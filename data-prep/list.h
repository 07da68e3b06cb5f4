#ifndef TC_PACK_LIST_H
#define TC_PACK_LIST_H
/**
 * @file list.h
 * create.tsv: what was left out, and what was not stored as the plain picture it might have been,
 * each with its name and the reason; and the counts of both.  doc/FORMAT describes the columns.
 *
 * The file is there only if it has a line.  Flow: tc_list_create() -> tc_list_reject(),
 * tc_list_note() … -> tc_list_finish() (rename) -> tc_list_print() -> tc_list_destroy().
 * Used by: create.
 */
#include "data-prep/recode.h"

typedef struct tc_list tc_list;

/** @param folder  DIR/SPLIT; borrowed. */
tc_status tc_list_create(const char *folder, tc_list **list_p);

/** Note something that was left out. */
tc_status tc_list_reject(tc_list *list, const char *source, const char *member, tc_fault fault,
                         const char *why);

/** Note what is worth saying of a packed picture; nothing is, of most. */
tc_status tc_list_note(tc_list *list, const char *source, const char *member,
                       const tc_recoded *result);

/** Sync, and give the file its name.  @retval TC_IO */
tc_status tc_list_finish(tc_list *list);

uint64_t tc_list_rejected(const tc_list *list);
uint64_t tc_list_outcome(const tc_list *list, tc_outcome outcome); /* of all packed pictures */

/** Log the counts: a warning about what was left out or salvaged, the notes as information. */
void tc_list_log(const tc_list *list);

/** Without a tc_list_finish(), nothing is left.  NULL accepted. */
void tc_list_destroy(tc_list *list);

#endif
