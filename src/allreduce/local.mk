noinst_LTLIBRARIES += libtc_allreduce.la
libtc_allreduce_la_SOURCES = src/allreduce/allreduce.h
