#include <config.h>

#include "data-prep/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define BLOCK_BYTES ((size_t)1 << 20) /* read at a time */

struct tc_archive {
    char *title; /* for messages: the path, and the member where it is inside another */
    struct archive *handle;
    struct archive_entry *member;
    tc_archive *outer; /* NULL: read from fd */
    int fd;            /* -1: none */
    int error;         /* errno of a read that failed: not the archive is to blame */
    bool damaged;      /* met by a read for the one inside */
    uint8_t *block;
    tc_md5 *md5; /* NULL: none */
};

size_t tc_tar_stem(const char *name)
{
    static const char *const endings[] = { ".tar",     ".tgz",     ".tbz2",    ".txz",
                                           ".tar.gz",  ".tar.bz2", ".tar.xz",  ".tar.zst",
                                           ".tar.lz4", ".tar.lz",  ".tar.lzma" };
    size_t length = strlen(name);

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t ending = strlen(endings[i]);
        /* A name of the ending alone is a hidden file. */
        if (length > ending && name[length - ending - 1] != '/' &&
            strcasecmp(name + length - ending, endings[i]) == 0)
            return length - ending;
    }
    return 0;
}

void tc_archive_close(tc_archive *archive)
{
    if (archive == NULL)
        return;
    if (archive->handle != NULL)
        archive_read_free(archive->handle);
    if (archive->fd > STDIN_FILENO)
        close(archive->fd);
    tc_free(archive->block);
    free(archive->title);
    tc_free(archive);
}

static tc_status failed(const tc_archive *archive)
{
    const char *text = archive_error_string(archive->handle);
    int members = archive_file_count(archive->handle);

    if (archive->error != 0)
        return tc_fail(TC_IO, "%s: cannot read: %s", archive->title, strerror(archive->error));
    if (archive->outer != NULL && archive->outer->damaged)
        return failed(archive->outer);
    if (members == 0 && archive_format(archive->handle) == 0)
        return tc_fail(TC_FORMAT, "%s: %s that can be read (%s)", archive->title,
                       archive->outer == NULL ? "neither a folder nor a tar or zip archive"
                                              : "named as a tar inside an archive, but none",
                       text == NULL ? "unknown" : text);
    return tc_fail(TC_FORMAT, "%s: damaged after %d members: %s; copy the archive again",
                   archive->title, members, text == NULL ? "unknown" : text);
}

/* libarchive's callbacks; they return -1 for a failure. */
static la_ssize_t read_file(struct archive *handle, void *context, const void **data_p)
{
    tc_archive *a = context;
    ssize_t n;

    do {
        n = read(a->fd, a->block, BLOCK_BYTES);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        a->error = errno;
        archive_set_error(handle, errno, "cannot read: %s", strerror(errno));
    }
    if (n > 0 && a->md5 != NULL)
        tc_md5_add(a->md5, a->block, (size_t)n);
    *data_p = a->block;
    return n;
}

/* What follows the last member belongs to the file's sum, too. */
static tc_status read_rest(tc_archive *a)
{
    const void *data = NULL;
    la_ssize_t n;

    do {
        n = read_file(a->handle, a, &data);
    } while (n > 0);
    return n < 0 ? failed(a) : TC_OK;
}

static la_int64_t seek_file(struct archive *handle, void *context, la_int64_t offset, int whence)
{
    const tc_archive *a = context;
    off_t at = lseek(a->fd, offset, whence);

    (void)handle;
    return at < 0 ? ARCHIVE_FATAL : at;
}

static la_int64_t skip_file(struct archive *handle, void *context, la_int64_t request)
{
    const tc_archive *a = context;
    off_t here = lseek(a->fd, 0, SEEK_CUR), end = lseek(a->fd, 0, SEEK_END);

    (void)handle;
    if (here < 0 || end < 0)
        return 0; /* not skipped: it will be read */
    off_t to = end - here < request ? end : here + request;
    return lseek(a->fd, to, SEEK_SET) == to ? to - here : 0;
}

static la_ssize_t read_outer(struct archive *handle, void *context, const void **data_p)
{
    tc_archive *a = context;
    la_ssize_t n;

    do {
        n = archive_read_data(a->outer->handle, a->block, BLOCK_BYTES);
    } while (n == ARCHIVE_RETRY);
    if (n < 0) {
        a->outer->damaged = true;
        archive_set_error(handle, EIO, "the archive around it is damaged");
    }
    *data_p = a->block;
    return n < 0 ? -1 : n;
}

/* Everything but the callbacks. */
static tc_status prepare(const char *title, const char *inside, tc_archive **archive_p)
{
    tc_archive *archive = NULL;

    tc_status status = tc_alloc(1, sizeof *archive, "archive", &archive);
    if (status != TC_OK)
        return status;
    archive->fd = -1;
    status = tc_alloc((int64_t)BLOCK_BYTES, 1, "archive block", &archive->block);
    archive->handle = archive_read_new();
    if (asprintf(&archive->title, "%s%s%s", title, inside == NULL ? "" : ": ",
                 inside == NULL ? "" : inside) < 0)
        archive->title = NULL;
    if (status == TC_OK && (archive->handle == NULL || archive->title == NULL))
        status = tc_fail(TC_NOMEM, "%s: no memory to read an archive", title);
    if (status != TC_OK) {
        tc_archive_close(archive);
        return status;
    }
    archive_read_support_filter_all(archive->handle);
    archive_read_support_format_tar(archive->handle);
    *archive_p = archive;
    return TC_OK;
}

