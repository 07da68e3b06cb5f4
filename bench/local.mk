noinst_PROGRAMS += bench/bench-allreduce
bench_bench_allreduce_SOURCES = bench/bench-allreduce.c
bench_bench_allreduce_CPPFLAGS = $(AM_CPPFLAGS) \
	-DTC_COMMIT='"'"`git -C $(top_srcdir) describe --always --dirty 2>/dev/null || echo unknown`"'"'
bench_bench_allreduce_LDADD = libtricolor.la
noinst_PROGRAMS += bench/bench-step
bench_bench_step_SOURCES = bench/bench-step.c
bench_bench_step_LDADD = libtricolor.la
