check_PROGRAMS += tests/shard/t-shard.n1 tests/shard/t-dataset.n1
tests_shard_t_shard_n1_SOURCES = tests/shard/t-shard.c
tests_shard_t_shard_n1_LDADD = libtricolor.la
tests_shard_t_dataset_n1_SOURCES = tests/shard/t-dataset.c
tests_shard_t_dataset_n1_LDADD = libtricolor.la
TESTS += tests/shard/t-shard.n1 tests/shard/t-dataset.n1
