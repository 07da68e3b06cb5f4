check_PROGRAMS += tests/train/t-recipe.n1 tests/train/t-checkpoint.n1 tests/train/t-mllog.n1
tests_train_t_recipe_n1_SOURCES = tests/train/t-recipe.c
tests_train_t_recipe_n1_LDADD = libtricolor.la
tests_train_t_checkpoint_n1_SOURCES = tests/train/t-checkpoint.c
tests_train_t_checkpoint_n1_LDADD = libtricolor.la
tests_train_t_mllog_n1_SOURCES = tests/train/t-mllog.c
tests_train_t_mllog_n1_LDADD = libtricolor.la
TESTS += tests/train/t-recipe.n1 tests/train/t-checkpoint.n1 tests/train/t-mllog.n1
