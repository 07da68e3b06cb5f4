#include <config.h>

#include "data-prep/commands.h"
#include "data-prep/folder.h"
#include "data-prep/parallel.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "shard/dataset.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const tc_dataset *dataset;
    const tc_shard *shard; /* the one at hand */
    const char *out;
    double started;
    tc_buffer *data; /* one a thread */
    _Atomic uint64_t written;
} extraction;

/* A shard may come from anywhere: its names must stay below the folder. */
static bool is_safe(const char *name)
{
    if (name[0] == '\0' || name[0] == '/')
        return false;
    for (const char *p = name; p != NULL; p = strchr(p, '/')) {
        p += *p == '/';
        size_t length = strcspn(p, "/");
        if (length == 0 || (length == 1 && p[0] == '.') ||
            (length == 2 && p[0] == '.' && p[1] == '.'))
            return false;
    }
    return true;
}

static tc_status write_file(const char *path, const tc_buffer *data)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    size_t done = 0;
    int error = 0;

    if (fd < 0)
        return tc_fail(TC_IO, "%s: cannot create: %s", path, strerror(errno));
    while (error == 0 && done < data->bytes) {
        ssize_t n = write(fd, data->data + done, data->bytes - done);
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            error = errno;
    }
    if (close(fd) != 0 && error == 0)
        error = errno;
    if (error != 0)
        return tc_fail(TC_IO, "%s: cannot write: %s", path, strerror(error));
    return TC_OK;
}

static tc_status extract_record(void *context, int thread, uint64_t i)
{
    extraction *e = context;
    const char *name = tc_shard_entry_at(e->shard, i)->name;
    char path[PATH_MAX];

    if (!is_safe(name))
        return tc_fail(TC_FORMAT,
                       "%s: record %" PRIu64 ": its name \"%.300s\" is no path below a folder; "
                       "pack again",
                       tc_shard_path(e->shard), i, name);
    if (snprintf(path, sizeof path, "%s/%s", e->out, name) >= (int)sizeof path)
        return tc_fail(TC_INVAL, "%s/%.300s…: the path is too long", e->out, name);
    tc_status status = tc_shard_read(e->shard, i, &e->data[thread]);
    if (status != TC_OK)
        return status;
    char *slash = strrchr(path, '/');
    *slash = '\0';
    if (access(path, F_OK) != 0)
        status = tc_make_folders(path);
    *slash = '/';
    if (status == TC_OK)
        status = write_file(path, &e->data[thread]);
    uint64_t written = atomic_fetch_add(&e->written, 1) + 1;
    if (tc_now() - e->started > 1.0)
        tc_progress(false, "extract: %" PRIu64 " of %" PRIu64 " pictures", written,
                    e->dataset->records);
    return status;
}

tc_status tc_pack_extract(const char *dir, const char *split, const char *out, int threads)
{
    char folder[PATH_MAX];
    tc_dataset *dataset = NULL;
    extraction e = { .out = out, .started = tc_now() };

    tc_status status = tc_dataset_read(dir, split, &dataset);
    if (status != TC_OK)
        return status;
    e.dataset = dataset;
    if (out == NULL) {
        snprintf(folder, sizeof folder, "%.4000s/files", dataset->path);
        e.out = folder;
    }
    status = tc_make_folders(e.out);
    if (status == TC_OK)
        status = tc_alloc(threads, sizeof *e.data, "threads", &e.data);
    for (uint32_t s = 0; status == TC_OK && s < dataset->n_shards; s++) {
        tc_shard *shard = NULL;
        status = tc_dataset_open_shard(dataset, s, &shard);
        if (status != TC_OK)
            break;
        e.shard = shard;
        status = tc_parallel(threads, tc_shard_records(shard), extract_record, &e);
        tc_shard_close(shard);
    }
    if (status == TC_OK)
        printf("%s: %" PRIu64 " pictures, %.1f MB, %.1f s\n", e.out, dataset->records,
               (double)dataset->bytes / 1e6, tc_now() - e.started);
    for (int t = 0; e.data != NULL && t < threads; t++)
        tc_buffer_free(&e.data[t]);
    tc_free(e.data);
    tc_dataset_free(dataset);
    return status;
}
