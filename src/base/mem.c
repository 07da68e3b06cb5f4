#include <config.h>

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_FROM ((size_t)4 << 20) /* bytes from which huge pages are advised */
#define HUGE_PAGE ((size_t)2 << 20)

tc_status tc_size_mul(int64_t count, size_t size, size_t extra, size_t *bytes_p)
{
    size_t bytes;

    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) ||
        __builtin_add_overflow(bytes, extra, &bytes) || bytes > PTRDIFF_MAX)
        return tc_fail(TC_NOMEM, "%lld elements of %zu bytes do not fit the address space",
                       (long long)count, size);
    *bytes_p = bytes;
    return TC_OK;
}

tc_status tc_alloc(int64_t count, size_t size, const char *what, void *ptr_p)
{
    size_t bytes = 0, align = TC_ALIGN;
    void *ptr = NULL;

    if (tc_size_mul(count, size, HUGE_PAGE, &bytes) != TC_OK)
        return tc_fail(TC_NOMEM, "%s: %lld elements of %zu bytes do not fit the address space",
                       what, (long long)count, size);
    bytes -= HUGE_PAGE;
    if (bytes >= HUGE_FROM)
        align = HUGE_PAGE;
    bytes = bytes ? (bytes + align - 1) / align * align : align;
    if (posix_memalign(&ptr, align, bytes) != 0)
        return tc_fail(TC_NOMEM, "%s: the system refused %zu bytes", what, bytes);
    if (align == HUGE_PAGE)
        madvise(ptr, bytes, MADV_HUGEPAGE); /* advice: a refusal costs speed only */
    memset(ptr, 0, bytes);
    memcpy(ptr_p, &ptr, sizeof ptr);
    return TC_OK;
}

void tc_free(void *ptr)
{
    free(ptr);
}

tc_status tc_buffer_reserve(tc_buffer *buffer, size_t bytes)
{
    if (bytes <= buffer->capacity)
        return TC_OK;
    size_t capacity = buffer->capacity < 4096 ? 4096 : buffer->capacity;
    while (capacity < bytes && capacity <= PTRDIFF_MAX / 2)
        capacity *= 2;
    uint8_t *data = capacity < bytes ? NULL : realloc(buffer->data, capacity);
    if (data == NULL)
        return tc_fail(TC_NOMEM, "a buffer of %zu bytes was refused", bytes);
    buffer->data = data;
    buffer->capacity = capacity;
    return TC_OK;
}

tc_status tc_buffer_append(tc_buffer *buffer, const void *data, size_t bytes)
{
    size_t total;

    if (__builtin_add_overflow(buffer->bytes, bytes, &total))
        return tc_fail(TC_NOMEM, "a buffer of %zu + %zu bytes overflows", buffer->bytes, bytes);
    tc_status status = tc_buffer_reserve(buffer, total);
    if (status != TC_OK)
        return status;
    if (bytes > 0)
        memcpy(buffer->data + buffer->bytes, data, bytes);
    buffer->bytes = total;
    return TC_OK;
}

void tc_buffer_free(tc_buffer *buffer)
{
    free(buffer->data);
    *buffer = (tc_buffer){ 0 };
}

void *tc_arena_take(tc_arena *arena, int64_t count, size_t size)
{
    size_t bytes, used;

    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) ||
        __builtin_add_overflow(bytes, (size_t)TC_ALIGN - 1, &bytes) ||
        __builtin_add_overflow(arena->used, bytes / TC_ALIGN * TC_ALIGN, &used)) {
        arena->used = SIZE_MAX; /* remembered: tc_arena_alloc() refuses */
        return NULL;
    }
    void *ptr = arena->base ? arena->base + arena->used : NULL;
    arena->used = used;
    return arena->base && used > arena->size ? NULL : ptr;
}

tc_status tc_arena_alloc(tc_arena *arena, const char *what)
{
    size_t planned = arena->used;

    if (planned > PTRDIFF_MAX)
        return tc_fail(TC_NOMEM, "%s: the planned memory does not fit the address space", what);
    tc_status status = tc_alloc((int64_t)planned, 1, what, &arena->base);
    if (status != TC_OK)
        return status;
    arena->size = planned;
    arena->used = 0;
    return TC_OK;
}

void tc_arena_free(tc_arena *arena)
{
    tc_free(arena->base);
    *arena = (tc_arena){ 0 };
}
