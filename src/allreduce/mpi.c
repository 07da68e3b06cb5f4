/* `mpi`: the paper's baseline, one MPI_Allreduce of the vector after backward. */
#include <config.h>

#include "allreduce/allreduce_impl.h"
#include "comm/comm_mpi.h"

#define PIECE (INT64_C(1) << 30) /* floats of one call, within MPI's int */

static tc_status mpi_sum(const tc_allreduce *ctx, int64_t count, const float *src, float *dst)
{
    MPI_Comm comm = tc_comm_mpi(ctx->comm);

    for (int64_t at = 0; at < count; at += PIECE) {
        int64_t left = count - at;
        TC_TRY_MPI(MPI_Allreduce(src == dst ? MPI_IN_PLACE : src + at, dst + at,
                                 (int)(left < PIECE ? left : PIECE), MPI_FLOAT, MPI_SUM, comm));
    }
    return TC_OK;
}

const tc_allreduce_algorithm tc_allreduce_mpi = { .name = "mpi", .sum = mpi_sum };
