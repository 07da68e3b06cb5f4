check_PROGRAMS += tests/base/t-rng.n1 tests/base/t-mem.n1
tests_base_t_rng_n1_SOURCES = tests/base/t-rng.c
tests_base_t_rng_n1_LDADD = libtricolor.la
tests_base_t_mem_n1_SOURCES = tests/base/t-mem.c
tests_base_t_mem_n1_LDADD = libtricolor.la
TESTS += tests/base/t-rng.n1 tests/base/t-mem.n1
