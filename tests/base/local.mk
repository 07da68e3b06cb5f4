check_PROGRAMS += tests/base/t-rng.n1
tests_base_t_rng_n1_SOURCES = tests/base/t-rng.c
tests_base_t_rng_n1_LDADD = libtricolor.la
TESTS += tests/base/t-rng.n1

if HAVE_CMOCKA
check_PROGRAMS += tests/base/t-mem.n1
tests_base_t_mem_n1_SOURCES = tests/base/t-mem.c
tests_base_t_mem_n1_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CPPFLAGS)
tests_base_t_mem_n1_LDADD = libtricolor.la $(CMOCKA_LIBS)
TESTS += tests/base/t-mem.n1
else
TESTS += tests/base/t-no-cmocka.sh
endif
EXTRA_DIST += tests/base/t-no-cmocka.sh
