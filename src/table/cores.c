#include <config.h>

#include "table/cores.h"

#include <hwloc.h>
#include <stdbool.h>
#include <unistd.h>

/* Reduce `mine` to this process's processors; *shared_p: its siblings run on the same ones. */
static int find_set(hwloc_topology_t topology, hwloc_bitmap_t mine, bool *shared_p)
{
    hwloc_bitmap_t parents = hwloc_bitmap_alloc();
    int rc = parents ? hwloc_get_cpubind(topology, mine, HWLOC_CPUBIND_PROCESS) : -1;

    /* A launcher that binds gives its processes sets of their own; without binding they inherit
       the launcher's. A parent that cannot be asked is taken for one that does not bind. */
    if (rc == 0) {
        rc = hwloc_get_proc_cpubind(topology, getppid(), parents, 0);
        *shared_p = rc != 0 || hwloc_bitmap_isequal(mine, parents);
        hwloc_bitmap_and(mine, mine, hwloc_topology_get_allowed_cpuset(topology));
        rc = hwloc_bitmap_iszero(mine) ? -1 : 0;
    }
    hwloc_bitmap_free(parents);
    return rc;
}

/* Cut `mine` to part `rank` of `size`, in whole cores where there is one for each rank. */
static void cut_set(hwloc_topology_t topology, hwloc_bitmap_t mine, int rank, int size)
{
    int cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, mine, HWLOC_OBJ_CORE);
    hwloc_obj_type_t type = cores >= size ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    int n = hwloc_get_nbobjs_inside_cpuset_by_type(topology, mine, type);
    hwloc_bitmap_t part = hwloc_bitmap_alloc();

    for (int i = (int)((int64_t)n * rank / size); i < (int)((int64_t)n * (rank + 1) / size); i++) {
        hwloc_obj_t obj = hwloc_get_obj_inside_cpuset_by_type(topology, mine, type, (unsigned)i);
        hwloc_bitmap_or(part, part, obj->cpuset);
    }
    hwloc_bitmap_and(mine, mine, part);
    hwloc_bitmap_free(part);
}

/* Take `want` processors out of `mine`, one a core if that is enough; returns how many. */
static int take(hwloc_topology_t topology, hwloc_const_bitmap_t mine, int want, int *cores)
{
    int n_cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, mine, HWLOC_OBJ_CORE);
    hwloc_obj_type_t type = n_cores >= want ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;

    if (hwloc_get_nbobjs_inside_cpuset_by_type(topology, mine, type) < want)
        return 0;
    for (int i = 0; i < want; i++)
        cores[i] = hwloc_bitmap_first(
            hwloc_get_obj_inside_cpuset_by_type(topology, mine, type, (unsigned)i)->cpuset);
    return want;
}

tc_status tc_cores_choose(int local_rank, int local_size, int devices, int threads, int *cores,
                          int *n_p)
{
    hwloc_topology_t topology;
    hwloc_bitmap_t mine;
    bool shared;
    int rc;

    if (local_rank < 0 || local_rank >= local_size || devices < 1 || threads < 1)
        return tc_fail(TC_INVAL, "cores: rank %d of %d, %d devices, %d threads", local_rank,
                       local_size, devices, threads);
    *n_p = 0;
    if (hwloc_topology_init(&topology) != 0)
        return tc_fail(TC_NOSUPPORT, "hwloc cannot start: devices run unbound");
    mine = hwloc_bitmap_alloc();
    rc = hwloc_topology_load(topology);
    if (rc == 0 && mine)
        rc = find_set(topology, mine, &shared);
    if (rc == 0 && mine) {
        if (shared)
            cut_set(topology, mine, local_rank, local_size);
        *n_p = take(topology, mine, devices * threads, cores);
    }
    hwloc_bitmap_free(mine);
    hwloc_topology_destroy(topology);
    if (rc != 0 || !mine)
        return tc_fail(TC_NOSUPPORT, "hwloc cannot tell this process's processors: devices run "
                                     "unbound");
    return TC_OK;
}
