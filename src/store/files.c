/* The baseline: one file an image, opened, read and closed for every sample, nothing kept. */
#include <config.h>

#include "store/store_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

static tc_status look_for_folder(const tc_store *store)
{
    struct stat st;

    if (stat(store->files, &st) == 0 && S_ISDIR(st.st_mode))
        return TC_OK;
    return tc_fail(TC_IO,
                   "%s: no folder of image files: run `tricolor-pack extract` to make it, or use "
                   "--store memory",
                   store->files);
}

static tc_status files_open(tc_store *store)
{
    tc_comm_phase(store->world, "checking the shards", 600.0);
    tc_status status = look_for_folder(store);
    if (status == TC_OK)
        status = tc_windows_create(store->dataset, store->handles, &store->order,
                                   tc_comm_rank(store->group), false, &store->windows);
    return tc_comm_agree(store->world, status);
}

static tc_status files_begin_epoch(tc_store *store)
{
    tc_windows_reset(store->windows); /* every rank can open every file */
    return TC_OK;
}

/* Read a file of `bytes` bytes, to its end. */
static tc_status read_file(const char *path, int fd, uint8_t *data, uint64_t bytes)
{
    uint64_t have = 0;
    uint8_t more;
    ssize_t n;

    while (have < bytes) {
        n = read(fd, data + have, (size_t)(bytes - have));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tc_fail(TC_IO, "%s: cannot read: %s", path, strerror(errno));
        if (n == 0)
            return tc_fail(TC_FORMAT, "%s: %llu bytes, its record has %llu: extract again", path,
                           (unsigned long long)have, (unsigned long long)bytes);
        have += (uint64_t)n;
    }
    if (read(fd, &more, 1) > 0)
        return tc_fail(TC_FORMAT, "%s: longer than its record (%llu bytes): extract again", path,
                       (unsigned long long)bytes);
    return TC_OK;
}

static tc_status files_borrow(tc_store *store, uint64_t pos, uint64_t id, tc_buffer *scratch,
                              tc_record *rec_p)
{
    char path[PATH_MAX], name[PATH_MAX];
    tc_located at;

    tc_status status =
        tc_windows_find(store->windows, tc_store_order_local(&store->order, pos), &at);
    if (status == TC_OK)
        status = tc_store_name(store, id, name, sizeof name);
    if (status != TC_OK)
        return tc_store_unread(store, id, status);
    if (snprintf(path, sizeof path, "%s/%s", store->files, name) >= (int)sizeof path)
        return tc_fail(TC_IO, "%s/%s: the path is too long", store->files, name);
    status = tc_buffer_reserve(scratch, (size_t)at.bytes);
    if (status != TC_OK)
        return status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return tc_fail(TC_IO, "%s: %s: run `tricolor-pack extract` again", path, strerror(errno));
    status = read_file(path, fd, scratch->data, at.bytes);
    close(fd);
    if (status != TC_OK)
        return status;
    if (XXH3_64bits(scratch->data, (size_t)at.bytes) != at.checksum)
        return tc_fail(TC_FORMAT, "%s: not the bytes of record %llu (%s) of %s: extract again",
                       path, (unsigned long long)id, name, store->dataset->path);
    *rec_p = (tc_record){ .data = scratch->data,
                          .bytes = at.bytes,
                          .id = id,
                          .label = at.label,
                          .width = at.width,
                          .height = at.height };
    return TC_OK;
}

static void files_describe(tc_store *store)
{
    snprintf(store->choices, sizeof store->choices, "files, %llu records, one file each in %.150s",
             (unsigned long long)store->dataset->records, store->files);
}

static void files_close(tc_store *store)
{
    (void)store; /* windows and handles are closed with the store */
}

const tc_store_kind tc_store_files_kind = {
    .name = "files",
    .open = files_open,
    .begin_epoch = files_begin_epoch,
    .borrow = files_borrow,
    .describe = files_describe,
    .close = files_close,
};
