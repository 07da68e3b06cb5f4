/* Processors of a rank: distinct between ranks and devices, within what the process may use. */
#include <config.h>

#include "../tap.h"
#include "table/cores.c" /* its parts too, on machines that are not this one */

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 4096 };

/* All ranks' processors of one shape: 0 if any rank has none, -1 if two share one. */
static int count_all(int ranks, int devices, int threads, const cpu_set_t *allowed)
{
    static unsigned char used[CPU_SETSIZE];
    static int cores[MOST];
    int all = 0;

    memset(used, 0, sizeof used);
    for (int rank = 0; rank < ranks; rank++) {
        int n = -1;
        if (tc_cores_choose(rank, ranks, devices, threads, cores, &n) != TC_OK)
            return -1;
        if (n == 0)
            return 0;
        if (n != devices * threads)
            return -1;
        for (int i = 0; i < n; i++) {
            if (cores[i] < 0 || cores[i] >= CPU_SETSIZE || !CPU_ISSET(cores[i], allowed) ||
                used[cores[i]]++)
                return -1;
        }
        all += n;
    }
    return all;
}

/* Cut a machine of 2 packages of 4 cores of 2 processors; "0,2,4" is what this rank takes. */
static bool takes(hwloc_topology_t machine, int rank, int ranks, int want, const char *list)
{
    hwloc_bitmap_t mine = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(machine));
    int cores[MOST], n;
    char text[256] = "";

    cut_set(machine, mine, rank, ranks);
    n = take(machine, mine, want, cores);
    for (int i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), i ? ",%d" : "%d", cores[i]);
    hwloc_bitmap_free(mine);
    if (strcmp(text, list) != 0)
        printf("# rank %d of %d takes %s\n", rank, ranks, text);
    return strcmp(text, list) == 0;
}

static void test_threads_of_cores(void)
{
    hwloc_topology_t machine;

    if (hwloc_topology_init(&machine) != 0 ||
        hwloc_topology_set_synthetic(machine, "package:2 core:4 pu:2") != 0 ||
        hwloc_topology_load(machine) != 0)
        abort();
    tap_ok(takes(machine, 0, 1, 8, "0,2,4,6,8,10,12,14"), "one processor of every core");
    tap_ok(takes(machine, 0, 1, 9, "0,1,2,3,4,5,6,7,8"), "hyper-threads where cores are too few");
    tap_ok(takes(machine, 1, 2, 4, "8,10,12,14"), "the second of 2 ranks has the second package");
    tap_ok(takes(machine, 1, 2, 8, "8,9,10,11,12,13,14,15"), "all of it, if need be");
    tap_ok(takes(machine, 1, 2, 9, ""), "more than a rank's part: no binding");
    tap_ok(takes(machine, 1, 3, 2, "4,6") && takes(machine, 2, 3, 3, "10,12,14"),
           "parts end at cores: 2, 3 and 3 of 8");
    tap_ok(takes(machine, 10, 16, 1, "10"), "more ranks than cores share them by processor");
    hwloc_topology_destroy(machine);
}

int main(void)
{
    cpu_set_t allowed, first;
    int pus, cores[MOST] = { 0 }, n = -1;

    test_threads_of_cores();

    /* A launcher may have bound this test; what follows is about the set of all its ranks. */
    if (sched_getaffinity(getppid(), sizeof allowed, &allowed) == 0)
        sched_setaffinity(0, sizeof allowed, &allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        abort();
    pus = CPU_COUNT(&allowed);
    tap_ok(tc_cores_choose(0, 1, 1, 1, cores, &n) == TC_OK && n == 1 &&
               CPU_ISSET(cores[0], &allowed),
           "one rank, one device: processor %d of %d", cores[0], pus);
    tap_ok(count_all(1, pus, 1, &allowed) == pus, "one rank, a device a processor: all %d", pus);
    tap_ok(count_all(1, 1, pus, &allowed) == pus, "one device with all %d", pus);
    tap_ok(count_all(1, pus + 1, 1, &allowed) == 0, "more devices than processors: no binding");
    tap_ok(count_all(1, 1, pus + 1, &allowed) == 0, "more threads than processors: no binding");
    tap_ok(count_all(pus + 1, 1, 1, &allowed) == 0, "more ranks than processors: no binding");
    tap_ok(tc_cores_choose(2, 2, 1, 1, cores, &n) == TC_INVAL, "a rank out of range");
    if (pus < 2) {
        tap_skip("ranks that share a host", "one processor");
        return tap_done();
    }
    tap_ok(count_all(pus, 1, 1, &allowed) == pus, "%d ranks of one device: distinct processors",
           pus);
    tap_ok(count_all(2, pus / 2, 1, &allowed) == pus / 2 * 2, "2 ranks of %d devices", pus / 2);

    /* Bound by its launcher: the set differs from the parent's and is this rank's alone. */
    CPU_ZERO(&first);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&first) == 0; i++)
        if (CPU_ISSET(i, &allowed))
            CPU_SET(i, &first);
    if (sched_setaffinity(0, sizeof first, &first) != 0)
        abort();
    tap_ok(tc_cores_choose(1, 2, 1, 1, cores, &n) == TC_OK && n == 1 && CPU_ISSET(cores[0], &first),
           "a bound rank keeps its processor");
    tap_ok(tc_cores_choose(1, 2, 2, 1, cores, &n) == TC_OK && n == 0,
           "a bound rank with fewer processors than devices: no binding");
    return tap_done();
}
