/*
 * What this rank may still take: what the host has, and what each memory cgroup above the process
 * allows (a container, a Slurm job).  Pages of files that the kernel can drop do not count as used.
 */
#include <config.h>

#include "store/store_impl.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The names of one version of cgroups. */
typedef struct {
    const char *mount, *limit, *used, *dropped[2];
} cgroup_files;

static const cgroup_files version2 = { "/sys/fs/cgroup", "memory.max", "memory.current",
                                       { "inactive_file", "active_file" } };
static const cgroup_files version1 = { "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                       "memory.usage_in_bytes",
                                       { "total_inactive_file", "total_active_file" } };

/* The number after `key` in a file of "key number" lines, or the first where key is NULL;
 * UINT64_MAX where there is none ("max", or no such file). */
static uint64_t read_number(const char *dir, const char *name, const char *key)
{
    char path[PATH_MAX], line[256], word[128];
    uint64_t found = UINT64_MAX, x;
    FILE *f;

    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path ||
        (f = fopen(path, "re")) == NULL)
        return UINT64_MAX;
    while (found == UINT64_MAX && fgets(line, sizeof line, f) != NULL) {
        if (key == NULL && sscanf(line, "%" SCNu64, &x) == 1)
            found = x;
        else if (key != NULL && sscanf(line, "%127s %" SCNu64, word, &x) == 2 &&
                 strcmp(word, key) == 0)
            found = x;
    }
    fclose(f);
    return found;
}

/* What one cgroup leaves. */
static uint64_t left_in(const char *dir, const cgroup_files *files)
{
    uint64_t limit = read_number(dir, files->limit, NULL);
    uint64_t used = read_number(dir, files->used, NULL);

    if (limit == UINT64_MAX || used == UINT64_MAX)
        return UINT64_MAX;
    for (int i = 0; i < 2; i++) {
        uint64_t pages = read_number(dir, "memory.stat", files->dropped[i]);
        if (pages != UINT64_MAX)
            used = used > pages ? used - pages : 0;
    }
    return limit > used ? limit - used : 0;
}

/* The least that a cgroup and those above it leave. */
static uint64_t left_above(const char *root, const char *group, const cgroup_files *files)
{
    char dir[PATH_MAX];
    int n = snprintf(dir, sizeof dir, "%s%s", root, files->mount);
    uint64_t least;

    if (n < 0 || n >= (int)sizeof dir - (int)strlen(group))
        return UINT64_MAX;
    size_t top = (size_t)n;
    strcpy(dir + top, group);
    for (least = UINT64_MAX;;) {
        uint64_t left = left_in(dir, files);
        least = left < least ? left : least;
        char *slash = strrchr(dir, '/');
        if (strlen(dir) <= top || slash == NULL)
            return least;
        *slash = '\0';
    }
}

/* What the cgroups of this process leave. */
static uint64_t cgroups_left(const char *root)
{
    char path[PATH_MAX], line[PATH_MAX];
    uint64_t least = UINT64_MAX;
    FILE *f;

    if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= (int)sizeof path ||
        (f = fopen(path, "re")) == NULL)
        return UINT64_MAX;
    while (fgets(line, sizeof line, f) != NULL) { /* "4:memory:/job", or "0::/job" in version 2 */
        char *kind = strchr(line, ':'), *group = kind ? strchr(kind + 1, ':') : NULL;
        if (group == NULL)
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        bool v2 = kind[1] == '\0';
        if (!v2 && strcmp(kind + 1, "memory") != 0)
            continue;
        uint64_t left = left_above(root, group, v2 ? &version2 : &version1);
        least = left < least ? left : least;
    }
    fclose(f);
    return least;
}

uint64_t tc_store_free_memory(const char *root, int ranks_here)
{
    char proc[PATH_MAX];
    uint64_t host = UINT64_MAX, groups = cgroups_left(root);

    if (snprintf(proc, sizeof proc, "%s/proc", root) < (int)sizeof proc)
        host = read_number(proc, "meminfo", "MemAvailable:");
    if (host != UINT64_MAX)
        host *= 1024;
    if (groups < host)
        host = groups;
    return host == UINT64_MAX ? host : host / (unsigned)(ranks_here > 0 ? ranks_here : 1);
}
