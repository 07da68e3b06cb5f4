# The fakes define the loader's two functions that the table calls; the archive's are then not taken.
check_PROGRAMS += $(table_tests) tests/table/fatal
table_tests = tests/table/t-devices.n1 tests/table/t-alloc.n1 tests/table/t-cores.n1 \
	tests/table/t-ranks.n2 tests/table/t-ranks.n3 \
	tests/table/t-backends.n1 tests/table/t-backends.n2 tests/table/t-backends.n3
table_rig = tests/table/rig.h tests/table/rig.c tests/table/fakes.h tests/table/fakes.c
tests_table_t_devices_n1_SOURCES = tests/table/t-devices.c $(table_rig)
tests_table_t_devices_n1_LDADD = libtricolor.la
tests_table_t_alloc_n1_SOURCES = tests/table/t-alloc.c $(table_rig)
tests_table_t_alloc_n1_LDADD = libtricolor.la
tests_table_t_cores_n1_SOURCES = tests/table/t-cores.c
tests_table_t_cores_n1_LDADD = libtricolor.la $(HWLOC_LIBS)
tests_table_t_ranks_n2_SOURCES = tests/table/t-ranks.c $(table_rig)
tests_table_t_ranks_n2_LDADD = libtricolor.la
tests_table_t_ranks_n3_SOURCES = tests/table/t-ranks.c $(table_rig)
tests_table_t_ranks_n3_LDADD = libtricolor.la
tests_table_t_backends_n1_SOURCES = tests/table/t-backends.c $(table_rig)
tests_table_t_backends_n1_LDADD = libtricolor.la
tests_table_t_backends_n2_SOURCES = tests/table/t-backends.c $(table_rig)
tests_table_t_backends_n2_LDADD = libtricolor.la
tests_table_t_backends_n3_SOURCES = tests/table/t-backends.c $(table_rig)
tests_table_t_backends_n3_LDADD = libtricolor.la
tests_table_fatal_SOURCES = tests/table/fatal.c $(table_rig)
tests_table_fatal_LDADD = libtricolor.la
TESTS += $(table_tests) tests/table/t-fatal.sh
EXTRA_DIST += tests/table/t-fatal.sh
