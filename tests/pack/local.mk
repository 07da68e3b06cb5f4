check_PROGRAMS += tests/pack/tool
tests_pack_tool_SOURCES = tests/pack/tool.c
tests_pack_tool_LDADD = libtc_image.la libtc_base.la $(JPEG_LIBS) $(PNG_LIBS)
EXTRA_DIST += tests/pack/lib.sh tests/pack/t-pack.sh tests/pack/t-refuse.sh tests/pack/t-verify.sh
TESTS += tests/pack/t-pack.sh tests/pack/t-refuse.sh tests/pack/t-verify.sh
