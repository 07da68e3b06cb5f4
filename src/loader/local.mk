noinst_LTLIBRARIES += libtc_loader.la
libtc_loader_la_SOURCES = src/loader/loader.h
