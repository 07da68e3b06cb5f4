/* Sizes that overflow are refused; arenas give what they planned; error texts survive. */
#include <config.h>

#include "base/mem.h"

#include "../tap.h"
#include <string.h>

int main(void)
{
    size_t bytes = 7;
    void *ptr = NULL;
    tc_arena arena = { 0 };
    tc_buffer buffer = { 0 };

    tap_ok(tc_size_mul(INT64_MAX, 8, 0, &bytes) == TC_NOMEM && bytes == 7, "overflow refused");
    tap_ok(tc_size_mul(-1, 8, 0, &bytes) == TC_NOMEM, "negative count refused");
    tap_ok(tc_size_mul(3, 8, 5, &bytes) == TC_OK && bytes == 29, "3 * 8 + 5");
    tap_ok(tc_alloc(INT64_MAX, 8, "planets", &ptr) == TC_NOMEM && ptr == NULL &&
               strstr(tc_error_detail(), "planets") != NULL,
           "an impossible allocation is refused by name");
    tap_ok(tc_alloc(0, 8, "nothing", &ptr) == TC_OK && ptr != NULL, "zero elements: a pointer");
    tc_free(ptr);
    tap_ok(tc_alloc(5 << 20, 1, "big", &ptr) == TC_OK && (uintptr_t)ptr % TC_ALIGN == 0 &&
               ((char *)ptr)[(5 << 20) - 1] == 0,
           "a large allocation is aligned and zeroed");
    tc_free(ptr);

    tap_ok(tc_arena_take(&arena, 3, 4) == NULL && tc_arena_take(&arena, 100, 8) == NULL,
           "planning gives no pointers");
    bool ok = tc_arena_alloc(&arena, "arena") == TC_OK;
    char *a = tc_arena_take(&arena, 3, 4), *b = tc_arena_take(&arena, 100, 8);
    tap_ok(ok && a != NULL && b == a + TC_ALIGN && tc_arena_take(&arena, 1, 1) == NULL,
           "the arena gives what was planned and no more");
    tc_arena_free(&arena);
    tc_arena_take(&arena, INT64_MAX, 8);
    tap_ok(tc_arena_alloc(&arena, "arena") == TC_NOMEM, "an overflowing plan is refused");

    ok = tc_buffer_append(&buffer, "abc", 3) == TC_OK;
    ok = tc_buffer_append(&buffer, "def", 3) == TC_OK && ok;
    tap_ok(ok && buffer.bytes == 6 && memcmp(buffer.data, "abcdef", 6) == 0, "buffers grow");
    tc_buffer_free(&buffer);

    tc_fail(TC_IO, "%s", "first");
    tap_ok(tc_fail(TC_IO, "again %s", tc_error_detail()) == TC_IO &&
               strcmp(tc_error_detail(), "again first") == 0,
           "an error text may quote the one before");
    return tap_done();
}
