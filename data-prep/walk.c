#include <config.h>

#include "data-prep/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tc_walk {
    char *source;
    FTS *tree; /* a folder, or: */
    FTSENT *at;
    tc_archive *archive;
    tc_archive *inner; /* the tar in either whose members are walked; NULL: none */
    tc_buffer stem;    /* its name without the ending, NUL */
    tc_buffer name;
};

void tc_walk_close(tc_walk *walk)
{
    if (walk == NULL)
        return;
    tc_archive_close(walk->inner);
    tc_archive_close(walk->archive);
    if (walk->tree != NULL)
        fts_close(walk->tree);
    tc_buffer_free(&walk->stem);
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

tc_status tc_walk_open(const char *source, tc_md5 *md5, tc_walk **walk_p)
{
    tc_walk *walk = NULL;
    struct stat st = { 0 };

    if (strcmp(source, "-") != 0 && stat(source, &st) != 0)
        return tc_fail(TC_IO, "%s: cannot open: %s", source, strerror(errno));
    tc_status status = tc_alloc(1, sizeof *walk, "walk", &walk);
    if (status != TC_OK)
        return status;
    walk->source = strdup(source);
    if (walk->source == NULL)
        status = tc_fail(TC_NOMEM, "%s: no memory for its name", source);
    else
        status =
            S_ISDIR(st.st_mode) ? open_tree(walk) : tc_archive_open(source, md5, &walk->archive);
    if (status != TC_OK) {
        tc_walk_close(walk);
        return status;
    }
    *walk_p = walk;
    return TC_OK;
}

/* Append `raw` to the name, without "./" and "//"; refuse what would climb out of the source. */
static tc_status add_name(tc_walk *walk, const char *raw)
{
    tc_buffer *name = &walk->name;
    tc_status status = TC_OK;

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
    return status;
}

/* The whole name: what a tar inside is called, if `inside`, and `raw`. */
static tc_status set_name(tc_walk *walk, bool inside, const char *raw)
{
    walk->name.bytes = 0;
    tc_status status = inside ? add_name(walk, (const char *)walk->stem.data) : TC_OK;
    if (status == TC_OK)
        status = add_name(walk, raw);
    return status == TC_OK ? tc_buffer_append(&walk->name, "", 1) : status;
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
        tc_status status = set_name(walk, false, at->fts_path + root);
        *entry = (tc_walk_entry){ .kind = at->fts_info == FTS_D   ? TC_MEMBER_FOLDER
                                          : at->fts_info == FTS_F ? TC_MEMBER_FILE
                                                                  : TC_MEMBER_OTHER,
                                  .name = (const char *)walk->name.data,
                                  .file = at->fts_path,
                                  .why = at->fts_info == FTS_SLNONE ? "a link that leads nowhere"
                                                                    : "not a regular file" };
        return status;
    }
}

static tc_status next_in_archive(tc_walk *walk, bool inside, tc_walk_entry *entry, bool *end_p)
{
    tc_member member;

    tc_status status = tc_archive_next(inside ? walk->inner : walk->archive, &member, end_p);
    if (status != TC_OK || *end_p)
        return status;
    status = set_name(walk, inside, member.name);
    *entry = (tc_walk_entry){ .kind = member.kind,
                              .name = (const char *)walk->name.data,
                              .why = member.why };
    return status;
}

/* The file stepped to is a tar: show it as a folder and go on inside it. */
static tc_status enter(tc_walk *walk, tc_walk_entry *entry, size_t stem)
{
    walk->stem.bytes = 0;
    tc_status status = tc_buffer_append(&walk->stem, entry->name, stem);
    if (status == TC_OK)
        status = tc_buffer_append(&walk->stem, "", 1);
    if (status == TC_OK)
        status = walk->tree != NULL
                     ? tc_archive_open(entry->file, NULL, &walk->inner)
                     : tc_archive_open_inside(walk->archive, entry->name, &walk->inner);
    *entry = (tc_walk_entry){ .kind = TC_MEMBER_FOLDER, .name = (const char *)walk->stem.data };
    return status;
}

tc_status tc_walk_next(tc_walk *walk, tc_walk_entry *entry, bool *end_p)
{
    tc_status status = TC_OK;

    while (walk->inner != NULL) {
        status = next_in_archive(walk, true, entry, end_p);
        if (status != TC_OK)
            return status;
        if (!*end_p && walk->name.bytes > walk->stem.bytes) /* not the tar's own root, "./" */
            return TC_OK;
        if (*end_p) {
            tc_archive_close(walk->inner);
            walk->inner = NULL;
        }
    }
    do { /* an archive's own root, "./", has no name left */
        status = walk->tree != NULL ? next_in_tree(walk, entry, end_p)
                                    : next_in_archive(walk, false, entry, end_p);
    } while (status == TC_OK && !*end_p && entry->name[0] == '\0');
    if (status != TC_OK || *end_p || entry->kind != TC_MEMBER_FILE)
        return status;
    size_t stem = tc_tar_stem(entry->name);
    return stem > 0 ? enter(walk, entry, stem) : TC_OK;
}

static tc_status too_large(const char *name)
{
    return tc_fail(TC_FORMAT, "%s: larger than %llu MiB: no picture", name,
                   (unsigned long long)(TC_PICTURE_MAX >> 20));
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
    if (walk->inner != NULL)
        return tc_archive_read(walk->inner, buffer);
    return walk->tree != NULL ? tc_read_file(walk->at->fts_accpath, buffer)
                              : tc_archive_read(walk->archive, buffer);
}

void tc_walk_prune(tc_walk *walk)
{
    if (walk->tree != NULL && walk->inner == NULL)
        fts_set(walk->tree, walk->at, FTS_SKIP);
}
