noinst_LTLIBRARIES += libtc_shard.la
libtc_shard_la_SOURCES = src/shard/dataset.h src/shard/shard.h
