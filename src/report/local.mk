noinst_LTLIBRARIES += libtc_report.la
libtc_report_la_SOURCES = src/report/report.c src/report/report.h \
	src/report/ablation.c src/report/grid.c src/report/grid.h src/report/print.c \
	src/report/print.h src/report/published.c src/report/read.c src/report/run.c \
	src/report/run.h src/report/tsv.c src/report/tsv.h
