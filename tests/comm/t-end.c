/* Ranks that come to the end long after each other, as declared; a simulation takes no time for it.
 */
#include <config.h>

#include "base/clock.h"
#include "comm/comm_mpi.h"

#include "../tap-mpi.h"

#ifdef SMPI_H
#define SAVING 600.0 /* seconds, far beyond the deadline of an orderly exit */
#else
#define SAVING 0.5
#endif

int main(int argc, char **argv)
{
    tc_comm *comm = NULL;
    tc_status status = tc_comm_init(&argc, &argv, &comm);

    if (status != TC_OK)
        return tc_exit(comm, status);
    int rank = tc_comm_rank(comm), last = tc_comm_size(comm) - 1;
    double began = tc_now();
    tc_comm_phase(comm, "save", 0.6 * SAVING);
    tc_comm_phase(comm, "save more", 0.6 * SAVING);
    tap_ok_all(tc_now() - began < 0.5 * SAVING, "phases are declared at once");
    if (rank == 0)
        tap_done();
    if (rank == last)
        tc_sleep_us((int64_t)(SAVING * 1e6));
    tc_comm_phase(comm, "end", 0.0);
    return tc_exit(comm, TC_OK);
}
