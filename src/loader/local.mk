noinst_LTLIBRARIES += libtc_loader.la
libtc_loader_la_SOURCES = src/loader/loader.h src/loader/loader.c src/loader/picture.c \
	src/loader/picture.h
