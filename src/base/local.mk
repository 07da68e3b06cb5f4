noinst_LTLIBRARIES += libtc_base.la
libtc_base_la_SOURCES = src/base/status.c src/base/status.h src/base/log.c src/base/log.h src/base/mem.c src/base/mem.h src/base/clock.c src/base/clock.h src/base/rng.c src/base/rng.h \
	src/base/parse.c src/base/parse.h
