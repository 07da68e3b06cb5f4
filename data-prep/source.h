#ifndef TC_PACK_SOURCE_H
#define TC_PACK_SOURCE_H
/**
 * @file source.h
 * The labelled pictures of a source: a tree of class folders, or an archive of one.
 *
 * What is packed: the files below PREFIX/, named "class/…/picture.jpg" from there on.  Without a
 * prefix the first picture (JPEG or PNG) of the source decides: where it lies in a folder train,
 * val or test that has class folders inside (also one folder down, as in
 * "imagenette2/train/n01440764/x.JPEG"), the split chooses train/, or val/ or test/; otherwise the
 * top-level folders are the classes.  Kaggle's ILSVRC/Data/CLS-LOC/ is known, too.  Names with a
 * part that begins with "." are passed over.
 *
 * Flow: tc_source_open() -> tc_source_next() … -> tc_source_close().  Used by: create.
 */
#include "data-prep/md5.h"

#include "base/mem.h"
#include "base/status.h"
#include <stdbool.h>

typedef struct {
    const char *source; /* folder or archive */
    const char *prefix; /* NULL: found as above */
    const char *split;  /* "train" or "val" */
    tc_md5 *md5;        /* as in tc_archive_open() */
    bool flat;          /* the folders are no classes: every file is a picture */
} tc_source_options;

typedef enum {
    TC_ITEM_CLASS,   /* a class folder: it must turn out to hold pictures */
    TC_ITEM_PICTURE, /* a file in a class folder */
    TC_ITEM_FOREIGN  /* something that cannot be a picture; `why` says why */
} tc_item_kind;

/** One item; valid until the next call. */
typedef struct {
    tc_item_kind kind;
    const char *name;   /* below the prefix: "class", "class/picture.jpg"; flat: as it comes */
    const char *member; /* below the source, for messages */
    const char *file;   /* a picture's path; NULL: its bytes are in `data` */
    tc_buffer *data;    /* the source's own; the caller may swap it for another buffer */
    const char *why;
} tc_source_item;

typedef struct tc_source tc_source;

tc_status tc_source_open(const tc_source_options *options, tc_source **source_p);
void tc_source_close(tc_source *source); /* NULL accepted */

/**
 * Step to the next item; *end_p is set behind the last one.
 * @retval TC_IO, TC_FORMAT  the source itself is damaged, or has both val/ and test/.
 */
tc_status tc_source_next(tc_source *source, tc_source_item *item, bool *end_p);

#endif
