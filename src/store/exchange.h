#ifndef TC_STORE_EXCHANGE_H
#define TC_STORE_EXCHANGE_H
/**
 * @file exchange.h
 * Records move between the ranks of a group in rounds of bounded size.  Private to store/.
 *
 * rounds.h says what a round carries; it goes by MPI_Alltoall (how much) and MPI_Alltoallv.  What
 * is sent frees its slots before what comes takes some.
 *
 * Flow:  tc_exchange_allocate() -> (tc_exchange_plan() -> tc_exchange_due() -> tc_exchange_run()) …
 *        -> tc_exchange_free()
 */
#include "comm/comm.h"
#include "store/order.h"
#include "store/rounds.h"
#include "store/slots.h"

/** What a rank knows of a record that it holds. */
typedef struct {
    uint32_t slot; /* the first; TC_NO_SLOT: not here */
    uint32_t bytes;
    int32_t label;
    uint32_t width, height;
} tc_place;

/** The records that a rank holds, by tc_store_order_local(). */
typedef struct {
    tc_slots slots;
    tc_store_order order; /* that `place` follows */
    tc_place *place;      /* (room) */
    tc_place *next;       /* (room) of the order to come, while records move */
    uint64_t room;
    uint64_t records, bytes;
} tc_store_held;

/** What a rank will hold. */
typedef struct {
    uint64_t slots, bytes;
} tc_store_due;

typedef struct tc_stream_out tc_stream_out;
typedef struct tc_stream_in tc_stream_in;

/** What an exchange needs, allocated once. */
typedef struct {
    int ranks, me;
    uint64_t piece;       /* bytes a round, to one rank */
    uint8_t *send, *recv; /* (ranks, piece) each */
    int *counts;          /* (ranks, 6): see exchange.c */
    tc_stream_out *out;   /* (ranks) */
    tc_stream_in *in;     /* (ranks) */
    tc_store_due *due;    /* (ranks) of this rank's records, what each will hold */
    tc_store_order to;    /* the order to come */
    uint32_t *list;       /* (held->room) records that leave, by destination */
    uint32_t *local;      /* (held->room) place of each at its destination */
    uint64_t sent, rounds; /* by this rank, since it was allocated: bytes with heads */
} tc_exchange;

/** Bytes that tc_exchange_allocate() will take. */
uint64_t tc_exchange_bytes(int ranks, uint64_t round_bytes, uint64_t set_bytes, uint64_t room);

/** @param round_bytes  that a rank sends (and at most receives) in a round.
 *  @param set_bytes    of all records: no piece is longer.
 *  @param room         records that a rank may hold.   @retval TC_NOMEM */
tc_status tc_exchange_allocate(tc_exchange *x, const tc_comm *group, uint64_t round_bytes,
                               uint64_t set_bytes, uint64_t room);
void tc_exchange_free(tc_exchange *x);

/** Not collective: find out what leaves this rank for the order @p to; what stays gets its place in
 *  held->next. */
void tc_exchange_plan(tc_exchange *x, tc_store_held *held, const tc_store_order *to);

/** What will be held here.  Collective over @p group, after tc_exchange_plan(). */
tc_status tc_exchange_due(tc_exchange *x, tc_comm *group, tc_store_due *due);

/**
 * Move the records as planned; then held->place and held->order are the new ones.  Collective over
 * @p group; a rank that runs out of memory goes on without keeping what it gets, so that no rank is
 * left waiting: vote on the status afterwards.
 *
 * @retval TC_NOMEM, TC_FORMAT  the store is no longer usable.
 */
tc_status tc_exchange_run(tc_exchange *x, tc_comm *group, tc_store_held *held);

#endif