tc_status tc_archive_open(const char *path, tc_md5 *md5, tc_archive **archive_p)
{
    bool input = strcmp(path, "-") == 0;
    tc_archive *archive = NULL;

    tc_status status = prepare(input ? "standard input" : path, NULL, &archive);
    if (status != TC_OK)
        return status;
    archive->fd = input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    archive_read_support_format_zip(archive->handle);
    archive_read_set_read_callback(archive->handle, read_file);
    archive_read_set_callback_data(archive->handle, archive);
    archive->md5 = md5;
    if (md5 == NULL && lseek(archive->fd, 0, SEEK_CUR) == 0) { /* not of a pipe */
        archive_read_set_seek_callback(archive->handle, seek_file);
        archive_read_set_skip_callback(archive->handle, skip_file);
    }
    if (archive->fd < 0)
        status = tc_fail(TC_IO, "%s: cannot open: %s", path, strerror(errno));
    else if (archive_read_open1(archive->handle) != ARCHIVE_OK)
        status = failed(archive);
    if (status != TC_OK) {
        tc_archive_close(archive);
        return status;
    }
    *archive_p = archive;
    return TC_OK;
}

tc_status tc_archive_open_inside(tc_archive *outer, const char *name, tc_archive **archive_p)
{
    tc_archive *archive = NULL;

    tc_status status = prepare(outer->title, name, &archive);
    if (status != TC_OK)
        return status;
    archive->outer = outer;
    archive_read_set_read_callback(archive->handle, read_outer);
    archive_read_set_callback_data(archive->handle, archive);
    if (archive_read_open1(archive->handle) != ARCHIVE_OK) {
        status = failed(archive);
        tc_archive_close(archive);
        return status;
    }
    *archive_p = archive;
    return TC_OK;
}

tc_status tc_archive_next(tc_archive *archive, tc_member *member, bool *end_p)
{
    int rc;

    while ((rc = archive_read_next_header(archive->handle, &archive->member)) == ARCHIVE_RETRY)
        ;
    *end_p = rc == ARCHIVE_EOF;
    if (rc == ARCHIVE_EOF)
        return archive->md5 != NULL ? read_rest(archive) : TC_OK;
    if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
        return failed(archive);
    const char *name = archive_entry_pathname_utf8(archive->member);
    if (name == NULL)
        name = archive_entry_pathname(archive->member);
    if (name == NULL)
        return tc_fail(TC_FORMAT, "%s: member %d has a name that cannot be read", archive->title,
                       archive_file_count(archive->handle));
    bool link = archive_entry_hardlink(archive->member) != NULL;
    mode_t type = archive_entry_filetype(archive->member);
    bool tar = archive->outer == NULL && tc_tar_stem(name) > 0;
    /* Not read at all, so that it can be left out like any other file that is no picture. */
    bool large = !link && !tar && type == AE_IFREG && archive_entry_size_is_set(archive->member) &&
                 archive_entry_size(archive->member) > (int64_t)TC_PICTURE_MAX;
    *member = (tc_member){ .kind = link || large      ? TC_MEMBER_OTHER
                                   : type == AE_IFDIR ? TC_MEMBER_FOLDER
                                   : type == AE_IFREG ? TC_MEMBER_FILE
                                                      : TC_MEMBER_OTHER,
                           .name = name,
                           .why = large ? "larger than 256 MiB: no picture"
                                  : link || type == AE_IFLNK
                                      ? "a link inside an archive (pack the folder itself, or "
                                        "make the archive with --dereference "
                                        "--hard-dereference)"
                                      : "not a regular file" };
    return TC_OK;
}

tc_status tc_archive_read(tc_archive *archive, tc_buffer *buffer)
{
    buffer->bytes = 0;
    for (;;) {
        tc_status status = tc_buffer_reserve(buffer, buffer->bytes + 65536);
        if (status != TC_OK)
            return status;
        la_ssize_t n = archive_read_data(archive->handle, buffer->data + buffer->bytes,
                                         buffer->capacity - buffer->bytes);
        if (n == 0)
            return TC_OK;
        if (n == ARCHIVE_RETRY)
            continue;
        if (n < 0)
            return failed(archive);
        buffer->bytes += (size_t)n;
        if (buffer->bytes > TC_PICTURE_MAX)
            return tc_fail(TC_FORMAT, "%s: %s: larger than %llu MiB: no picture", archive->title,
                           archive_entry_pathname(archive->member),
                           (unsigned long long)(TC_PICTURE_MAX >> 20));
    }
}
