#include <config.h>

#include "data-prep/source.h"

#include "data-prep/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAITING_MAX ((size_t)64 << 20) /* bytes of names kept before the first picture is met */

struct tc_source {
    tc_source_options options;
    tc_walk *walk;
    bool decided;
    char *prefix[2];    /* what is packed lies below one of them, "" or "a/b/" */
    int prefixes, used; /* used: the one met, -1 before */
    /* Members met before the first picture: name, NUL, why it is no picture ("": a folder), NUL.
     */
    tc_buffer waiting;
    size_t replayed;
    tc_walk_entry held; /* the picture that decided */
    bool holding, done;
    tc_buffer data;
};

/* Where Kaggle's pictures are in a folder: known before 600,000 other files are looked at. */
static const char *find_kaggle(const tc_source_options *options, char prefix[64])
{
    static const char *const above[] = { "ILSVRC/Data/CLS-LOC", "Data/CLS-LOC", "CLS-LOC" };
    char path[4096];

    for (size_t i = 0; i < sizeof above / sizeof *above; i++) {
        snprintf(prefix, 64, "%s/%s", above[i], options->split);
        if (snprintf(path, sizeof path, "%s/%s", options->source, prefix) < (int)sizeof path &&
            access(path, F_OK) == 0)
            return prefix;
    }
    return NULL;
}

tc_status tc_source_open(const tc_source_options *options, tc_source **source_p)
{
    tc_source *source = NULL;
    char kaggle[64];

    const char *prefix = options->prefix;
    if (prefix == NULL)
        prefix = find_kaggle(options, kaggle);
    tc_status status = tc_alloc(1, sizeof *source, "source", &source);
    if (status != TC_OK)
        return status;
    source->options = *options;
    source->used = -1;
    status = tc_walk_open(options->source, options->md5, &source->walk);
    if (status == TC_OK && prefix != NULL) {
        while (prefix[0] == '/' || (prefix[0] == '.' && (prefix[1] == '/' || prefix[1] == '\0')))
            prefix++; /* members are named without "./", too */
        int length = (int)strlen(prefix);
        while (length > 0 && prefix[length - 1] == '/')
            length--;
        if (asprintf(&source->prefix[0], "%.*s%s", length, prefix, length > 0 ? "/" : "") < 0)
            source->prefix[0] = NULL;
        source->prefixes = 1;
        source->decided = true;
        if (source->prefix[0] == NULL)
            status = tc_fail(TC_NOMEM, "%s: no memory for a prefix", options->source);
    }
    if (status != TC_OK) {
        tc_source_close(source);
        return status;
    }
    *source_p = source;
    return TC_OK;
}

void tc_source_close(tc_source *source)
{
    if (source == NULL)
        return;
    tc_walk_close(source->walk);
    free(source->prefix[0]);
    free(source->prefix[1]);
    tc_buffer_free(&source->waiting);
    tc_buffer_free(&source->data);
    tc_free(source);
}

/* Length of the first part of a path. */
static size_t part(const char *name)
{
    return strcspn(name, "/");
}

static bool is_split(const char *name)
{
    size_t length = part(name);

    return (length == 5 && memcmp(name, "train", 5) == 0) ||
           (length == 3 && memcmp(name, "val", 3) == 0) ||
           (length == 4 && memcmp(name, "test", 4) == 0);
}

static int parts(const char *name)
{
    int count = 1;

    for (; *name != '\0'; name++)
        count += *name == '/';
    return count;
}

/* The part of a picture's name that is a split's folder, or NULL. */
static const char *find_split(const char *name, bool flat, bool *kaggle_p)
{
    const char *kaggle = strstr(name, "Data/CLS-LOC/");
    int deep = flat ? 2 : 3; /* parts of train/class/picture, or train/picture */

    *kaggle_p = kaggle != NULL && is_split(kaggle + 13);
    if (*kaggle_p)
        return kaggle + 13;
    if (parts(name) >= deep && is_split(name))
        return name;
    if (parts(name) >= deep + 1 && is_split(name + part(name) + 1))
        return name + part(name) + 1;
    return NULL;
}

