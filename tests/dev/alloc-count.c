/* malloc and its family, counted.  The program's definitions take the place of the library's, also
 * for the shared libraries that it uses. */
#include <config.h>

#include "dev-check.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef __GLIBC__
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *ptr, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);

static atomic_llong calls;

void *malloc(size_t bytes)
{
    atomic_fetch_add(&calls, 1);
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t size)
{
    atomic_fetch_add(&calls, 1);
    return __libc_calloc(count, size);
}

void *realloc(void *ptr, size_t bytes)
{
    atomic_fetch_add(&calls, 1);
    return __libc_realloc(ptr, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    atomic_fetch_add(&calls, 1);
    return __libc_memalign(align, bytes);
}

int posix_memalign(void **ptr_p, size_t align, size_t bytes)
{
    void *ptr = aligned_alloc(align, bytes);

    if (ptr == NULL)
        return ENOMEM;
    *ptr_p = ptr;
    return 0;
}

int64_t alloc_count(void)
{
    return atomic_load(&calls);
}
#else
int64_t alloc_count(void)
{
    return -1;
}
#endif
