#ifndef TC_TESTS_TAP_MPI_H
#define TC_TESTS_TAP_MPI_H
/* TAP for tests on several ranks: rank 0 speaks for all. */
#include "tap.h"
#include <mpi.h>

/* Collective: "ok" only when cond holds on every rank; returns whether it does. */
#define tap_ok_all(cond, ...) tap_ok_all_(cond, __LINE__, __VA_ARGS__)
__attribute__((format(printf, 3, 4))) static inline bool tap_ok_all_(bool cond, int line,
                                                                     const char *fmt, ...)
{
    int rank, mine = cond, all = 0;
    char text[256];
    va_list ap;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (rank == 0)
        tap_ok(all, "%s", text);
    if (!cond)
        fprintf(stderr, "# rank %d, line %d: %s\n", rank, line, text);
    return all;
}

static inline int tap_done_all(void)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Finalize();
    return rank == 0 ? tap_done() : 0;
}
#endif