/* Choose the prefixes by the first picture; NULL: there was none. */
static tc_status decide(tc_source *source, const char *name)
{
    bool train = strcmp(source->options.split, "train") == 0, kaggle = false;
    const char *split = name == NULL ? NULL : find_split(name, source->options.flat, &kaggle);
    int around = split == NULL ? 0 : (int)(split - name); /* bytes of the folders around train/ */

    source->decided = true;
    source->prefixes = split == NULL || train || kaggle ? 1 : 2; /* Kaggle's test/ has no labels */
    for (int i = 0; i < source->prefixes; i++) {
        const char *folder = split == NULL ? "" : train ? "train/" : i == 0 ? "val/" : "test/";
        if (asprintf(&source->prefix[i], "%.*s%s", around, name == NULL ? "" : name, folder) < 0) {
            source->prefix[i] = NULL;
            return tc_fail(TC_NOMEM, "%s: no memory for a prefix", source->options.source);
        }
    }
    return TC_OK;
}

static bool hidden(const char *name)
{
    return name[0] == '.' || strstr(name, "/.") != NULL;
}

/* What of `name` is below a prefix, or NULL.  *leads_p: it is a folder on the way to one. */
static tc_status below(tc_source *source, const char *name, const char **rest_p, bool *leads_p)
{
    size_t length = strlen(name);

    *rest_p = NULL;
    *leads_p = false;
    for (int i = 0; i < source->prefixes; i++) {
        size_t prefix = strlen(source->prefix[i]);
        if (length < prefix && source->prefix[i][length] == '/' &&
            memcmp(name, source->prefix[i], length) == 0)
            *leads_p = true;
        if (length <= prefix || memcmp(name, source->prefix[i], prefix) != 0)
            continue;
        if (source->used >= 0 && source->used != i)
            return tc_fail(TC_FORMAT, "%s: it has both %s and %s; choose one with --prefix",
                           source->options.source, source->prefix[0], source->prefix[1]);
        source->used = i;
        *rest_p = name + prefix;
    }
    return TC_OK;
}

static bool is_picture(const tc_buffer *data)
{
    return data->bytes >= 4 &&
           (memcmp(data->data, "\xff\xd8\xff", 3) == 0 || memcmp(data->data, "\x89PNG", 4) == 0);
}

/* Look at the member stepped to; an archive's is read whole, since that is possible once. */
static tc_status peek(tc_source *source, const tc_walk_entry *entry, bool *picture_p)
{
    if (entry->file == NULL) {
        tc_status status = tc_walk_read(source->walk, &source->data);
        *picture_p = status == TC_OK && is_picture(&source->data);
        return status;
    }
    tc_status status = tc_buffer_reserve(&source->data, 4);
    if (status != TC_OK)
        return status;
    int fd = open(entry->file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, source->data.data, 4);
    if (n < 0)
        status = tc_fail(TC_IO, "%s: cannot read: %s", entry->file, strerror(errno));
    if (fd >= 0)
        close(fd);
    source->data.bytes = n < 0 ? 0 : (size_t)n;
    *picture_p = is_picture(&source->data);
    return status;
}

/* Keep a member until it is known what is packed. */
static tc_status wait(tc_source *source, const tc_walk_entry *entry)
{
    const char *why = entry->kind == TC_MEMBER_FOLDER ? ""
                      : entry->kind == TC_MEMBER_FILE ? "not a JPEG or PNG"
                                                      : entry->why;

    tc_status status = tc_buffer_append(&source->waiting, entry->name, strlen(entry->name) + 1);
    return status == TC_OK ? tc_buffer_append(&source->waiting, why, strlen(why) + 1) : status;
}

/* Kaggle's lists: 600,000 files before the first picture that none is told about. */
static bool is_annotation(const char *name)
{
    return strncmp(name, "ILSVRC/Annotations", 18) == 0 ||
           strncmp(name, "ILSVRC/ImageSets", 16) == 0;
}

