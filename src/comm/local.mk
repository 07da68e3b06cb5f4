noinst_LTLIBRARIES += libtc_comm.la
libtc_comm_la_SOURCES = src/comm/comm.h src/comm/comm_mpi.h
