/* Which cores this rank may use, how they are shared, and where devices are bound. */
#include <config.h>

#include "train/run.h"

#include "base/log.h"
#include "base/mem.h"
#include "table/cores.h"

#include <hwloc.h>
#include <string.h>

/* What every rank tells the others: ranks of one host with the same set share its cores. */
typedef struct {
    char host[256], set[512];
} place;

/* This rank's cores, from hwloc's view of what it may run on. */
typedef struct {
    hwloc_topology_t topology;
    hwloc_bitmap_t set; /* logical processors allowed to this process */
    int cores;          /* in set */
    bool narrowed;      /* set is smaller than the machine: a launcher or a container bound it */
} host_cores;

static tc_status look_around(host_cores *h)
{
    h->set = hwloc_bitmap_alloc();
    if (h->set == NULL || hwloc_topology_init(&h->topology) != 0 ||
        hwloc_topology_load(h->topology) != 0)
        return tc_fail(TC_NOMEM, "hwloc cannot describe this machine");
    if (hwloc_get_cpubind(h->topology, h->set, HWLOC_CPUBIND_PROCESS) != 0 ||
        hwloc_bitmap_iszero(h->set)) /* not supported here: the whole machine */
        hwloc_bitmap_copy(h->set, hwloc_topology_get_allowed_cpuset(h->topology));
    hwloc_bitmap_and(h->set, h->set, hwloc_topology_get_allowed_cpuset(h->topology));
    h->cores = hwloc_get_nbobjs_inside_cpuset_by_type(h->topology, h->set, HWLOC_OBJ_CORE);
    if (h->cores < 1) /* a set of hyperthreads that holds no whole core, or no cores known */
        h->cores = hwloc_bitmap_weight(h->set) > 0 ? hwloc_bitmap_weight(h->set) : 1;
    h->narrowed = !hwloc_bitmap_isequal(h->set, hwloc_topology_get_allowed_cpuset(h->topology));
    return TC_OK;
}

/* Count the ranks that share this rank's set, itself included. */
static tc_status count_sharers(tc_run *run, const host_cores *h, int *sharers_p)
{
    place mine = { .host = "" }, *all = NULL;
    int sharers = 0;
    tc_status status = tc_alloc(run->ranks, sizeof *all, "places of the ranks", &all);

    status = tc_run_agree(run, status);
    if (status != TC_OK)
        return status;
    strncpy(mine.host, tc_comm_host(run->comm), sizeof mine.host - 1);
    hwloc_bitmap_snprintf(mine.set, sizeof mine.set, h->set);
    status = tc_comm_allgather(run->comm, &mine, sizeof mine, all);
    for (int r = 0; status == TC_OK && r < run->ranks; r++)
        sharers += strcmp(all[r].host, mine.host) == 0 && strcmp(all[r].set, mine.set) == 0;
    tc_free(all);
    *sharers_p = sharers > 0 ? sharers : 1;
    return status;
}

/* One logical processor a device thread, as far as this rank has them. */
static tc_status list_processors(tc_run *run)
{
    const tc_train_options *o = run->opt;
    int n = 0;
    tc_status status = tc_alloc((int64_t)o->devices * run->threads, sizeof *run->bind,
                                "list of cores", &run->bind);

    if (status != TC_OK)
        return status;
    status = tc_cores_choose(tc_comm_local_rank(run->comm), tc_comm_local_size(run->comm),
                             o->devices, run->threads, run->bind, &n);
    if (status == TC_OK && n == o->devices * run->threads)
        return TC_OK;
    tc_log(TC_LOG_WARN, "train", "devices are not bound to cores: %s",
           status != TC_OK ? tc_error_detail() : "this rank has too few");
    tc_free(run->bind);
    run->bind = NULL;
    return TC_OK;
}

tc_status tc_run_plan_cores(tc_run *run)
{
    const tc_train_options *o = run->opt;
    host_cores h = { 0 };
    int sharers = 1;
    tc_status status = tc_run_agree(run, look_around(&h));

    if (status == TC_OK)
        status = count_sharers(run, &h, &sharers);
    if (status == TC_OK) {
        run->cores = h.cores / sharers > 0 ? h.cores / sharers : 1;
        run->threads = o->threads > 0 ? o->threads : run->cores / o->devices;
        if (run->threads < 1)
            run->threads = 1;
        run->loader_threads = o->loader_threads > 0 ? o->loader_threads : run->cores;
        if (h.narrowed && sharers == 1 && run->cores < o->devices)
            tc_log(
                TC_LOG_WARN, "train",
                "the launcher gives this rank %d core(s) for %d devices: with Open MPI start with "
                "--bind-to none, or give a rank more cores",
                run->cores, o->devices);
        /* Two jobs on one host would bind to the same cores; only a launcher knows better. */
        bool wanted = o->bind || (h.narrowed && sharers == 1);
        if (wanted && run->cores >= o->devices * run->threads)
            status = list_processors(run);
        else if (o->bind)
            tc_log(TC_LOG_WARN, "train",
                   "devices are not bound: %d cores for %d devices x %d threads", run->cores,
                   o->devices, run->threads);
    }
    if (h.topology != NULL)
        hwloc_topology_destroy(h.topology);
    hwloc_bitmap_free(h.set);
    return tc_run_agree(run, status);
}
