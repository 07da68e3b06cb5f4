noinst_LTLIBRARIES += libtc_store.la
libtc_store_la_SOURCES = src/store/store.h
