noinst_LTLIBRARIES += libtc_train.la
libtc_train_la_SOURCES = src/train/checkpoint.c src/train/checkpoint.h src/train/mllog.c \
	src/train/mllog.h src/train/recipe.c src/train/recipe.h src/train/safetensors.c \
	src/train/safetensors.h src/train/train.h
