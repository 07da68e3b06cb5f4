#include <config.h>

#include "data-prep/walk.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES ((size_t)1 << 20) /* read from an archive at a time */

struct tc_walk {
    char *source;
    FTS *tree; /* a folder, or: */
    FTSENT *at;
    struct archive *archive;
    struct archive_entry *member;
    tc_buffer name;
};

void tc_walk_close(tc_walk *walk)
{
    if (walk == NULL)
        return;
    if (walk->tree != NULL)
        fts_close(walk->tree);
    if (walk->archive != NULL)
        archive_read_free(walk->archive);
    tc_buffer_free(&walk->name);
    free(walk->source);
    tc_free(walk);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static tc_status open_tree(tc_walk *walk)
{
    char *roots[] = { walk->source, NULL };

    walk->tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    if (walk->tree == NULL)
        return tc_fail(TC_IO, "%s: cannot open: %s", walk->source, strerror(errno));
    return TC_OK;
}

static tc_status archive_failed(const tc_walk *walk)
{
    const char *text = archive_error_string(walk->archive);

    if (archive_file_count(walk->archive) == 0 && archive_format(walk->archive) == 0)
        return tc_fail(TC_FORMAT,
                       "%s: neither a folder nor a tar or zip archive that can be read (%s)",
                       walk->source, text == NULL ? "unknown" : text);
    return tc_fail(TC_FORMAT, "%s: damaged after %d members: %s; copy the archive again",
                   walk->source, archive_file_count(walk->archive),
                   text == NULL ? "unknown" : text);
}

static tc_status open_archive(tc_walk *walk)
{
    walk->archive = archive_read_new();
    if (walk->archive == NULL)
        return tc_fail(TC_NOMEM, "%s: no memory to read an archive", walk->source);
    archive_read_support_filter_all(walk->archive);
    archive_read_support_format_tar(walk->archive);
    archive_read_support_format_zip(walk->archive);
    if (archive_read_open_filename(walk->archive, walk->source, BLOCK_BYTES) != ARCHIVE_OK)
        return archive_failed(walk);
    return TC_OK;
}

tc_status tc_walk_open(const char *source, tc_walk **walk_p)
{
    tc_walk *walk = NULL;
    struct stat st;

    if (stat(source, &st) != 0)
        return tc_fail(TC_IO, "%s: cannot open: %s", source, strerror(errno));
    tc_status status = tc_alloc(1, sizeof *walk, "walk", &walk);
    if (status != TC_OK)
        return status;
    walk->source = strdup(source);
    if (walk->source == NULL)
        status = tc_fail(TC_NOMEM, "%s: no memory for its name", source);
    else
        status = S_ISDIR(st.st_mode) ? open_tree(walk) : open_archive(walk);
    if (status != TC_OK) {
        tc_walk_close(walk);
        return status;
    }
    *walk_p = walk;
    return TC_OK;
}

/* Keep `raw` without "./" and "//", and refuse what would climb out of the source. */
static tc_status set_name(tc_walk *walk, const char *raw)
{
    tc_buffer *name = &walk->name;
    tc_status status = TC_OK;

    name->bytes = 0;
    for (const char *p = raw; status == TC_OK && *p != '\0';) {
        size_t length = strcspn(p, "/");
        if (length == 2 && memcmp(p, "..", 2) == 0)
            return tc_fail(TC_FORMAT, "%s: %.500s: a name with \"..\" in it is refused",
                           walk->source, raw);
        if (length > 0 && !(length == 1 && *p == '.')) {
            if (name->bytes > 0)
                status = tc_buffer_append(name, "/", 1);
            if (status == TC_OK)
                status = tc_buffer_append(name, p, length);
        }
        p += length + (p[length] == '/');
    }
    return status == TC_OK ? tc_buffer_append(name, "", 1) : status;
}

static tc_status next_in_tree(tc_walk *walk, tc_walk_entry *entry, bool *end_p)
{
    size_t root = strlen(walk->source);

    for (;;) {
        errno = 0;
        FTSENT *at = walk->at = fts_read(walk->tree);
        if (at == NULL && errno != 0)
            return tc_fail(TC_IO, "%s: cannot read: %s", walk->source, strerror(errno));
        *end_p = at == NULL;
        if (at == NULL)
            return TC_OK;
        if (at->fts_info == FTS_DP || at->fts_level == 0)
            continue;
        if (at->fts_info == FTS_DNR || at->fts_info == FTS_ERR || at->fts_info == FTS_NS)
            return tc_fail(TC_IO, "%s: cannot read: %s", at->fts_path, strerror(at->fts_errno));
        if (at->fts_info == FTS_DC)
            return tc_fail(TC_IO, "%s: a link to a folder around itself", at->fts_path);
        tc_status status = set_name(walk, at->fts_path + root);
        *entry = (tc_walk_entry){ .kind = at->fts_info == FTS_D   ? TC_WALK_FOLDER
                                          : at->fts_info == FTS_F ? TC_WALK_FILE
                                                                  : TC_WALK_OTHER,
                                  .name = (const char *)walk->name.data,
                                  .file = at->fts_path,
                                  .why = at->fts_info == FTS_SLNONE ? "a link that leads nowhere"
                                                                    : "not a regular file" };
        return status;
    }
}

static tc_status next_in_archive(tc_walk *walk, tc_walk_entry *entry, bool *end_p)
{
    int rc;

    while ((rc = archive_read_next_header(walk->archive, &walk->member)) == ARCHIVE_RETRY)
        ;
    *end_p = rc == ARCHIVE_EOF;
    if (rc == ARCHIVE_EOF)
        return TC_OK;
    if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
        return archive_failed(walk);
    const char *raw = archive_entry_pathname_utf8(walk->member);
    if (raw == NULL)
        raw = archive_entry_pathname(walk->member);
    if (raw == NULL)
        return tc_fail(TC_FORMAT, "%s: member %d has a name that cannot be read", walk->source,
                       archive_file_count(walk->archive));
    tc_status status = set_name(walk, raw);
    bool link = archive_entry_hardlink(walk->member) != NULL;
    mode_t type = archive_entry_filetype(walk->member);
    /* Not read at all, so that it can be left out like any other file that is no picture. */
    bool large = !link && type == AE_IFREG && archive_entry_size_is_set(walk->member) &&
                 archive_entry_size(walk->member) > (int64_t)TC_PICTURE_MAX;
    *entry = (tc_walk_entry){ .kind = link || large      ? TC_WALK_OTHER
                                      : type == AE_IFDIR ? TC_WALK_FOLDER
                                      : type == AE_IFREG ? TC_WALK_FILE
                                                         : TC_WALK_OTHER,
                              .name = (const char *)walk->name.data,
                              .why = large ? "larger than 256 MiB: no picture"
                                     : link || type == AE_IFLNK
                                         ? "a link inside an archive (pack the folder itself, or "
                                           "make the archive with --dereference "
                                           "--hard-dereference)"
                                         : "not a regular file" };
    return status;
}

tc_status tc_walk_next(tc_walk *walk, tc_walk_entry *entry, bool *end_p)
{
    tc_status status;

    do { /* an archive's own root, "./", has no name left */
        status = walk->tree != NULL ? next_in_tree(walk, entry, end_p)
                                    : next_in_archive(walk, entry, end_p);
    } while (status == TC_OK && !*end_p && entry->name[0] == '\0');
    return status;
}

static tc_status too_large(const char *name)
{
    return tc_fail(TC_FORMAT, "%s: larger than %llu MiB: no picture", name,
                   (unsigned long long)(TC_PICTURE_MAX >> 20));
}

static tc_status read_member(tc_walk *walk, tc_buffer *buffer)
{
    buffer->bytes = 0;
    for (;;) {
        tc_status status = tc_buffer_reserve(buffer, buffer->bytes + 65536);
        if (status != TC_OK)
            return status;
        la_ssize_t n = archive_read_data(walk->archive, buffer->data + buffer->bytes,
                                         buffer->capacity - buffer->bytes);
        if (n == 0)
            return TC_OK;
        if (n == ARCHIVE_RETRY)
            continue;
        if (n < 0)
            return archive_failed(walk);
        buffer->bytes += (size_t)n;
        if (buffer->bytes > TC_PICTURE_MAX)
            return too_large((const char *)walk->name.data);
    }
}

tc_status tc_read_file(const char *path, tc_buffer *buffer)
{
    struct stat st;
    tc_status status = TC_OK;
    ssize_t n = 1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) != 0) {
        status = tc_fail(TC_IO, "%s: cannot open: %s", path, strerror(errno));
    } else if ((uint64_t)st.st_size > TC_PICTURE_MAX) {
        status = too_large(path);
    } else {
        buffer->bytes = 0;
        status = tc_buffer_reserve(buffer, (size_t)st.st_size + 1);
    }
    while (status == TC_OK && n > 0 && buffer->bytes < (size_t)st.st_size) {
        n = read(fd, buffer->data + buffer->bytes, (size_t)st.st_size - buffer->bytes);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n < 0)
            status = tc_fail(TC_IO, "%s: cannot read: %s", path, strerror(errno));
        else
            buffer->bytes += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    return status;
}

tc_status tc_walk_read(tc_walk *walk, tc_buffer *buffer)
{
    return walk->tree != NULL ? tc_read_file(walk->at->fts_accpath, buffer)
                              : read_member(walk, buffer);
}

void tc_walk_prune(tc_walk *walk)
{
    if (walk->tree != NULL)
        fts_set(walk->tree, walk->at, FTS_SKIP);
}
