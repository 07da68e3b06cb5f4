/* Votes: all go on or none does, and everybody knows whose failure it was. */
#include <config.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "../tap-mpi.h"

#include <string.h>

static void test_votes(tc_comm *comm)
{
    int rank = tc_comm_rank(comm), last = tc_comm_size(comm) - 1;
    char name[32];

    tap_ok_all(tc_comm_agree(comm, TC_OK) == TC_OK, "all succeed");

    tc_status mine = rank == last ? tc_fail(TC_IO, "shard 00017: gone") : TC_OK;
    tc_status status = tc_comm_agree(comm, mine);
    tap_ok_all(status == (rank == last ? TC_IO : TC_PEER), "one failure reaches all ranks");
    snprintf(name, sizeof name, "rank %d: ", last);
    tap_ok_all(rank == last ? strcmp(tc_error_detail(), "shard 00017: gone") == 0
                            : strstr(tc_error_detail(), name) == tc_error_detail() &&
                                  strstr(tc_error_detail(), tc_strstatus(TC_IO)) != NULL &&
                                  strstr(tc_error_detail(), "shard 00017: gone") != NULL,
               "the others' text names the rank and its cause, its own is kept");

    tc_fail(TC_OK, "%s", "");
    mine = rank == 0 ? TC_OK : tc_fail(TC_NOMEM - rank % 2, "cause %d", rank);
    status = tc_comm_agree(comm, mine);
    tap_ok_all(last == 0 || (rank == 0 ? status == TC_PEER : status == mine),
               "of several failures each rank keeps its own");
    tap_ok_all(last == 0 || rank != 0 || strstr(tc_error_detail(), "rank 1: ") != NULL,
               "the first failed rank is named");

    mine = rank == 0      ? tc_fail(TC_PEER, "rank 77: heard of it")
           : rank == last ? tc_fail(TC_FORMAT, "first hand")
                          : TC_OK;
    status = tc_comm_agree(comm, mine);
    tap_ok_all(last < 2 || (rank > 0 && rank < last) == (strstr(tc_error_detail(), "rank") &&
                                                         strstr(tc_error_detail(), "first hand")),
               "a cause at first hand is named before one only heard of");
    tap_ok_all(tc_comm_agree(comm, TC_OK) == TC_OK, "the next vote starts afresh");
}

/* A fatal status must not communicate: if it voted, the ranks without one would pair up wrongly. */
static void test_fatal(tc_comm *comm)
{
    tc_status status = TC_OK;

    if (tc_comm_rank(comm) == 0)
        status = tc_comm_agree(comm, tc_fail(TC_DEVICE, "device 0 is gone"));
    tap_ok_all(status == (tc_comm_rank(comm) == 0 ? TC_DEVICE : TC_OK),
               "a fatal status returns at once, without a vote");
    tap_ok_all(tc_comm_agree(comm, TC_OK) == TC_OK, "and leaves the votes in step");
}

static void test_groups(tc_comm *comm)
{
    int rank = tc_comm_rank(comm), size = tc_comm_size(comm), color = rank % 2;
    tc_comm *group = NULL;

    tap_ok_all(tc_comm_split(comm, color, &group) == TC_OK && group != NULL, "split");
    tap_ok_all(tc_comm_size(group) == (size + 1 - color) / 2 && tc_comm_rank(group) == rank / 2,
               "groups are ordered by rank");
    tc_status mine = color == 1 && tc_comm_rank(group) == 0 ? tc_fail(TC_IO, "odd") : TC_OK;
    mine = tc_comm_agree(group, mine);
    tap_ok_all((mine == TC_OK) == (color == 0), "a failure stays in its group");
    tc_status status = tc_comm_agree(comm, mine);
    tap_ok_all(size < 2 ? status == TC_OK : status != TC_OK, "until the world votes");
    tap_ok_all(size < 2 || color == 1 || strstr(tc_error_detail(), "rank 1: ") != NULL,
               "which names the rank of the world");
    tc_comm_destroy(group);
    tc_comm_destroy(NULL);
}

/* Hosts against the processors' names that MPI gives. */
static void test_hosts(tc_comm *comm)
{
    int size = tc_comm_size(comm), rank = tc_comm_rank(comm), here = 0, before = 0, hosts = 0;
    char mine[MPI_MAX_PROCESSOR_NAME] = "", (*all)[MPI_MAX_PROCESSOR_NAME];
    int length = 0;

    MPI_Get_processor_name(mine, &length);
    tap_ok_all(strcmp(mine, tc_comm_host(comm)) == 0, "the host's name");
    if (!tap_ok_all(tc_alloc(size, sizeof *all, "names", &all) == TC_OK, "memory"))
        return;
    tap_ok_all(tc_comm_allgather(comm, mine, sizeof mine, all) == TC_OK, "names are gathered");
    for (int r = 0; r < size; r++) {
        bool first = true;
        for (int earlier = 0; earlier < r; earlier++)
            first = first && strcmp(all[earlier], all[r]) != 0;
        hosts += first;
        here += strcmp(all[r], mine) == 0;
        before += r < rank && strcmp(all[r], mine) == 0;
    }
    tap_ok_all(tc_comm_local_size(comm) == here && tc_comm_local_rank(comm) == before,
               "ranks of this host");
    tap_ok_all(tc_comm_host_count(comm) == hosts, "hosts are counted");
    tc_free(all);
}

int main(int argc, char **argv)
{
    tc_comm *comm = NULL;
    int rank = -1, size = -1;
    tc_status status = tc_comm_init(&argc, &argv, &comm);

    if (status != TC_OK)
        return tc_exit(comm, status);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tap_ok_all(tc_comm_rank(comm) == rank && tc_comm_size(comm) == size, "rank and size");
    test_hosts(comm);
    test_votes(comm);
    test_fatal(comm);
    test_groups(comm);
    return tap_done_all();
}
