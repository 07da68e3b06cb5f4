noinst_LTLIBRARIES += libtc_timing.la
libtc_timing_la_SOURCES = src/timing/turns.c src/timing/known.c src/timing/goodput.c \
	src/timing/timing.h
