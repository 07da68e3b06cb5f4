#ifndef TC_BASE_MEM_H
#define TC_BASE_MEM_H
/**
 * @file mem.h
 * Checked sizes, aligned allocation, growable buffers and arenas.
 *
 * Flow:  tc_size_mul() -> tc_alloc() -> tc_free();  or plan an arena (base NULL), then allocate it.
 * Memory is taken at set-up; nothing here is called in a training step after the second.
 * Used by: everything.
 */
#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

#define TC_ALIGN 64 /* bytes: a cache line, and one AVX-512 register */

/** Set *bytes_p = count * size (+ extra).  TC_NOMEM where it does not fit size_t or is negative. */
tc_status tc_size_mul(int64_t count, size_t size, size_t extra, size_t *bytes_p);

/**
 * Allocate @p count elements of @p size bytes, zeroed, aligned to TC_ALIGN; from 4 MiB on, huge
 * pages are advised.  A count of 0 gives a valid pointer.
 *
 * @param what  Names the memory in the message, e.g. "momentum".
 * @param[out] ptr_p  The address of any object pointer; untouched on failure.  Free with tc_free().
 * @retval TC_NOMEM   the size overflows or the system refuses.
 */
tc_status tc_alloc(int64_t count, size_t size, const char *what, void *ptr_p);

/** Free what tc_alloc() gave; NULL is accepted. */
void tc_free(void *ptr);

/** A growable buffer.  Zero-initialise; the owner frees it with tc_buffer_free(). */
typedef struct {
    uint8_t *data;
    size_t bytes;    /* in use */
    size_t capacity; /* allocated */
} tc_buffer;

/** Make capacity at least @p bytes, keeping the content in use.  @retval TC_NOMEM */
tc_status tc_buffer_reserve(tc_buffer *buffer, size_t bytes);
tc_status tc_buffer_append(tc_buffer *buffer, const void *data, size_t bytes);
void tc_buffer_free(tc_buffer *buffer);

/**
 * An arena: one allocation, cut at set-up.  Run the same sequence of tc_arena_take() twice: first
 * on a zeroed arena, which only adds up `used`; then, after tc_arena_alloc(), for the pointers.
 */
typedef struct {
    uint8_t *base; /* NULL while planning */
    size_t used, size;
} tc_arena;

/** Take @p count elements of @p size bytes, aligned to TC_ALIGN.  Returns NULL while planning.
 *  An overflow while planning makes tc_arena_alloc() fail. */
void *tc_arena_take(tc_arena *arena, int64_t count, size_t size);

/** Allocate (zeroed, touched) what was planned and restart taking.  @retval TC_NOMEM */
tc_status tc_arena_alloc(tc_arena *arena, const char *what);
void tc_arena_free(tc_arena *arena);

#endif
