# A backend adds, here, its sources and -DTC_BACKEND_X, which puts it into dev.c's list.
noinst_LTLIBRARIES += libtc_dev.la
libtc_dev_la_SOURCES = src/dev/backend.h src/dev/dev.c src/dev/dev.h
libtc_dev_la_CPPFLAGS = $(AM_CPPFLAGS) $(DNNL_CPPFLAGS)
