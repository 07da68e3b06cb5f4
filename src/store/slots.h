#ifndef TC_STORE_SLOTS_H
#define TC_STORE_SLOTS_H
/**
 * @file slots.h
 * Memory in slots of at most 2 KiB that chain into records: what leaves makes room for what comes,
 * of any size, without compaction.  Private to store/.
 *
 * The memory is taken in chunks of up to 64 MiB (huge pages are advised), so that nothing ever
 * moves.
 */
#include "base/status.h"
#include <stdint.h>

#define TC_SLOT_MOST  2048 /* bytes */
#define TC_SLOT_LEAST 128
#define TC_NO_SLOT    UINT32_MAX

typedef struct {
    uint8_t *data;  /* (slots, bytes); at most 1 << shift slots */
    uint32_t *next; /* (slots) slot behind each in its chain or in the free list */
} tc_slot_chunk;

typedef struct {
    tc_slot_chunk *chunks;
    uint32_t n_chunks, room_chunks;
    uint32_t bytes;      /* of a slot */
    int shift;           /* log2 of the slots of a whole chunk; 0: not chosen yet */
    uint32_t free_first; /* TC_NO_SLOT: none */
    uint64_t count, free_count;
} tc_slots;

/** A chain while it is written or read. */
typedef struct {
    uint32_t first, at; /* TC_NO_SLOT: empty */
    uint32_t offset;    /* inside slot `at` */
} tc_slot_chain;

/** Slots of which size hold records of this mean length with little waste: the last one of a record
 *  is half empty on average, and each needs 4 bytes more for its chain. */
static inline uint32_t tc_slots_size(uint64_t mean)
{
    uint32_t bytes = TC_SLOT_MOST;

    while (bytes > TC_SLOT_LEAST && bytes > mean / 16)
        bytes /= 2;
    return bytes;
}

static inline uint64_t tc_slots_for(const tc_slots *s, uint64_t bytes)
{
    return (bytes + s->bytes - 1) / s->bytes;
}

/** What they take. */
static inline uint64_t tc_slots_memory(const tc_slots *s, uint64_t count)
{
    return count * (s->bytes + sizeof(uint32_t));
}

static inline uint8_t *tc_slot_data(const tc_slots *s, uint32_t slot)
{
    uint32_t in = slot & ((UINT32_C(1) << s->shift) - 1);

    return s->chunks[slot >> s->shift].data + (uint64_t)in * s->bytes;
}

static inline uint32_t *tc_slot_next(const tc_slots *s, uint32_t slot)
{
    return s->chunks[slot >> s->shift].next + (slot & ((UINT32_C(1) << s->shift) - 1));
}

/** Have at least @p count slots of s->bytes in all.
 *  @retval TC_NOMEM  (what was there stays) */
tc_status tc_slots_reserve(tc_slots *s, uint64_t count);
void tc_slots_free(tc_slots *s);

/** Append to a chain; grows by a chunk where no slot is free.  @retval TC_NOMEM */
tc_status tc_slots_append(tc_slots *s, tc_slot_chain *chain, const uint8_t *data, uint64_t bytes);

/** Copy the next @p bytes out of a chain and free the slots that are read to their end; the last
 *  one by tc_slots_drop(). */
void tc_slots_consume(tc_slots *s, tc_slot_chain *chain, uint8_t *data, uint64_t bytes);
/** Free what is left of a chain from its `at` on. */
void tc_slots_drop(tc_slots *s, tc_slot_chain *chain);

/** Copy @p bytes from the start of the chain at @p first; it stays. */
void tc_slots_copy(const tc_slots *s, uint32_t first, uint8_t *data, uint64_t bytes);

#endif
