#ifndef TC_STORE_EXCHANGE_H
#define TC_STORE_EXCHANGE_H
/**
 * @file exchange.h
 * Records move between the ranks of a group in rounds of bounded size.  Private to store/.
 *
 * To every other rank goes one stream of records, each as its number (8 bytes) and its bytes.  A
 * round carries the next piece of every stream, cut anywhere but inside a number, by MPI_Alltoall
 * (how much) and MPI_Alltoallv.  What is sent frees its slots before what comes takes some.
 */
#include "comm/comm.h"
#include "store/index.h"
#include "store/order.h"
#include "store/slots.h"

/** The records that a rank holds. */
typedef struct {
    tc_slots slots;
    uint32_t *head; /* (records) first slot of each; TC_NO_SLOT: not here */
    uint64_t records, bytes;
} tc_store_held;

typedef struct tc_stream_out tc_stream_out;
typedef struct tc_stream_in tc_stream_in;

/** What an exchange needs, allocated once. */
typedef struct {
    int ranks;
    uint64_t piece;       /* bytes a round, to one rank */
    uint8_t *send, *recv; /* (ranks, piece) each */
    int *counts;          /* (ranks, 6): see exchange.c */
    tc_stream_out *out;   /* (ranks) */
    tc_stream_in *in;     /* (ranks) */
    uint32_t *list;       /* (room) records that leave, by destination */
    uint64_t room;
} tc_exchange;

/** Bytes that tc_exchange_allocate() will take. */
uint64_t tc_exchange_bytes(int ranks, uint64_t round_bytes, uint64_t set_bytes);

/** @param round_bytes  that a rank sends (and at most receives) in a round.
 *  @param set_bytes    of all records: no piece is longer.   @retval TC_NOMEM */
tc_status tc_exchange_allocate(tc_exchange *x, int ranks, uint64_t round_bytes, uint64_t set_bytes);
void tc_exchange_free(tc_exchange *x);

/** Not collective: list what leaves this rank for the order @p to.  Before tc_exchange_run(). */
tc_status tc_exchange_plan(tc_exchange *x, const tc_comm *group, const tc_store_held *held,
                           const tc_store_order *to);

/**
 * Move the records as planned.  Collective over @p group; a rank that runs out of memory goes on
 * without keeping what it gets, so that no rank is left waiting: vote on the status afterwards.
 *
 * @retval TC_NOMEM, TC_FORMAT  the store is no longer usable.
 */
tc_status tc_exchange_run(tc_exchange *x, tc_comm *group, const tc_store_index *index,
                          tc_store_held *held);

#endif
