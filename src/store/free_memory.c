#include <config.h>

#include "store/store_impl.h"

#include <stdio.h>

#define CGROUP_MAX     "/sys/fs/cgroup/memory.max"
#define CGROUP_CURRENT "/sys/fs/cgroup/memory.current"

/* The number in a file of one number; UINT64_MAX where there is none ("max", or no file). */
static uint64_t read_number(const char *path)
{
    unsigned long long x;
    FILE *f = fopen(path, "r");

    if (f == NULL)
        return UINT64_MAX;
    if (fscanf(f, "%llu", &x) != 1)
        x = UINT64_MAX;
    fclose(f);
    return x;
}

static uint64_t host_available(void)
{
    char line[256];
    unsigned long long kib;
    uint64_t bytes = UINT64_MAX;
    FILE *f = fopen("/proc/meminfo", "r");

    if (f == NULL)
        return UINT64_MAX;
    while (bytes == UINT64_MAX && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            bytes = (uint64_t)kib * 1024;
    fclose(f);
    return bytes;
}

uint64_t tc_store_free_memory(int ranks_here)
{
    uint64_t host = host_available(), limit = read_number(CGROUP_MAX);
    uint64_t used = limit == UINT64_MAX ? 0 : read_number(CGROUP_CURRENT);

    if (limit != UINT64_MAX && used != UINT64_MAX) { /* a container that may take less */
        uint64_t left = limit > used ? limit - used : 0;
        host = left < host ? left : host;
    }
    return host == UINT64_MAX ? host : host / (unsigned)(ranks_here > 0 ? ranks_here : 1);
}
