noinst_LTLIBRARIES += libtc_shard.la
libtc_shard_la_SOURCES = src/shard/dataset.h src/shard/shard.h \
	src/shard/layout.h src/shard/durable.h src/shard/durable.c \
	src/shard/writer.c src/shard/leftover.c src/shard/reader.c src/shard/dataset.c src/shard/dataset_json.c
