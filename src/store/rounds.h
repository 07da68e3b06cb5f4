#ifndef TC_STORE_ROUNDS_H
#define TC_STORE_ROUNDS_H
/**
 * @file rounds.h
 * How streams of records are cut into the pieces of bounded rounds.  Private to store/; pure
 * arithmetic, so that it can be tried at sizes that no test can move.
 *
 * To every other rank goes one stream of records, each as a head and its bytes.  A round carries
 * the next piece of every stream, cut anywhere but inside a head or right behind it.
 */
#include <stdbool.h>
#include <stdint.h>

/** What precedes the bytes of a record on its way. */
typedef struct {
    uint64_t pos; /* in the order to come */
    uint32_t bytes;
    int32_t label;
    uint32_t width, height;
} tc_record_head;

#define TC_HEAD_WIRE sizeof(tc_record_head)

#define TC_PIECE_LEAST 64                  /* a head and some bytes: every round gets on */
#define TC_ROUND_MOST  (UINT64_C(1) << 30) /* counts and displacements are ints in MPI */

/** Bytes that a rank sends to each of `ranks` in a round. */
static inline uint64_t tc_rounds_piece(int ranks, uint64_t round_bytes, uint64_t set_bytes)
{
    uint64_t round = round_bytes < TC_ROUND_MOST ? round_bytes : TC_ROUND_MOST;
    uint64_t piece = round / (unsigned)ranks;

    if (piece > set_bytes)
        piece = set_bytes; /* small sets need no large buffers */
    return piece > TC_PIECE_LEAST ? piece : TC_PIECE_LEAST;
}

/**
 * Slots to have for `slots` that are due at the end: while records are under way, what comes from
 * some ranks may be ahead of what leaves for others, and of each stream one record is in parts.
 * The more ranks, the fewer records each has, and the more that is; t-rounds tries the worst.
 */
static inline uint64_t tc_rounds_slots(uint64_t slots, uint64_t ranks)
{
    return slots + slots / 128 + slots * ranks / 16384 + ranks + 16;
}

/** The next thing in a piece. */
typedef struct {
    bool head;      /* first the head of the following record */
    uint64_t bytes; /* then so many of a record; 0: the piece is full, or the stream has ended */
} tc_cut;

/** @param left       bytes of the record at hand that are still to go.
 *  @param following  bytes of the record behind it; 0: there is none.
 *  @param room       bytes that the piece has left. */
static inline tc_cut tc_rounds_cut(uint64_t left, uint64_t following, uint64_t room)
{
    tc_cut cut = { 0 };

    if (left == 0) {
        if (following == 0 || room <= TC_HEAD_WIRE)
            return cut;
        cut.head = true;
        room -= TC_HEAD_WIRE;
        left = following;
    }
    cut.bytes = left < room ? left : room;
    return cut;
}

#endif
