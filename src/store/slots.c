#include <config.h>

#include "store/slots.h"

#include "base/mem.h"

#include <string.h>

#define CHUNK_BYTES (UINT64_C(64) << 20)
#define GROWTH      128 /* of what there is, when more is needed than was planned */
#define LEAST       64  /* slots */

static tc_status too_many(const tc_slots *s)
{
    return tc_fail(TC_NOMEM,
                   "the store would need more than 2^32 slots of %u bytes in one rank: use more "
                   "ranks",
                   s->bytes);
}

/* Make room for `need` chunk descriptions. */
static tc_status reserve_chunks(tc_slots *s, uint64_t need)
{
    tc_slot_chunk *chunks;

    if (need > (uint64_t)(TC_NO_SLOT >> s->shift))
        return too_many(s);
    if (need <= s->room_chunks)
        return TC_OK;
    need += need / 2;
    tc_status status = tc_alloc((int64_t)need, sizeof *chunks, "chunks of the store", &chunks);
    if (status != TC_OK)
        return status;
    if (s->n_chunks > 0)
        memcpy(chunks, s->chunks, s->n_chunks * sizeof *chunks);
    tc_free(s->chunks);
    s->chunks = chunks;
    s->room_chunks = (uint32_t)need;
    return TC_OK;
}

/* Add a chunk of `slots` slots; where they are fewer than a whole chunk's, numbers stay unused. */
static tc_status add_chunk(tc_slots *s, uint64_t slots)
{
    tc_slot_chunk chunk = { 0 };

    tc_status status = reserve_chunks(s, (uint64_t)s->n_chunks + 1);
    if (status == TC_OK)
        status = tc_alloc((int64_t)slots, s->bytes, "slots of the store", &chunk.data);
    if (status == TC_OK)
        status = tc_alloc((int64_t)slots, sizeof *chunk.next, "chains of the store", &chunk.next);
    if (status != TC_OK) {
        tc_free(chunk.data);
        return status;
    }
    uint32_t first = s->n_chunks << s->shift;
    for (uint32_t i = 0; i < slots; i++) /* in order, so that the load writes straight on */
        chunk.next[i] = i + 1 < slots ? first + i + 1 : s->free_first;
    s->chunks[s->n_chunks++] = chunk;
    s->free_first = first;
    s->count += slots;
    s->free_count += slots;
    return TC_OK;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

tc_status tc_slots_reserve(tc_slots *s, uint64_t count)
{
    if (count > TC_NO_SLOT - CHUNK_BYTES / TC_SLOT_LEAST)
        return too_many(s);
    if (s->shift == 0) {
        s->free_first = TC_NO_SLOT;
        while ((uint64_t)s->bytes << s->shift < CHUNK_BYTES)
            s->shift++;
    }
    while (s->count < count) {
        tc_status status = add_chunk(s, least(count - s->count, UINT64_C(1) << s->shift));
        if (status != TC_OK)
            return status;
    }
    return TC_OK;
}

/* More than was reserved. */
static tc_status grow(tc_slots *s)
{
    uint64_t slots = least(s->count / GROWTH, UINT64_C(1) << s->shift);

    return add_chunk(s, slots > LEAST ? slots : LEAST);
}

void tc_slots_free(tc_slots *s)
{
    for (uint32_t i = 0; i < s->n_chunks; i++) {
        tc_free(s->chunks[i].data);
        tc_free(s->chunks[i].next);
    }
    tc_free(s->chunks);
    *s = (tc_slots){ 0 };
}

/* Take a free slot to the end of the chain. */
static tc_status extend(tc_slots *s, tc_slot_chain *chain)
{
    if (s->free_first == TC_NO_SLOT) {
        tc_status status = grow(s);
        if (status != TC_OK)
            return status;
    }
    uint32_t slot = s->free_first;
    s->free_first = *tc_slot_next(s, slot);
    s->free_count--;
    *tc_slot_next(s, slot) = TC_NO_SLOT;
    if (chain->first == TC_NO_SLOT)
        chain->first = slot;
    else
        *tc_slot_next(s, chain->at) = slot;
    chain->at = slot;
    chain->offset = 0;
    return TC_OK;
}

static void give_back(tc_slots *s, uint32_t slot)
{
    *tc_slot_next(s, slot) = s->free_first;
    s->free_first = slot;
    s->free_count++;
}

tc_status tc_slots_append(tc_slots *s, tc_slot_chain *chain, const uint8_t *data, uint64_t bytes)
{
    while (bytes > 0) {
        if (chain->first == TC_NO_SLOT || chain->offset == s->bytes) {
            tc_status status = extend(s, chain);
            if (status != TC_OK)
                return status;
        }
        uint64_t n = least(bytes, s->bytes - chain->offset);
        memcpy(tc_slot_data(s, chain->at) + chain->offset, data, (size_t)n);
        chain->offset += (uint32_t)n;
        data += n;
        bytes -= n;
    }
    return TC_OK;
}

void tc_slots_consume(tc_slots *s, tc_slot_chain *chain, uint8_t *data, uint64_t bytes)
{
    while (bytes > 0) {
        uint64_t n = least(bytes, s->bytes - chain->offset);
        memcpy(data, tc_slot_data(s, chain->at) + chain->offset, (size_t)n);
        chain->offset += (uint32_t)n;
        data += n;
        bytes -= n;
        if (chain->offset == s->bytes) {
            uint32_t done = chain->at;
            chain->at = *tc_slot_next(s, done);
            chain->offset = 0;
            give_back(s, done);
        }
    }
}

void tc_slots_drop(tc_slots *s, tc_slot_chain *chain)
{
    while (chain->at != TC_NO_SLOT) {
        uint32_t done = chain->at;
        chain->at = *tc_slot_next(s, done);
        give_back(s, done);
    }
    *chain = (tc_slot_chain){ TC_NO_SLOT, TC_NO_SLOT, 0 };
}

void tc_slots_copy(const tc_slots *s, uint32_t first, uint8_t *data, uint64_t bytes)
{
    for (uint32_t slot = first; bytes > 0; slot = *tc_slot_next(s, slot)) {
        uint64_t n = least(bytes, s->bytes);
        memcpy(data, tc_slot_data(s, slot), (size_t)n);
        data += n;
        bytes -= n;
    }
}
