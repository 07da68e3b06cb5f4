app_tests = tests/app/t-timing.n1 tests/app/t-timing.n3
check_PROGRAMS += $(app_tests)
TESTS += $(app_tests) tests/app/t-allreduce.sh
EXTRA_DIST += tests/app/t-allreduce.sh
tests_app_t_timing_n1_SOURCES = tests/app/t-timing.c
tests_app_t_timing_n1_LDADD = libtricolor.la
tests_app_t_timing_n3_SOURCES = tests/app/t-timing.c
tests_app_t_timing_n3_LDADD = libtricolor.la
