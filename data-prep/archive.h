#ifndef TC_PACK_ARCHIVE_H
#define TC_PACK_ARCHIVE_H
/**
 * @file archive.h
 * An archive read as a stream, and an archive inside it, of which nothing is unpacked to disk.
 *
 * tar and zip, through every compression that libarchive knows.  Flow: tc_archive_open() ->
 * { tc_archive_next() -> tc_archive_read() | tc_archive_open_inside() } … -> tc_archive_close().
 * Used by: walk.
 */
#include "data-prep/md5.h"

#include "base/mem.h"
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

#define TC_PICTURE_MAX ((uint64_t)256 << 20) /* bytes; a larger file is no picture */

typedef enum { TC_MEMBER_FOLDER, TC_MEMBER_FILE, TC_MEMBER_OTHER } tc_member_kind;

/** One member; the strings are valid until the next call. */
typedef struct {
    tc_member_kind kind;
    const char *name; /* as the archive has it */
    const char *why;  /* of OTHER: why it cannot be a picture */
} tc_member;

typedef struct tc_archive tc_archive;

/** Length of a tar's name without its ending (.tar, .tgz, .tar.xz, …); 0: not named as a tar. */
size_t tc_tar_stem(const char *name);

/**
 * @param path  A file, or "-": standard input.
 * @param md5   Started; gets every byte of the file, up to its end once the last member was stepped
 *              behind.  Borrowed while the archive is open.  NULL: no sum is wanted.
 * @retval TC_IO  cannot be opened.  @retval TC_FORMAT  no archive.
 */
tc_status tc_archive_open(const char *path, tc_md5 *md5, tc_archive **archive_p);

/**
 * Open the tar that is the member stepped to of @p outer, which must outlive it.  The outer one may
 * step on when it is closed.
 * @param name  For messages; copied.
 */
tc_status tc_archive_open_inside(tc_archive *outer, const char *name, tc_archive **archive_p);

void tc_archive_close(tc_archive *archive); /* NULL accepted */

/** Step to the next member; *end_p is set behind the last one.  @retval TC_IO, TC_FORMAT */
tc_status tc_archive_next(tc_archive *archive, tc_member *member, bool *end_p);

/** Read the file stepped to (at most once).  Replaces the content of @p buffer. */
tc_status tc_archive_read(tc_archive *archive, tc_buffer *buffer);

#endif
