noinst_LTLIBRARIES += libtc_comm.la
libtc_comm_la_SOURCES = src/comm/comm.c src/comm/exit.c src/comm/watch.c src/comm/comm.h \
	src/comm/comm_mpi.h src/comm/comm_impl.h src/comm/watch.h
