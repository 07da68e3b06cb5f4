noinst_LTLIBRARIES += libtc_image.la
libtc_image_la_SOURCES = src/image/image.h src/image/cmyk.h src/image/decode.c src/image/encode.c \
	src/image/exif.c src/image/exif.h src/image/jpeg_error.c src/image/jpeg_error.h \
	src/image/jpeg_memory.c src/image/jpeg_memory.h src/image/jpeg_sink.c src/image/jpeg_sink.h src/image/kind.c src/image/kind.h \
	src/image/resize.c src/image/resize_kernel.c src/image/resize_kernel.h \
	src/image/resize_variant.h src/image/transcode.c src/image/whole.c src/image/whole.h \
	src/image/whole_impl.h src/image/whole_jpeg.c src/image/whole_png.c
libtc_image_la_CPPFLAGS = $(AM_CPPFLAGS) $(JPEG_CPPFLAGS) $(PNG_CPPFLAGS)
