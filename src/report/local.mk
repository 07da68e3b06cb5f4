noinst_LTLIBRARIES += libtc_report.la
libtc_report_la_SOURCES = src/report/report.h
