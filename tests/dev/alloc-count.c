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

/* First and last address of the program itself, from the linker. */
extern char __executable_start, etext;

static atomic_llong calls, own_calls;

/* Called by the program's text, not by a shared library? */
static void note(const char *caller)
{
    atomic_fetch_add(&calls, 1);
    if (caller >= &__executable_start && caller < &etext)
        atomic_fetch_add(&own_calls, 1);
}

void *malloc(size_t bytes)
{
    note(__builtin_return_address(0));
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t size)
{
    note(__builtin_return_address(0));
    return __libc_calloc(count, size);
}

void *realloc(void *ptr, size_t bytes)
{
    note(__builtin_return_address(0));
    return __libc_realloc(ptr, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    note(__builtin_return_address(0));
    return __libc_memalign(align, bytes);
}

int posix_memalign(void **ptr_p, size_t align, size_t bytes)
{
    void *ptr = __libc_memalign(align, bytes);

    note(__builtin_return_address(0));
    if (ptr == NULL)
        return ENOMEM;
    *ptr_p = ptr;
    return 0;
}

int64_t alloc_count(bool libraries)
{
    return atomic_load(libraries ? &calls : &own_calls);
}
#else
int64_t alloc_count(bool libraries)
{
    (void)libraries;
    return -1;
}
#endif
