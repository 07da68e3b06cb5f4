# The same sources at several rank counts.
store_tests = tests/store/t-slots.n1 \
	tests/store/t-rounds.n1 \
	tests/store/t-shards.n1 \
	tests/store/t-files.n1 \
	tests/store/t-free-memory.n1 \
	tests/store/t-memory.n1 \
	tests/store/t-memory.n3 \
	tests/store/t-complete.n6 \
	tests/store/t-store.n1 \
	tests/store/t-store.n2 \
	tests/store/t-store.n3 \
	tests/store/t-store.n4 \
	tests/store/t-store.n6 \
	tests/store/t-store-errors.n1 \
	tests/store/t-store-errors.n3
check_PROGRAMS += $(store_tests)
TESTS += $(store_tests)
tests_store_t_store_n1_SOURCES = tests/store/t-store.c tests/store/records.h tests/store/set.h
tests_store_t_store_n1_LDADD = libtricolor.la
tests_store_t_store_n2_SOURCES = tests/store/t-store.c tests/store/records.h tests/store/set.h
tests_store_t_store_n2_LDADD = libtricolor.la
tests_store_t_store_n3_SOURCES = tests/store/t-store.c tests/store/records.h tests/store/set.h
tests_store_t_store_n3_LDADD = libtricolor.la
tests_store_t_store_n4_SOURCES = tests/store/t-store.c tests/store/records.h tests/store/set.h
tests_store_t_store_n4_LDADD = libtricolor.la
tests_store_t_store_n6_SOURCES = tests/store/t-store.c tests/store/records.h tests/store/set.h
tests_store_t_store_n6_LDADD = libtricolor.la
tests_store_t_store_errors_n1_SOURCES = tests/store/t-store-errors.c tests/store/records.h tests/store/set.h
tests_store_t_store_errors_n1_LDADD = libtricolor.la
tests_store_t_store_errors_n3_SOURCES = tests/store/t-store-errors.c tests/store/records.h tests/store/set.h
tests_store_t_store_errors_n3_LDADD = libtricolor.la
tests_store_t_free_memory_n1_SOURCES = tests/store/t-free-memory.c
tests_store_t_free_memory_n1_LDADD = libtricolor.la
tests_store_t_slots_n1_SOURCES = tests/store/t-slots.c
tests_store_t_slots_n1_LDADD = libtricolor.la
tests_store_t_memory_n1_SOURCES = tests/store/t-memory.c tests/store/set.h
tests_store_t_memory_n1_LDADD = libtricolor.la
tests_store_t_memory_n3_SOURCES = tests/store/t-memory.c tests/store/set.h
tests_store_t_memory_n3_LDADD = libtricolor.la
tests_store_t_complete_n6_SOURCES = tests/store/t-complete.c tests/store/records.h tests/store/set.h
tests_store_t_complete_n6_LDADD = libtricolor.la
tests_store_t_rounds_n1_SOURCES = tests/store/t-rounds.c
tests_store_t_rounds_n1_LDADD = libtricolor.la
tests_store_t_shards_n1_SOURCES = tests/store/t-shards.c tests/store/records.h tests/store/set.h
tests_store_t_shards_n1_LDADD = libtricolor.la
tests_store_t_files_n1_SOURCES = tests/store/t-files.c tests/store/records.h tests/store/set.h
tests_store_t_files_n1_LDADD = libtricolor.la
TESTS += tests/store/t-damage.sh
EXTRA_DIST += tests/store/t-damage.sh
