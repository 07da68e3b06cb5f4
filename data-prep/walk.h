#ifndef TC_PACK_WALK_H
#define TC_PACK_WALK_H
/**
 * @file walk.h
 * The members of a folder or of an archive, one after the other, in the same form.
 *
 * A folder is walked in bytewise order of names, each folder before what is in it (GNU tar
 * --sort=name gives the same order); an archive is streamed in its own order and nothing of it is
 * unpacked to disk.  A tar in either, such as n01440764.tar, is a folder named as it is without its
 * ending: it is stepped to first, then what is in it.  Symbolic links are followed in a folder.
 * Flow: tc_walk_open() -> { tc_walk_next() -> tc_walk_read() | tc_walk_prune() } …
 *       -> tc_walk_close().
 * Used by: source.
 */
#include "data-prep/archive.h"

/** One member; the strings are valid until the next call. */
typedef struct {
    tc_member_kind kind;
    const char *name; /* below the source: "a/b.jpg", no "./", no "/" at either end */
    const char *file; /* path of a folder's file; NULL in an archive */
    const char *why;  /* of OTHER: why it cannot be a picture */
} tc_walk_entry;

typedef struct tc_walk tc_walk;

/**
 * @param source  A folder, an archive, or "-": an archive from standard input.
 * @param md5     As in tc_archive_open(); a folder gives it nothing.
 * @retval TC_IO  missing, unreadable.  @retval TC_FORMAT  neither folder nor tar nor zip.
 */
tc_status tc_walk_open(const char *source, tc_md5 *md5, tc_walk **walk_p);
void tc_walk_close(tc_walk *walk); /* NULL accepted */

/** Step to the next member; *end_p is set behind the last one. */
tc_status tc_walk_next(tc_walk *walk, tc_walk_entry *entry, bool *end_p);

/** Read the file stepped to (at most once).  Replaces the content of @p buffer. */
tc_status tc_walk_read(tc_walk *walk, tc_buffer *buffer);

/** Leave out what is below the folder stepped to (an archive has to be read through anyway). */
void tc_walk_prune(tc_walk *walk);

/** Read a whole file into @p buffer (replaced).  @retval TC_IO; TC_FORMAT above TC_PICTURE_MAX */
tc_status tc_read_file(const char *path, tc_buffer *buffer);

#endif
