noinst_LTLIBRARIES += libtc_table.la
libtc_table_la_SOURCES = src/table/table.h src/table/table_impl.h src/table/table.c \
	src/table/worker.c src/table/optimized.c src/table/baseline.c src/table/evaluate.c src/table/parts.c \
	src/table/cores.h src/table/cores.c
