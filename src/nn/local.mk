noinst_LTLIBRARIES += libtc_nn.la
libtc_nn_la_SOURCES = src/nn/graph.c src/nn/graph.h src/nn/tables.c src/nn/model.c src/nn/model.h \
	src/nn/googlenetbn.c src/nn/googlenetbn.h