/* Walk to the first picture, keep the names of what comes before it, and decide. */
static tc_status find_layout(tc_source *source)
{
    bool picture = false, end = false;

    while (!picture && !end) {
        tc_status status = tc_walk_next(source->walk, &source->held, &end);
        if (status != TC_OK)
            return status;
        if (end || hidden(source->held.name) || is_annotation(source->held.name))
            continue;
        if (source->held.kind == TC_MEMBER_FILE)
            status = peek(source, &source->held, &picture);
        if (status == TC_OK && !picture)
            status = wait(source, &source->held);
        if (status == TC_OK && source->waiting.bytes > WAITING_MAX)
            status = tc_fail(TC_FORMAT, "%s: no JPEG or PNG among its first files",
                             source->options.source);
        if (status != TC_OK)
            return status;
    }
    source->holding = picture;
    source->done = end;
    return decide(source, picture ? source->held.name : NULL);
}

/* Make an item of a member; *use_p is cleared where it is not part of what is packed. */
static tc_status make_item(tc_source *source, const tc_walk_entry *entry, tc_source_item *item,
                           bool *use_p)
{
    const char *rest = NULL;
    bool leads = false;

    *use_p = false;
    if (hidden(entry->name)) {
        if (entry->kind == TC_MEMBER_FOLDER && entry->file != NULL)
            tc_walk_prune(source->walk);
        return TC_OK;
    }
    tc_status status = below(source, entry->name, &rest, &leads);
    if (status != TC_OK)
        return status;
    if (rest == NULL) {
        if (entry->kind == TC_MEMBER_FOLDER && entry->file != NULL && !leads)
            tc_walk_prune(source->walk);
        return TC_OK;
    }
    bool inside = strchr(rest, '/') != NULL;
    if (entry->kind == TC_MEMBER_FOLDER && (inside || source->options.flat))
        return TC_OK;
    *item = (tc_source_item){ .kind = TC_ITEM_PICTURE,
                              .name = rest,
                              .member = entry->name,
                              .file = entry->file,
                              .data = &source->data };
    if (entry->kind == TC_MEMBER_FOLDER) {
        item->kind = TC_ITEM_CLASS;
    } else if (entry->kind == TC_MEMBER_OTHER || (!inside && !source->options.flat)) {
        item->kind = TC_ITEM_FOREIGN;
        item->why = entry->kind == TC_MEMBER_OTHER
                        ? entry->why
                        : "it lies in no class folder; for pictures without, "
                          "give their classes with --devkit or --labels";
    }
    *use_p = true;
    return TC_OK;
}

/* The next of the members that came before the first picture. */
static tc_status replay(tc_source *source, tc_source_item *item, bool *use_p)
{
    const char *name = (const char *)source->waiting.data + source->replayed;
    const char *why = name + strlen(name) + 1;
    tc_walk_entry entry = { .kind = *why == '\0' ? TC_MEMBER_FOLDER : TC_MEMBER_OTHER,
                            .name = name,
                            .why = why };

    source->replayed += (size_t)(why - name) + strlen(why) + 1;
    return make_item(source, &entry, item, use_p);
}

tc_status tc_source_next(tc_source *source, tc_source_item *item, bool *end_p)
{
    tc_status status = source->decided ? TC_OK : find_layout(source);
    bool use = false;

    while (status == TC_OK && !use) {
        if (source->replayed < source->waiting.bytes) {
            status = replay(source, item, &use);
        } else if (source->holding) {
            source->holding = false;
            status = make_item(source, &source->held, item, &use);
        } else {
            tc_walk_entry entry;
            *end_p = source->done;
            if (!source->done)
                status = tc_walk_next(source->walk, &entry, end_p);
            if (status != TC_OK || *end_p)
                return status;
            status = make_item(source, &entry, item, &use);
            if (status == TC_OK && use && item->kind == TC_ITEM_PICTURE && item->file == NULL)
                status = tc_walk_read(source->walk, &source->data);
        }
    }
    *end_p = false;
    return status;
}
