#include <config.h>

#include "shard/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

tc_status tc_durable_sync(FILE *file, const char *path)
{
    if (fflush(file) != 0 || fsync(fileno(file)) != 0)
        return tc_fail(TC_IO, "%s: cannot write: %s", path, strerror(errno));
    return TC_OK;
}

/* Some file systems cannot sync a folder (EINVAL): the rename stands, only its moment is open. */
static tc_status sync_folder(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    int length = slash == NULL ? 1 : slash == path ? 1 : (int)(slash - path);

    if (snprintf(folder, sizeof folder, "%.*s", length, slash == NULL ? "." : path) >=
        (int)sizeof folder)
        return tc_fail(TC_INVAL, "%s: the path is too long", path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return tc_fail(TC_IO, "%s: cannot open the folder: %s", folder, strerror(errno));
    int rc = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
    close(fd);
    if (rc != 0)
        return tc_fail(TC_IO, "%s: cannot sync the folder: %s", folder, strerror(rc));
    return TC_OK;
}

tc_status tc_durable_rename(const char *tmp, const char *path)
{
    if (rename(tmp, path) != 0)
        return tc_fail(TC_IO, "%s: cannot rename to %s: %s", tmp, path, strerror(errno));
    return sync_folder(path);
}
