/* How much a rank will have to hold, in every epoch of the run: the orders can be replayed by who
 * knows the lengths of the records, before any of them is read. */
#include <config.h>

#include "store/store_impl.h"

#include "comm/comm_mpi.h"

#include <string.h>

/* Add up the slots that this rank's records of the share take in each rank (ranks) in order `to`.
 */
static void add_up(const tc_store_held *held, int rank, const tc_store_order *to, uint64_t *slots)
{
    const tc_store_order *from = &held->order;

    memset(slots, 0, (size_t)to->ranks * sizeof *slots);
    for (uint64_t i = 0, n = tc_store_order_count(from, rank); i < n; i++) {
        uint64_t id = tc_store_order_record(from, tc_store_order_at(from, rank, i));
        int r = tc_store_order_holder(to, tc_store_order_position(to, id));
        slots[r] += tc_slots_for(&held->slots, held->place[i].bytes);
    }
}

static uint64_t of_share(const tc_store_held *held, int rank)
{
    uint64_t slots = 0;

    for (uint64_t i = 0, n = tc_store_order_count(&held->order, rank); i < n; i++)
        slots += tc_slots_for(&held->slots, held->place[i].bytes);
    return slots;
}

tc_status tc_store_need(tc_store *store, tc_status mine, uint64_t *slots_p)
{
    const tc_store_held *held = &store->held;
    int rank = tc_comm_rank(store->group), ranks = tc_comm_size(store->group);
    tc_store_order order = store->order;
    uint64_t *slots = NULL, most = 0, here = 0;

    if (mine == TC_OK)
        mine = tc_alloc(ranks, sizeof *slots, "sums of the store", &slots);
    tc_status status = tc_comm_agree(store->world, mine);
    if (status == TC_OK)
        most = of_share(held, rank);
    for (uint64_t e = store->order.epoch; status == TC_OK && ranks > 1; e++) {
        tc_store_order_begin(&order, e);
        add_up(held, rank, &order, slots);
        int rc = MPI_Reduce_scatter_block(slots, &here, 1, MPI_UINT64_T, MPI_SUM,
                                          tc_comm_mpi(store->group));
        if (rc != MPI_SUCCESS)
            status = tc_mpi_fail(rc, "MPI_Reduce_scatter_block");
        most = here > most ? here : most;
        if (e >= store->last_epoch || !order.shuffle)
            break;
    }
    tc_free(slots);
    if (status == TC_OK)
        *slots_p = most;
    return status;
}
