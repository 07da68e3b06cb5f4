check_PROGRAMS += tests/image/t-decode.n1 tests/image/t-resize.n1
tests_image_t_decode_n1_SOURCES = tests/image/t-decode.c tests/image/pictures.h
tests_image_t_decode_n1_LDADD = libtricolor.la $(JPEG_LIBS)
tests_image_t_resize_n1_SOURCES = tests/image/t-resize.c tests/image/pictures.h
tests_image_t_resize_n1_LDADD = libtricolor.la
TESTS += tests/image/t-decode.n1 tests/image/t-resize.n1
