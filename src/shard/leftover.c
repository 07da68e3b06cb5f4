/* What a writer left that did not finish; see shard.h. */
#include <config.h>

#include "shard/shard.h"

#include "shard/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tc_shard_leftover {
    int fd;
};

void tc_shard_leftover_close(tc_shard_leftover *leftover)
{
    if (leftover == NULL)
        return;
    if (leftover->fd >= 0)
        close(leftover->fd);
    tc_free(leftover);
}

/* Whether the set that the shard is in is finished: then the shard is its. */
static bool is_of_finished(const char *path)
{
    const char *slash = strrchr(path, '/');
    char mark[4096 + 32];

    snprintf(mark, sizeof mark, "%.*sdataset.json", slash == NULL ? 0 : (int)(slash + 1 - path),
             path);
    return access(mark, F_OK) == 0;
}

tc_status tc_shard_leftover_open(const char *path, tc_shard_leftover **leftover_p)
{
    tc_shard_leftover *leftover = NULL;
    char tmp[4096 + 64];

    if (snprintf(tmp, sizeof tmp, "%s.tmp", path) >= (int)sizeof tmp)
        return tc_fail(TC_INVAL, "%.100s…: the path is too long", path);
    /* An older shard beside a temporary one is of the set that was being replaced. */
    if (access(tmp, F_OK) != 0 && !is_of_finished(path) && rename(path, tmp) != 0 &&
        errno != ENOENT)
        return tc_fail(TC_IO, "%s: cannot rename: %s", path, strerror(errno));
    tc_status status = tc_alloc(1, sizeof *leftover, "shard", &leftover);
    if (status != TC_OK)
        return status;
    leftover->fd = open(tmp, O_RDONLY | O_CLOEXEC);
    if (leftover->fd < 0) {
        tc_shard_leftover_close(leftover);
        leftover = NULL;
    }
    *leftover_p = leftover;
    return TC_OK;
}

bool tc_shard_leftover_read(const tc_shard_leftover *leftover, uint64_t offset, void *data,
                            size_t bytes)
{
    uint8_t *to = data;

    while (bytes > 0) {
        ssize_t n = pread(leftover->fd, to, bytes, (off_t)(TC_HEAD_BYTES + offset));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        to += n;
        offset += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return true;
}
