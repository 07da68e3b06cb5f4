#ifndef TC_COMM_COMM_MPI_H
#define TC_COMM_COMM_MPI_H
/**
 * @file comm_mpi.h
 * The MPI inside a communicator, for the rooms that send.  Used by: comm, allreduce, store, sim,
 * bench, tests.
 */
#include "comm/comm.h"
#include <mpi.h>

/** One MPI_Request in a type that headers without <mpi.h> can name. */
struct tc_request {
    MPI_Request mpi;
};

/** The duplicated communicator; owned by comm.  Use tags below 2^14. */
MPI_Comm tc_comm_mpi(const tc_comm *comm);

/** Turn an MPI return code into TC_MPI with MPI's text and the call's. */
tc_status tc_mpi_fail(int rc, const char *call);

#define TC_TRY_MPI(call)                     \
    do {                                     \
        int rc_ = (call);                    \
        if (rc_ != MPI_SUCCESS)              \
            return tc_mpi_fail(rc_, #call);  \
    } while (0)

#endif
