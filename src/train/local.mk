noinst_LTLIBRARIES += libtc_train.la
libtc_train_la_SOURCES = src/train/checkpoint.c src/train/checkpoint.h src/train/config.c \
	src/train/cores.c src/train/dump.c src/train/evaluate.c src/train/events.c src/train/loop.c \
	src/train/mllog.c src/train/mllog.h src/train/options.c src/train/recipe.c src/train/recipe.h \
	src/train/run.c src/train/run.h src/train/safetensors.c src/train/safetensors.h \
	src/train/setup.c src/train/sums.c src/train/state.c src/train/train.h
