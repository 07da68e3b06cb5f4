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
    uint64_t block; /* pictures a rank and step: b times its devices */
    uint64_t ranks; /* of a group */
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

/*
 * The rule of store.h in other words: a group's ranks take turns in blocks of consecutive
 * positions.  So the positions of a rank can be counted through (`local`) without a table.
 */

/** Rank inside the group. */
static inline int tc_store_order_holder(const tc_store_order *order, uint64_t pos)
{
    return (int)(pos / order->block % order->ranks);
}

/** Which one of its holder's positions, from 0. */
static inline uint64_t tc_store_order_local(const tc_store_order *order, uint64_t pos)
{
    return pos / (order->block * order->ranks) * order->block + pos % order->block;
}

/** Positions that a rank of the group holds. */
static inline uint64_t tc_store_order_count(const tc_store_order *order, int rank)
{
    uint64_t turn = order->block * order->ranks, before = (uint64_t)rank * order->block;
    uint64_t last = order->records % turn;
    uint64_t more = last > before ? last - before : 0;

    return order->records / turn * order->block + (more < order->block ? more : order->block);
}

/** The inverse of holder and local. */
static inline uint64_t tc_store_order_at(const tc_store_order *order, int rank, uint64_t local)
{
    return (local / order->block * order->ranks + (uint64_t)rank) * order->block +
           local % order->block;
}

#endif
