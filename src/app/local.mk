# Programs of the run time: main() and its command line, no logic.
bin_PROGRAMS += tricolor-train tricolor-report
tricolor_train_SOURCES = src/app/train.c
tricolor_train_LDADD = libtricolor.la
tricolor_report_SOURCES = src/app/report.c
tricolor_report_CPPFLAGS = $(AM_CPPFLAGS) -DPKGDATADIR='"$(pkgdatadir)"'
tricolor_report_LDADD = libtricolor.la
