noinst_LTLIBRARIES += libtc_table.la
libtc_table_la_SOURCES = src/table/table.h
