# One program, built under one name for each rank count; the long one takes all combinations.
allreduce_tests = tests/allreduce/t-allreduce.n1 tests/allreduce/t-allreduce.n2 \
	tests/allreduce/t-allreduce.n3 tests/allreduce/t-allreduce.n4 tests/allreduce/t-allreduce.n5 \
	tests/allreduce/t-allreduce.n6 tests/allreduce/t-allreduce.n7 tests/allreduce/t-allreduce.n8 \
	tests/allreduce/t-allreduce.n9
allreduce_long_tests = tests/allreduce/t-allreduce-long.n1 tests/allreduce/t-allreduce-long.n2 \
	tests/allreduce/t-allreduce-long.n3 tests/allreduce/t-allreduce-long.n4 \
	tests/allreduce/t-allreduce-long.n5 tests/allreduce/t-allreduce-long.n6 \
	tests/allreduce/t-allreduce-long.n7 tests/allreduce/t-allreduce-long.n8 \
	tests/allreduce/t-allreduce-long.n9
check_PROGRAMS += $(allreduce_tests)
TESTS += $(allreduce_tests)
long_programs += $(allreduce_long_tests)
LONG_TESTS += $(allreduce_long_tests)
tests_allreduce_t_allreduce_n1_SOURCES = tests/allreduce/t-allreduce.c
tests_allreduce_t_allreduce_n1_LDADD = libtricolor.la
tests_allreduce_t_allreduce_n2_SOURCES = tests/allreduce/t-allreduce.c
tests_allreduce_t_allreduce_n2_LDADD = libtricolor.la
tests_allreduce_t_allreduce_n3_SOURCES = tests/allreduce/t-allreduce.c
tests_allreduce_t_allreduce_n3_LDADD = libtricolor.la
tests_allreduce_t_allreduce_n4_SOURCES = tests/allreduce/t-allreduce.c
tests_allreduce_t_allreduce_n4_LDADD = libtricolor.la
tests_allreduce_t_allreduce_n5_SOURCES = tests/allreduce/t-allreduce.c
tests_allreduce_t_allreduce_n5_LDADD = libtricolor.la
tests_allreduce_t_allreduce_n6_SOURCES = tests/allreduce/t-allreduce.c
tests_allreduce_t_allreduce_n6_LDADD = libtricolor.la
tests_allreduce_t_allreduce_n7_SOURCES = tests/allreduce/t-allreduce.c
tests_allreduce_t_allreduce_n7_LDADD = libtricolor.la
tests_allreduce_t_allreduce_n8_SOURCES = tests/allreduce/t-allreduce.c
tests_allreduce_t_allreduce_n8_LDADD = libtricolor.la
tests_allreduce_t_allreduce_n9_SOURCES = tests/allreduce/t-allreduce.c
tests_allreduce_t_allreduce_n9_LDADD = libtricolor.la
tests_allreduce_t_allreduce_long_n1_SOURCES = tests/allreduce/t-allreduce.c
tests_allreduce_t_allreduce_long_n1_CPPFLAGS = $(AM_CPPFLAGS) -DLONG=1
tests_allreduce_t_allreduce_long_n1_LDADD = libtricolor.la
tests_allreduce_t_allreduce_long_n2_SOURCES = tests/allreduce/t-allreduce.c
tests_allreduce_t_allreduce_long_n2_CPPFLAGS = $(AM_CPPFLAGS) -DLONG=1
tests_allreduce_t_allreduce_long_n2_LDADD = libtricolor.la
tests_allreduce_t_allreduce_long_n3_SOURCES = tests/allreduce/t-allreduce.c
tests_allreduce_t_allreduce_long_n3_CPPFLAGS = $(AM_CPPFLAGS) -DLONG=1
tests_allreduce_t_allreduce_long_n3_LDADD = libtricolor.la
tests_allreduce_t_allreduce_long_n4_SOURCES = tests/allreduce/t-allreduce.c
tests_allreduce_t_allreduce_long_n4_CPPFLAGS = $(AM_CPPFLAGS) -DLONG=1
tests_allreduce_t_allreduce_long_n4_LDADD = libtricolor.la
tests_allreduce_t_allreduce_long_n5_SOURCES = tests/allreduce/t-allreduce.c
tests_allreduce_t_allreduce_long_n5_CPPFLAGS = $(AM_CPPFLAGS) -DLONG=1
tests_allreduce_t_allreduce_long_n5_LDADD = libtricolor.la
tests_allreduce_t_allreduce_long_n6_SOURCES = tests/allreduce/t-allreduce.c
tests_allreduce_t_allreduce_long_n6_CPPFLAGS = $(AM_CPPFLAGS) -DLONG=1
tests_allreduce_t_allreduce_long_n6_LDADD = libtricolor.la
tests_allreduce_t_allreduce_long_n7_SOURCES = tests/allreduce/t-allreduce.c
tests_allreduce_t_allreduce_long_n7_CPPFLAGS = $(AM_CPPFLAGS) -DLONG=1
tests_allreduce_t_allreduce_long_n7_LDADD = libtricolor.la
tests_allreduce_t_allreduce_long_n8_SOURCES = tests/allreduce/t-allreduce.c
tests_allreduce_t_allreduce_long_n8_CPPFLAGS = $(AM_CPPFLAGS) -DLONG=1
tests_allreduce_t_allreduce_long_n8_LDADD = libtricolor.la
tests_allreduce_t_allreduce_long_n9_SOURCES = tests/allreduce/t-allreduce.c
tests_allreduce_t_allreduce_long_n9_CPPFLAGS = $(AM_CPPFLAGS) -DLONG=1
tests_allreduce_t_allreduce_long_n9_LDADD = libtricolor.la

check_PROGRAMS += tests/allreduce/t-sum.n1
TESTS += tests/allreduce/t-sum.n1
tests_allreduce_t_sum_n1_SOURCES = tests/allreduce/t-sum.c
tests_allreduce_t_sum_n1_LDADD = libtricolor.la

check_PROGRAMS += tests/allreduce/stall
tests_allreduce_stall_SOURCES = tests/allreduce/stall.c
tests_allreduce_stall_LDADD = libtricolor.la
if !SIM_BUILD # it stops ranks and measures real time
TESTS += tests/allreduce/t-stall.sh
endif
EXTRA_DIST += tests/allreduce/t-stall.sh

check_PROGRAMS += tests/allreduce/t-places.n1
TESTS += tests/allreduce/t-places.n1
tests_allreduce_t_places_n1_SOURCES = tests/allreduce/t-places.c
tests_allreduce_t_places_n1_LDADD = libtricolor.la

check_PROGRAMS += tests/allreduce/t-auto.n1 tests/allreduce/t-auto.n2 tests/allreduce/t-auto.n3
tests_allreduce_t_auto_n1_SOURCES = tests/allreduce/t-auto.c
tests_allreduce_t_auto_n1_LDADD = libtricolor.la
tests_allreduce_t_auto_n2_SOURCES = tests/allreduce/t-auto.c
tests_allreduce_t_auto_n2_LDADD = libtricolor.la
tests_allreduce_t_auto_n3_SOURCES = tests/allreduce/t-auto.c
tests_allreduce_t_auto_n3_LDADD = libtricolor.la
if !SIM_BUILD # it measures real time
TESTS += tests/allreduce/t-auto.n1 tests/allreduce/t-auto.n2 tests/allreduce/t-auto.n3
endif
