loader_tests = tests/loader/t-loader.n1 tests/loader/t-loader.n2 tests/loader/t-geometry.n1
loader_test_headers = tests/loader/pictures.h tests/image/pictures.h tests/store/set.h
check_PROGRAMS += $(loader_tests)
TESTS += $(loader_tests)
tests_loader_t_loader_n1_SOURCES = tests/loader/t-loader.c $(loader_test_headers)
tests_loader_t_loader_n1_LDADD = libtricolor.la
tests_loader_t_loader_n2_SOURCES = tests/loader/t-loader.c $(loader_test_headers)
tests_loader_t_loader_n2_LDADD = libtricolor.la
tests_loader_t_geometry_n1_SOURCES = tests/loader/t-geometry.c $(loader_test_headers)
tests_loader_t_geometry_n1_LDADD = libtricolor.la

check_PROGRAMS += tests/loader/t-crafted.n1
TESTS += tests/loader/t-crafted.n1
tests_loader_t_crafted_n1_SOURCES = tests/loader/t-crafted.c
tests_loader_t_crafted_n1_LDADD = tests/image/libcraft.la libtricolor.la $(JPEG_LIBS) $(PNG_LIBS)
