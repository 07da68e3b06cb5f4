noinst_PROGRAMS += bench/bench-allreduce
bench_bench_allreduce_SOURCES = bench/bench-allreduce.c
bench_bench_allreduce_CPPFLAGS = $(AM_CPPFLAGS) \
	-DTC_COMMIT='"'"`git -C $(top_srcdir) describe --always --dirty 2>/dev/null || echo unknown`"'"'
bench_bench_allreduce_LDADD = libtricolor.la
noinst_PROGRAMS += bench/bench-input
bench_bench_input_SOURCES = bench/bench-input.c
bench_bench_input_CPPFLAGS = $(AM_CPPFLAGS) $(JPEG_CPPFLAGS) \
	-DTC_COMMIT='"'"`git -C $(top_srcdir) describe --always --dirty 2>/dev/null || echo unknown`"'"'
bench_bench_input_LDADD = libtricolor.la $(JPEG_LIBS)
EXTRA_DIST += bench/input bench/input-torch.py
noinst_PROGRAMS += bench/bench-step
bench_bench_step_SOURCES = bench/bench-step.c
bench_bench_step_CPPFLAGS = $(AM_CPPFLAGS) \
	-DTC_COMMIT='"'"`git -C $(top_srcdir) describe --always --dirty 2>/dev/null || echo unknown`"'"'
EXTRA_DIST += bench/step bench/step-torch.py
bench_bench_step_LDADD = libtricolor.la
noinst_PROGRAMS += bench/bench-store
bench_bench_store_SOURCES = bench/bench-store.c
bench_bench_store_CPPFLAGS = $(AM_CPPFLAGS) \
	-DTC_COMMIT='"'"`git -C $(top_srcdir) describe --always --dirty 2>/dev/null || echo unknown`"'"'
bench_bench_store_LDADD = libtricolor.la
noinst_PROGRAMS += bench/bench-sum
bench_bench_sum_SOURCES = bench/bench-sum.c
bench_bench_sum_LDADD = libtricolor.la

# bench/netns and what it needs.
EXTRA_DIST += bench/pack-many bench/netns bench/lib/namespaces.bash bench/lib/compare.bash \
	bench/lib/report.awk bench/lib/agent bench/lib/janitor \
	bench/lib/doze.c
noinst_DATA += bench/doze.so
CLEANFILES += bench/doze.so
bench/doze.so: $(top_srcdir)/bench/lib/doze.c
	$(AM_V_CCLD)$(MKDIR_P) bench && $(CC) -std=gnu11 -O2 -Wall -Wextra -shared -fPIC -o $@ \
	  $(top_srcdir)/bench/lib/doze.c

# make bench-mpich: bench-allreduce for MPICH, configured a second time, for bench/netns --mpich.
MPICC_MPICH = mpicc.mpich
BENCH_MPICH_CONFIGURE = $(abs_top_srcdir)/configure -q CC='$(MPICC_MPICH)' CFLAGS='$(CFLAGS)' MPIRUN= \
	MPIRUN_FLAGS= --disable-shared --without-onednn --without-cmocka
bench-mpich:
	@$(MKDIR_P) bench/mpich
	@test -f bench/mpich/config.status || \
	  { echo "  CONFIGURE bench/mpich"; cd bench/mpich && $(BENCH_MPICH_CONFIGURE) >configure.out 2>&1; } || \
	  { cat bench/mpich/configure.out >&2; exit 1; }
	cd bench/mpich && $(MAKE) $(AM_MAKEFLAGS) bench/bench-allreduce bench/doze.so

# bench/sim-allreduce; its program comes from `make bench-sim', see sim/local.mk.
EXTRA_DIST += bench/sim-allreduce bench/lib/sim-report.awk bench/lib/sim-plot.awk
