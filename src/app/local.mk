# Programs of the run time: main() and its command line, no logic.
bin_PROGRAMS += tricolor-train tricolor-report tricolor-allreduce
tricolor_train_SOURCES = src/app/train.c src/app/launch.c src/app/launch.h
tricolor_train_LDADD = libtricolor.la
tricolor_report_SOURCES = src/app/report.c
tricolor_report_CPPFLAGS = $(AM_CPPFLAGS) -DPKGDATADIR='"$(pkgdatadir)"'
tricolor_report_LDADD = libtricolor.la
tricolor_allreduce_SOURCES = src/app/allreduce.c src/app/allreduce_list.c src/app/allreduce_bench.c \
	src/app/allreduce_peer.c src/app/allreduce_print.c src/app/allreduce.h src/app/launch.c \
	src/app/launch.h
tricolor_allreduce_CPPFLAGS = $(AM_CPPFLAGS) \
	-DTC_COMMIT='"'"`git -C $(top_srcdir) describe --always --dirty 2>/dev/null || echo unknown`"'"'
tricolor_allreduce_LDADD = libtricolor.la
