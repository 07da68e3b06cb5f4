# Shared by the tests of every backend; what a backend must do stands in dev-check.h.
dev_check = tests/dev/dev-check.c tests/dev/dev-rules.c tests/dev/dev-graphs.c tests/dev/dev-check.h \
	tests/dev/alloc-count.c
check_PROGRAMS += tests/dev/t-ref.n1
tests_dev_t_ref_n1_SOURCES = tests/dev/t-ref.c $(dev_check)
tests_dev_t_ref_n1_LDADD = libtricolor.la
TESTS += tests/dev/t-ref.n1
