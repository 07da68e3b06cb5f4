# TC_SMPI_PRELUDE: before AC_PROG_CC.  What smpicc builds only runs under smpirun, so configure's own
# test programs need SMPI_PRETEND_CC; its banner then spoils libtool's search for ld, so name ld.
AC_DEFUN([TC_SMPI_PRELUDE], [
  AS_CASE([$CC], [smpicc|*/smpicc], [SMPI_PRETEND_CC=1; export SMPI_PRETEND_CC; : ${LD=ld}])
])

# TC_WITH_MPI: require an MPI compiler in CC.
# Sets tc_mpi_flavour (openmpi, mpich, smpi, mpi), MPIRUN and MPIRUN_FLAGS.
AC_DEFUN([TC_WITH_MPI], [
  AC_ARG_VAR([MPIRUN], [launcher used by make check and the scripts])
  AC_ARG_VAR([MPIRUN_FLAGS], [its options, e.g. --allow-run-as-root --oversubscribe])
  AC_CHECK_HEADER([mpi.h], [], [AC_MSG_ERROR([mpi.h not found: install an MPI (Debian: libopenmpi-dev openmpi-bin) or configure with CC=mpicc])])
  AC_CHECK_FUNC([MPI_Comm_dup], [], [AC_MSG_ERROR([cannot link MPI: configure with CC=mpicc])])
  AC_CACHE_CHECK([which MPI $CC provides], [tc_cv_mpi_flavour], [
    tc_cv_mpi_flavour=mpi
    AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <mpi.h>
#ifndef OPEN_MPI
# error other
#endif]])], [tc_cv_mpi_flavour=openmpi])
    AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <mpi.h>
#ifndef MPICH_VERSION
# error other
#endif]])], [tc_cv_mpi_flavour=mpich])
    AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <mpi.h>
#ifndef SMPI_H
# error other
#endif]])], [tc_cv_mpi_flavour=smpi])])
  tc_mpi_flavour=$tc_cv_mpi_flavour
  AS_CASE([$tc_mpi_flavour],
    [smpi], [AC_PATH_PROG([MPIRUN], [smpirun], [none])],
    [openmpi], [AC_PATH_PROGS([MPIRUN], [mpirun.openmpi mpirun mpiexec], [none])
      : ${MPIRUN_FLAGS=--oversubscribe --bind-to none}
      AS_IF([test "`id -u`" = 0], [AS_CASE([$MPIRUN_FLAGS], [*--allow-run-as-root*], [],
        [MPIRUN_FLAGS="--allow-run-as-root $MPIRUN_FLAGS"])])],
    [mpich], [AC_PATH_PROGS([MPIRUN], [mpirun.mpich mpirun mpiexec], [none])],
    [AC_PATH_PROGS([MPIRUN], [mpirun mpiexec], [none])])
  AC_SUBST([TC_MPI_FLAVOUR], [$tc_mpi_flavour])
])

# TC_WITH_SIMGRID: is smpicc there, for make check-sim?
AC_DEFUN([TC_WITH_SIMGRID], [
  AC_ARG_WITH([simgrid], [AS_HELP_STRING([--with-simgrid], [simulated clusters, make check-sim @<:@default=check@:>@])],
    [], [with_simgrid=check])
  tc_simgrid=no; tc_simgrid_why="--without-simgrid"; SMPICC=
  AS_IF([test "x$tc_mpi_flavour" = xsmpi], [with_simgrid=no; tc_simgrid_why="this is the simulated build"])
  AS_IF([test "x$with_simgrid" != xno], [
    AC_PATH_PROG([SMPICC], [smpicc])
    AS_IF([test -n "$SMPICC"], [tc_simgrid=yes; tc_simgrid_why="$SMPICC"], [
      tc_simgrid_why="no smpicc; Debian: libsimgrid-dev"
      AS_IF([test "x$with_simgrid" != xcheck], [AC_MSG_ERROR([--with-simgrid given, but $tc_simgrid_why])])])])
  AC_SUBST([SMPICC])
  AM_CONDITIONAL([SIM_BUILD], [test "x$tc_mpi_flavour" = xsmpi])
])
