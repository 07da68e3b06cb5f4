# make check-sim: configure a second time, with SimGrid's compiler, and run the tests of comm and
# allreduce on a simulated cluster.  The simulated build (SIM_BUILD) leaves out every other room: a
# simulated rank has no threads.
#
# Automake refuses to configure over a configured source tree, so the main build must stand apart.
SIM_CONFIGURE = $(abs_top_srcdir)/configure -q CC='$(SMPICC)' MPIRUN= MPIRUN_FLAGS= \
	--disable-shared --without-onednn --without-cmocka
configure-sim:
	@test -n '$(SMPICC)' || \
	  { echo "simulation: configure found no smpicc (Debian: libsimgrid-dev)" >&2; exit 1; }
	@test ! -f '$(abs_top_srcdir)/config.status' || \
	  { echo "simulation: configure in a folder of its own: mkdir build && cd build" >&2; exit 1; }
	@$(MKDIR_P) sim/build
	@test -f sim/build/config.status || \
	  { echo "  CONFIGURE sim/build"; cd sim/build && $(SIM_CONFIGURE) >configure.out 2>&1; } || \
	  { cat sim/build/configure.out >&2; exit 1; }
check-sim: configure-sim
	cd sim/build && $(MAKE) $(AM_MAKEFLAGS) check MPIRUN_FLAGS=
clean-local: clean-sim
clean-sim:
	rm -rf sim/build bench/mpich
.PHONY: check-sim configure-sim bench-sim clean-sim bench-mpich
EXTRA_DIST += sim/hosts sim/platform.xml

# make bench-sim: the program of bench/sim-allreduce, in the same simulated build.  It puts sums of its
# own, which charge the time they would take, in the place of the library's.
if SIM_BUILD
noinst_PROGRAMS += sim/sim-allreduce
sim_sim_allreduce_SOURCES = sim/allreduce.c
sim_sim_allreduce_LDFLAGS = -Wl,--wrap=tc_wire_get
sim_sim_allreduce_LDADD = libtricolor.la
endif
bench-sim: configure-sim
	cd sim/build && $(MAKE) $(AM_MAKEFLAGS) sim/sim-allreduce
