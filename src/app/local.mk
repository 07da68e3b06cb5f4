
bin_PROGRAMS += tricolor-report
tricolor_report_SOURCES = src/app/report.c
tricolor_report_CPPFLAGS = $(AM_CPPFLAGS) -DPKGDATADIR='"$(pkgdatadir)"'
tricolor_report_LDADD = libtricolor.la
