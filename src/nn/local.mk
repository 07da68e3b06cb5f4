noinst_LTLIBRARIES += libtc_nn.la
libtc_nn_la_SOURCES = src/nn/graph.h src/nn/model.h
