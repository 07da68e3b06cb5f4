noinst_LTLIBRARIES += libtc_image.la
libtc_image_la_SOURCES = src/image/image.h
