/* A training step allocates nothing after the second. */
#include <config.h>

#include "../tap.h"
#include "fakes.h"
#include "rig.h"

#include "base/log.h"

#include <errno.h>
#include <stdlib.h>

#if defined __GLIBC__ && !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
#define COUNTS 1

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *ptr, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

static atomic_long allocations;

void *malloc(size_t bytes)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_calloc(count, bytes);
}

void *realloc(void *ptr, size_t bytes)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_realloc(ptr, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_memalign(align, bytes);
}

int posix_memalign(void **ptr_p, size_t align, size_t bytes)
{
    void *ptr = aligned_alloc(align, bytes);

    if (!ptr)
        return ENOMEM;
    *ptr_p = ptr;
    return 0;
}
#else
#define COUNTS 0
static atomic_long allocations;
#endif

static void test_kind(rig *r, const char *kind, int devices)
{
    tc_table_options options = rig_options(r, kind, devices, 1);
    tc_sgd sgd = { .lr = 1 };
    tc_metrics metrics;
    tc_table_times times;
    long before, during;
    bool ok = rig_open(r, &options, 0, 1, 1000) == TC_OK;

    for (int step = 0; step < 2 && ok; step++)
        ok = tc_table_train(r->table, r->loader, step, &sgd, &metrics) == TC_OK;
    before = atomic_load(&allocations);
    for (int step = 2; step < 8 && ok; step++)
        ok = tc_table_train(r->table, r->loader, step, &sgd, &metrics) == TC_OK;
    ok = ok && tc_table_evaluate(r->table, r->loader, 8, &metrics, NULL) == TC_OK;
    tc_table_take_times(r->table, &times);
    during = atomic_load(&allocations) - before;
    tap_ok(ok && before > 0 && during == 0,
           "%s, %d devices: %ld allocations until step 2, %ld in 6 more steps and an evaluation",
           kind, devices, before, during);
    rig_close(r);
}

int main(void)
{
    rig r;

    if (!COUNTS) {
        tap_skip("allocations in a step",
                 "malloc cannot be counted with this C library or sanitizer");
        return tap_done();
    }
    tc_log_set_level(TC_LOG_WARN);
    fake_reset();
    rig_graph(&r, fake_graph(), 100);
    for (int devices = 1; devices < 4; devices++) {
        test_kind(&r, "optimized", devices);
        test_kind(&r, "baseline", devices);
    }
    rig_free_graph(&r);
    return tap_done();
}
