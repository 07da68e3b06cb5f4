#ifndef TC_COMM_COMM_IMPL_H
#define TC_COMM_COMM_IMPL_H
/* What a communicator is made of; for the files of this folder alone. */
#include "comm/comm_mpi.h"

struct tc_comm {
    MPI_Comm mpi;
    MPI_Comm exit;  /* the world only: nothing but tc_exit() ever waits in it */
    tc_comm *world; /* itself, for the world */
    int rank, size;
    int local_rank, local_size, host_count, node;
    char host[MPI_MAX_PROCESSOR_NAME + 1];
    double *gathered; /* (size, piece): one piece of tc_comm_sum() from every rank */
    int64_t piece;
    /* Of the world only; see exit.c. */
    const char *phase;
    double phase_seconds; /* what the phase may take without progress */
    double allowed_until; /* when the slowest rank may still be in a declared phase */
    double deadline;      /* seconds without progress; 0: the default; see watch.c */
    bool gave_sign;       /* once another rank, or this one, has asked for it */
};

/** All ranks are known to have come here: what a phase may take counts from now. */
void tc_comm_progressed(tc_comm *comm);

#endif
