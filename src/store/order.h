#ifndef TC_STORE_ORDER_H
#define TC_STORE_ORDER_H
/**
 * @file order.h
 * Which record stands at a position of an epoch, and which rank of a group holds that position.
 * Private to store/; pure arithmetic, see store.h.
 */
#include "base/rng.h"
#include <stdbool.h>

typedef struct {
    uint64_t records;
    uint64_t batch, global; /* b and B */
    uint64_t devices;       /* a rank */
    uint64_t ranks;         /* of a group */
    uint64_t seed;
    bool shuffle;
    uint64_t epoch;
    tc_permutation permutation; /* of this epoch */
} tc_store_order;

static inline void tc_store_order_begin(tc_store_order *order, uint64_t epoch)
{
    order->epoch = epoch;
    order->permutation =
        tc_permutation_make(order->seed, TC_STREAM_ORDER, epoch, (int64_t)order->records);
}

static inline uint64_t tc_store_order_record(const tc_store_order *order, uint64_t pos)
{
    if (!order->shuffle)
        return pos;
    return (uint64_t)tc_permutation_at(&order->permutation, (int64_t)pos);
}

static inline uint64_t tc_store_order_position(const tc_store_order *order, uint64_t record)
{
    if (!order->shuffle)
        return record;
    return (uint64_t)tc_permutation_find(&order->permutation, (int64_t)record);
}

/** Rank inside the group. */
static inline int tc_store_order_holder(const tc_store_order *order, uint64_t pos)
{
    uint64_t device = pos % order->global / order->batch; /* of the whole job */

    return (int)(device % (order->devices * order->ranks) / order->devices);
}

#endif
