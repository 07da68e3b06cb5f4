check_PROGRAMS += tests/pack/tool
tests_pack_tool_SOURCES = tests/pack/tool.c
tests_pack_tool_LDADD = $(CRAFT_LIBS)
check_PROGRAMS += tests/pack/t-recode.n1
tests_pack_t_recode_n1_SOURCES = tests/pack/t-recode.c data-prep/recode.c data-prep/recode.h
tests_pack_t_recode_n1_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_pack_t_recode_n1_LDADD = $(CRAFT_LIBS)
TESTS += tests/pack/t-recode.n1
EXTRA_DIST += tests/pack/lib.sh tests/pack/imagenet.sh tests/pack/t-crafted.sh \
	tests/pack/t-ilsvrc.sh tests/pack/t-interrupt.sh tests/pack/t-large-long.sh tests/pack/t-nested.sh tests/pack/t-pack.sh tests/pack/t-refuse.sh tests/pack/t-verify.sh
LONG_TESTS += tests/pack/t-large-long.sh
TESTS += tests/pack/t-interrupt.sh tests/pack/t-ilsvrc.sh tests/pack/t-nested.sh tests/pack/t-pack.sh tests/pack/t-crafted.sh tests/pack/t-refuse.sh tests/pack/t-verify.sh
check_PROGRAMS += tests/pack/many
tests_pack_many_SOURCES = tests/pack/many.c
tests_pack_many_LDADD = libtc_image.la libtc_base.la $(JPEG_LIBS) $(PNG_LIBS)
if HAVE_MATIO
check_PROGRAMS += tests/pack/mat
tests_pack_mat_SOURCES = tests/pack/mat.c
tests_pack_mat_CPPFLAGS = $(AM_CPPFLAGS) $(MATIO_CPPFLAGS)
tests_pack_mat_LDADD = $(MATIO_LIBS)
endif
