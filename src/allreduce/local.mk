noinst_LTLIBRARIES += libtc_allreduce.la
libtc_allreduce_la_SOURCES = src/allreduce/allreduce.c src/allreduce/allreduce.h \
	src/allreduce/allreduce_impl.h src/allreduce/auto.c src/allreduce/auto.h \
	src/allreduce/cache.c src/allreduce/cache.h src/allreduce/engine.c src/allreduce/engine.h \
	src/allreduce/flow.c src/allreduce/halving.c src/allreduce/mpi.c \
	src/allreduce/multicolor.c src/allreduce/places.c \
	src/allreduce/places.h src/allreduce/plan.c src/allreduce/print.c src/allreduce/tree.c \
	src/allreduce/plan.h src/allreduce/ring.c src/allreduce/sum.c src/allreduce/sum.h \
	src/allreduce/sum_variant.h src/allreduce/wire.c \
	src/allreduce/spec.c src/allreduce/spec.h
