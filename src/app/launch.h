#ifndef TC_APP_LAUNCH_H
#define TC_APP_LAUNCH_H
/* What the programs under a launcher share: one rank speaks about the command line.  For the files
 * of this folder alone. */
#include "base/status.h"
#include <argp.h>

/* Read the command line without MPI, then `check` it.  Rank 0 of the launcher speaks for all.
 * Returns 0, or main()'s status plus 1. */
int tc_app_read(const struct argp *argp, int argc, char **argv, void *arguments, const char *name,
                tc_status (*check)(void *arguments));

#endif
