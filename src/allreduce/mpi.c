/* `mpi`: the paper's baseline, one MPI_Allreduce of the vector after backward. */
#include <config.h>

#include "allreduce/allreduce_impl.h"
#include "comm/comm_mpi.h"

#include <stdio.h>

#define PIECE (INT64_C(1) << 30) /* floats of one call, within MPI's int */

static tc_status mpi_create(tc_allreduce *ctx)
{
    snprintf(ctx->choices, sizeof ctx->choices, "mpi");
    return TC_OK;
}

static void mpi_destroy(tc_allreduce *ctx)
{
    (void)ctx; /* it took nothing */
}

static tc_status mpi_start(tc_allreduce *ctx, int b, const float *src, float *dst)
{
    MPI_Comm comm = tc_comm_mpi(ctx->comm);

    for (int64_t at = 0; at < ctx->count[b]; at += PIECE) {
        int64_t left = ctx->count[b] - at;
        TC_TRY_MPI(MPI_Allreduce(src == dst ? MPI_IN_PLACE : src + at, dst + at,
                                 (int)(left < PIECE ? left : PIECE), MPI_FLOAT, MPI_SUM, comm));
    }
    tc_allreduce_finish(ctx, b);
    return TC_OK;
}

/* No bucket is ever in flight here: only extra can complete. */
static tc_status mpi_progress(tc_allreduce *ctx, tc_progress_mode mode, tc_request *extra,
                              bool *extra_done_p, bool *moved_p)
{
    int done = 0;

    (void)ctx;
    if (extra == NULL || extra->mpi == MPI_REQUEST_NULL)
        return TC_OK;
    if (mode == TC_POLL) {
        TC_TRY_MPI(MPI_Test(&extra->mpi, &done, MPI_STATUS_IGNORE));
    } else {
        TC_TRY_MPI(MPI_Wait(&extra->mpi, MPI_STATUS_IGNORE));
        done = 1;
    }
    *extra_done_p = *moved_p = done;
    return TC_OK;
}

const tc_allreduce_algorithm tc_allreduce_mpi = {
    .name = "mpi",
    .overlaps = false,
    .create = mpi_create,
    .destroy = mpi_destroy,
    .start = mpi_start,
    .progress = mpi_progress,
};
