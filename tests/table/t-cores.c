/* Processors of a rank: distinct between ranks and devices, within what the process may use. */
#include <config.h>

#include "../tap.h"
#include "table/cores.h"

#include <hwloc.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

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

int main(void)
{
    cpu_set_t allowed, first;
    int pus, cores[MOST], n = -1;

    /* A launcher may have bound this test; what follows is about a shared set. */
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
