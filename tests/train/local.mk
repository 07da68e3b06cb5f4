check_PROGRAMS += tests/train/t-recipe.n1 tests/train/t-checkpoint.n1 tests/train/t-mllog.n1 \
	tests/train/t-batches.n3 tests/train/t-batches.n4
tests_train_t_recipe_n1_SOURCES = tests/train/t-recipe.c
tests_train_t_recipe_n1_LDADD = libtricolor.la
tests_train_t_checkpoint_n1_SOURCES = tests/train/t-checkpoint.c
tests_train_t_checkpoint_n1_LDADD = libtricolor.la
tests_train_t_mllog_n1_SOURCES = tests/train/t-mllog.c
tests_train_t_mllog_n1_LDADD = libtricolor.la
tests_train_t_batches_n3_SOURCES = tests/train/t-batches.c
tests_train_t_batches_n3_LDADD = libtricolor.la
tests_train_t_batches_n4_SOURCES = tests/train/t-batches.c
tests_train_t_batches_n4_LDADD = libtricolor.la
TESTS += tests/train/t-recipe.n1 tests/train/t-checkpoint.n1 tests/train/t-mllog.n1 \
	tests/train/t-batches.n3 tests/train/t-batches.n4

# Whole runs of tricolor-train on small sets.
check_PROGRAMS += tests/train/make-set tests/train/compare tests/train/weights
tests_train_make_set_SOURCES = tests/train/make-set.c
tests_train_make_set_LDADD = libtricolor.la
tests_train_compare_SOURCES = tests/train/compare.c
tests_train_weights_SOURCES = tests/train/weights.c
tests_train_weights_LDADD = $(JANSSON_LIBS)
train_scripts = tests/train/t-layouts.sh tests/train/t-repeat.sh tests/train/t-evaluate.sh \
	tests/train/t-restart.sh tests/train/t-auto.sh tests/train/t-errors.sh tests/train/t-parts.sh
TESTS += $(train_scripts)
LONG_TESTS += tests/train/t-layouts-long.sh
EXTRA_DIST += tests/reference/interchange.py tests/reference/cifar.py tests/train/lib.sh $(train_scripts) tests/train/t-layouts-long.sh

# Real pictures, where the workplace has them.
TESTS += tests/train/t-real.sh
LONG_TESTS += tests/train/t-real-long.sh tests/train/t-mini-long.sh
EXTRA_DIST += tests/train/t-real.sh tests/train/t-real-long.sh tests/train/t-mini-long.sh
