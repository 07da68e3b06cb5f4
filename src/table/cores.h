#ifndef TC_TABLE_CORES_H
#define TC_TABLE_CORES_H
/**
 * @file cores.h
 * Choose the logical processors of a rank's devices.
 *
 * Used by: train, for tc_table_options.cores.
 */
#include "base/status.h"

/**
 * Choose devices * threads logical processors for this rank, as the operating system numbers them.
 *
 * Only processors that this process may use are taken. Where the launcher has bound this rank (its
 * set differs from its parent's), all of that set is this rank's; else the set is shared by the
 * ranks of the host and is cut into local_size parts at the boundaries of cores. Within its part
 * one processor a core is taken where there are enough cores, else hyper-threads too. Neighbouring
 * threads of a device get neighbouring processors.
 *
 * Collective: no.   Thread-safe: yes.   Blocks: no.
 *
 * @param local_rank  0 <= local_rank < local_size, among the ranks of this host.
 * @param devices     Of this rank, >= 1.
 * @param threads     Of a device, >= 1.
 * @param[out] cores  (devices*threads) receives the numbers, device by device.
 * @param[out] n_p    devices*threads, or 0: fewer processors than that are this rank's, so that
 *                    binding would pile threads up; leave them to the operating system.
 * @retval TC_INVAL      an argument out of range.
 * @retval TC_NOSUPPORT  hwloc cannot tell; *n_p is 0.
 */
tc_status tc_cores_choose(int local_rank, int local_size, int devices, int threads, int *cores,
                          int *n_p);

#endif
