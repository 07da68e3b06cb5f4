check_PROGRAMS += tests/nn/t-graph.n1 tests/nn/t-model.n1
tests_nn_t_graph_n1_SOURCES = tests/nn/t-graph.c
tests_nn_t_graph_n1_LDADD = libtricolor.la
tests_nn_t_model_n1_SOURCES = tests/nn/t-model.c
tests_nn_t_model_n1_LDADD = libtricolor.la
TESTS += tests/nn/t-graph.n1 tests/nn/t-model.n1
