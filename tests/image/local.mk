# Crafted pictures, for the tests here, those of the packer and the fuzzers.
check_LTLIBRARIES = tests/image/libcraft.la
tests_image_libcraft_la_SOURCES = tests/image/craft.c tests/image/craft.h tests/image/craft_jpeg.c \
	tests/image/craft_jpeg.h tests/image/craft_png.c
tests_image_libcraft_la_CPPFLAGS = $(AM_CPPFLAGS) $(JPEG_CPPFLAGS) $(PNG_CPPFLAGS)
CRAFT_LIBS = tests/image/libcraft.la libtc_image.la libtc_base.la $(JPEG_LIBS) $(PNG_LIBS)

check_PROGRAMS += tests/image/t-decode.n1 tests/image/t-resize.n1 tests/image/t-memory.n1
tests_image_t_decode_n1_SOURCES = tests/image/t-decode.c tests/image/pictures.h
tests_image_t_decode_n1_LDADD = libtricolor.la $(JPEG_LIBS)
tests_image_t_resize_n1_SOURCES = tests/image/t-resize.c tests/image/pictures.h
tests_image_t_resize_n1_LDADD = libtricolor.la
tests_image_t_memory_n1_SOURCES = tests/image/t-memory.c tests/image/pictures.h
tests_image_t_memory_n1_LDADD = libtricolor.la
TESTS += tests/image/t-decode.n1 tests/image/t-resize.n1 tests/image/t-memory.n1

# Held against Pillow by hand; doc/PICTURES and doc/PERFORMANCE have the results.
EXTRA_DIST += tests/reference/pictures.py tests/reference/resize.py
check_PROGRAMS += tests/reference/augmented
tests_reference_augmented_SOURCES = tests/reference/augmented.c
tests_reference_augmented_LDADD = libtricolor.la
