/*
 * Open MPI's allreduce algorithms, one by one.  A communicator takes over the choice that stands
 * in MPI_T's variables when it is made, provided that dynamic rules were on when MPI started.
 */
#include <config.h>

#include "app/allreduce.h"
#include "comm/comm_mpi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

tc_status tc_peer_prepare(void)
{
    if (setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 1) != 0)
        return tc_fail(TC_NOMEM, "the environment cannot be changed: %s", strerror(errno));
    return TC_OK;
}

static tc_status set_variable(const char *name, int value)
{
    MPI_T_cvar_handle handle;
    int index = 0, count = 0, provided = 0;

    TC_TRY_MPI(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS || count != 1) {
        MPI_T_finalize();
        return tc_fail(TC_NOSUPPORT,
                       "this MPI has no %s: mpi:algorithm=N works with Open MPI alone", name);
    }
    int rc = MPI_T_cvar_write(handle, &value);
    MPI_T_cvar_handle_free(&handle);
    MPI_T_finalize();
    if (rc != MPI_SUCCESS)
        return tc_fail(TC_INVAL, "mpi:algorithm=%d: this Open MPI knows no such allreduce", value);
    return TC_OK;
}

tc_status tc_peer_comm(tc_comm *world, int algorithm, tc_comm **comm_p)
{
    static const char name[] = "coll_tuned_allreduce_algorithm";
    tc_status status = tc_comm_agree(world, set_variable(name, algorithm));

    if (status != TC_OK)
        return status;
    status = tc_comm_split(world, 0, comm_p);
    tc_status reset = set_variable(name, 0);
    return status != TC_OK ? status : reset;
}
