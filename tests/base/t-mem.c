/* Sizes that overflow are refused; arenas give what they planned; buffers grow; texts survive. */
#include <config.h>

#include "base/log.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void sizes(void **state)
{
    size_t bytes = 7;

    (void)state;
    assert_int_equal(tc_size_mul(INT64_MAX, 8, 0, &bytes), TC_NOMEM);
    assert_int_equal(bytes, 7);
    assert_int_equal(tc_size_mul(-1, 8, 0, &bytes), TC_NOMEM);
    assert_int_equal(tc_size_mul(3, 8, 5, &bytes), TC_OK);
    assert_int_equal(bytes, 29);
}

static void allocations(void **state)
{
    char *ptr = NULL;

    (void)state;
    assert_int_equal(tc_alloc(INT64_MAX, 8, "planets", &ptr), TC_NOMEM);
    assert_null(ptr);
    assert_non_null(strstr(tc_error_detail(), "planets"));
    assert_int_equal(tc_alloc(0, 8, "nothing", &ptr), TC_OK);
    assert_non_null(ptr);
    tc_free(ptr);
    assert_int_equal(tc_alloc(5 << 20, 1, "big", &ptr), TC_OK);
    assert_int_equal((uintptr_t)ptr % TC_ALIGN, 0);
    assert_int_equal(ptr[(5 << 20) - 1], 0);
    tc_free(ptr);
    tc_free(NULL);
}

static void arenas(void **state)
{
    tc_arena arena = { 0 };

    (void)state;
    assert_null(tc_arena_take(&arena, 3, 4));
    assert_null(tc_arena_take(&arena, 100, 8));
    assert_int_equal(tc_arena_alloc(&arena, "arena"), TC_OK);
    char *a = tc_arena_take(&arena, 3, 4), *b = tc_arena_take(&arena, 100, 8);
    assert_non_null(a);
    assert_ptr_equal(b, a + TC_ALIGN);
    assert_null(tc_arena_take(&arena, 1, 1)); /* more than planned */
    tc_arena_free(&arena);
    tc_arena_take(&arena, INT64_MAX, 8);
    tc_arena_take(&arena, 8, 8);
    assert_int_equal(tc_arena_alloc(&arena, "arena"), TC_NOMEM);
}

static void buffers(void **state)
{
    tc_buffer buffer = { 0 };

    (void)state;
    assert_int_equal(tc_buffer_append(&buffer, "abc", 3), TC_OK);
    assert_int_equal(tc_buffer_append(&buffer, "def", 3), TC_OK);
    assert_int_equal(buffer.bytes, 6);
    assert_memory_equal(buffer.data, "abcdef", 6);
    assert_int_equal(tc_buffer_reserve(&buffer, SIZE_MAX - 1), TC_NOMEM);
    assert_memory_equal(buffer.data, "abcdef", 6);
    tc_buffer_free(&buffer);
}

static void error_texts(void **state)
{
    char longer[4000];

    (void)state;
    tc_fail(TC_IO, "%s", "first");
    assert_int_equal(tc_fail(TC_IO, "again %s", tc_error_detail()), TC_IO);
    assert_string_equal(tc_error_detail(), "again first");
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    tc_fail(TC_IO, "%s", longer);
    assert_int_equal(strlen(tc_error_detail()), 1023);
    assert_string_equal(tc_strstatus(TC_PEER), "another rank failed");
    assert_true(TC_STATUS_IS_FATAL(TC_MPI) && !TC_STATUS_IS_FATAL(TC_NUMERIC));
}

/* What stderr receives while `speak` runs. */
static const char *heard(void (*speak)(void), char *text, size_t size)
{
    int ends[2], saved = dup(STDERR_FILENO);

    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    speak();
    dup2(saved, STDERR_FILENO);
    close(saved);
    ssize_t n = read(ends[0], text, size - 1);
    close(ends[0]);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void speak_as_rank_2(void)
{
    tc_log_set_rank(2);
    tc_log(TC_LOG_INFO, "store", "for rank 0 alone");
    tc_log(TC_LOG_WARN, "store", "from %d", 2);
    tc_progress(true, "for rank 0 alone");
}

static void speak_as_rank_0(void)
{
    tc_log_set_rank(0);
    tc_log(TC_LOG_INFO, "store", "hello");
    tc_log(TC_LOG_DEBUG, "store", "too quiet");
    tc_progress(true, "epoch %d", 3);
}

static void logs(void **state)
{
    char text[1024];

    (void)state;
    heard(speak_as_rank_2, text, sizeof text);
    assert_null(strstr(text, "alone"));
    assert_non_null(strstr(text, "tricolor: rank 2 host "));
    assert_non_null(strstr(text, "store: warning: from 2\n"));
    heard(speak_as_rank_0, text, sizeof text);
    assert_non_null(strstr(text, "tricolor: store: hello\n"));
    assert_null(strstr(text, "quiet"));
    assert_non_null(strstr(text, "epoch 3\n"));
    tc_log_set_rank(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),   cmocka_unit_test(allocations), cmocka_unit_test(arenas),
        cmocka_unit_test(buffers), cmocka_unit_test(error_texts), cmocka_unit_test(logs),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    cmocka_run_group_tests(tests, NULL, NULL);
    return 0; /* the verdict is in the TAP stream */
}
