/* What a rank may take: the host's free memory, or what the tightest cgroup above it leaves. */
#include <config.h>

#include "store/store_impl.h"

#include "../tap.h"
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[] = "/tmp/tricolor-free-XXXXXX";

/* Make a file with its folders. */
__attribute__((format(printf, 2, 3))) static void put(const char *name, const char *fmt, ...)
{
    char path[PATH_MAX];
    va_list ap;

    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        mkdir(path, 0755);
        *p = '/';
    }
    FILE *f = fopen(path, "w");
    if (f == NULL)
        exit(99);
    va_start(ap, fmt);
    vfprintf(f, fmt, ap);
    va_end(ap);
    fclose(f);
}

static void expect(uint64_t want, int ranks, const char *what)
{
    uint64_t got = tc_store_free_memory(root, ranks);

    tap_ok(got == want, "%s: %" PRIu64 ", wanted %" PRIu64, what, got, want);
}

int main(void)
{
    if (mkdtemp(root) == NULL)
        return 99;
    expect(UINT64_MAX, 2, "a system that says nothing");
    put("proc/meminfo", "MemTotal: 2000 kB\nMemFree: 10 kB\nMemAvailable: 1000 kB\n");
    expect(1024000, 1, "the host's available memory");
    expect(256000, 4, "shared by 4 ranks");

    put("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
    expect(1024000, 1, "a cgroup without a limit");
    put("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n");
    put("sys/fs/cgroup/slurm/job_7/step_0/memory.current", "77\n");
    put("sys/fs/cgroup/slurm/job_7/memory.max", "500000\n");
    put("sys/fs/cgroup/slurm/job_7/memory.current", "300000\n");
    expect(200000, 1, "version 2: the limit of the job above the step");
    put("sys/fs/cgroup/slurm/job_7/memory.stat",
        "anon 100\nfile 150000\ninactive_file 100000\nactive_file 50000\n");
    expect(350000, 1, "pages of files can be dropped");
    put("sys/fs/cgroup/memory.max", "9000\n");
    put("sys/fs/cgroup/memory.current", "10000\n");
    expect(0, 1, "a container that is full");
    put("sys/fs/cgroup/memory.max", "max\n");

    put("proc/self/cgroup", "3:cpuset:/\n4:memory:/docker/abc\n0::/\n");
    put("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "400000\n");
    put("sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "150000\n");
    put("sys/fs/cgroup/memory/docker/abc/memory.stat", "total_inactive_file 50000\n");
    expect(300000, 1, "version 1");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/memory.usage_in_bytes", "5\n");
    expect(150000, 2, "version 1: no limit at its root");

    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf %s", root);
    if (system(command) != 0)
        return 99;
    tap_ok(tc_store_free_memory("", 1) > 0, "this machine");
    return tap_done();
}
