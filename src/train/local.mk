noinst_LTLIBRARIES += libtc_train.la
libtc_train_la_SOURCES = src/train/checkpoint.h src/train/mllog.h src/train/recipe.h src/train/train.h
