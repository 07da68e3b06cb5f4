#include <config.h>

#include "data-prep/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

tc_status tc_make_folders(const char *path)
{
    char part[4096];
    size_t length = strlen(path);

    if (length >= sizeof part)
        return tc_fail(TC_INVAL, "%.100s…: the path is too long", path);
    memcpy(part, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (part[i] != '/' && part[i] != '\0')
            continue;
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return tc_fail(TC_IO, "%s: cannot make the folder: %s", part, strerror(errno));
        part[i] = path[i];
    }
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return tc_fail(TC_IO, "%s: in the way: not a folder", path);
    return TC_OK;
}

/* The number of "00012.shard", or -1. */
static long shard_number(const char *name, const char *ending)
{
    size_t digits = strspn(name, "0123456789");

    return digits == 5 && strcmp(name + digits, ending) == 0 ? strtol(name, NULL, 10) : -1;
}

/* Remove the entries of a folder that `stale` names. */
static tc_status sweep(const char *path, bool (*stale)(const char *name))
{
    tc_status status = TC_OK;
    DIR *dir = opendir(path);

    if (dir == NULL)
        return tc_fail(TC_IO, "%s: cannot open: %s", path, strerror(errno));
    for (struct dirent *entry; status == TC_OK && (entry = readdir(dir)) != NULL;)
        if (stale(entry->d_name) && unlinkat(dirfd(dir), entry->d_name, 0) != 0)
            status =
                tc_fail(TC_IO, "%s/%s: cannot remove: %s", path, entry->d_name, strerror(errno));
    closedir(dir);
    return status;
}

static bool made_at_the_end(const char *name)
{
    return strcmp(name, "dataset.json.tmp") == 0 || strcmp(name, "create.tsv.tmp") == 0;
}

static bool temporary(const char *name)
{
    return shard_number(name, ".shard.tmp") >= 0 || strcmp(name, "journal.tmp") == 0 ||
           made_at_the_end(name);
}

static bool finished(const char *name)
{
    return shard_number(name, ".shard") >= 0 || strcmp(name, "create.tsv") == 0;
}

tc_status tc_folder_claim(const char *path, int *lock_p)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return tc_fail(TC_IO, "%s: cannot open: %s", path, strerror(errno));
    /* A file system without locks says something else than "held": then there is no guard. */
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(fd);
        return tc_fail(TC_IO, "%s: another tricolor-pack is writing there", path);
    }
    *lock_p = fd;
    return TC_OK;
}

tc_status tc_folder_sweep(const char *path, bool keep)
{
    return sweep(path, keep ? made_at_the_end : temporary);
}

tc_status tc_folder_clear(const char *path)
{
    char mark[4096 + 32];

    snprintf(mark, sizeof mark, "%s/dataset.json", path);
    if (unlink(mark) != 0 && errno != ENOENT)
        return tc_fail(TC_IO, "%s: cannot remove: %s", mark, strerror(errno));
    return sweep(path, finished);
}
