noinst_LTLIBRARIES += libtc_image.la
libtc_image_la_SOURCES = src/image/image.h src/image/decode.c src/image/encode.c \
	src/image/jpeg_error.c src/image/jpeg_error.h src/image/resize.c
libtc_image_la_CPPFLAGS = $(AM_CPPFLAGS) $(JPEG_CPPFLAGS)
