# TAP programs; the rank count stands in the name (.nN); see tests/mpi-tap.in.
# Folders of tests include their own local.mk at the end.
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_COMPILER = $(builddir)/tests/mpi-tap
TEST_EXTENSIONS = .sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL)
AM_TESTS_ENVIRONMENT = top_srcdir='$(abs_top_srcdir)'; top_builddir='$(abs_top_builddir)'; \
	MPIRUN='$(MPIRUN)'; MPIRUN_FLAGS='$(MPIRUN_FLAGS)'; \
	export top_srcdir top_builddir MPIRUN MPIRUN_FLAGS;
EXTRA_DIST += tests/tap.h tests/tap-mpi.h tests/tap.sh

# Slow proofs: `make check-long`.  They are built and run there only.  (In lower case: a name that
# ends in _PROGRAMS is Automake's.)
LONG_TESTS =
EXTRA_PROGRAMS += $(long_programs)
long_programs =
CLEANFILES += $(long_programs)
check-long: $(check_PROGRAMS) $(long_programs)
	TC_TEST_TIMEOUT=3600 $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(LONG_TESTS)'
.PHONY: check-long fuzz

include tests/comm/local.mk
include tests/allreduce/local.mk
if !SIM_BUILD
include tests/base/local.mk
include tests/image/local.mk
include tests/shard/local.mk
include tests/pack/local.mk
include tests/fuzz/local.mk
include tests/store/local.mk
include tests/loader/local.mk
include tests/nn/local.mk
include tests/dev/local.mk
include tests/reference/local.mk
include tests/table/local.mk
include tests/train/local.mk
include tests/draw/local.mk
include tests/app/local.mk
include tests/report/local.mk
include tests/bench/local.mk
include tests/tree/local.mk
endif
