noinst_LTLIBRARIES += libtc_store.la
libtc_store_la_SOURCES = src/store/store.h src/store/store.c src/store/store_impl.h \
	src/store/exchange.c src/store/exchange.h src/store/files.c src/store/free_memory.c \
	src/store/handles.c src/store/handles.h src/store/load.c src/store/memory.c src/store/need.c \
	src/store/order.h src/store/rounds.h src/store/shards.c src/store/slots.c src/store/slots.h \
	src/store/windows.c src/store/windows.h
