# Fuzz targets.  In make check each runs over its first inputs and its corpus; `make fuzz` builds
# them with clang's libFuzzer, for a search: see README here.
check_PROGRAMS += tests/fuzz/t-picture.n1 tests/fuzz/t-shard.n1
tests_fuzz_t_picture_n1_SOURCES = tests/fuzz/fuzz-picture.c tests/fuzz/replay.c tests/fuzz/fuzz.h \
	data-prep/recode.c data-prep/recode.h
tests_fuzz_t_picture_n1_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_fuzz_t_picture_n1_LDADD = $(CRAFT_LIBS)
tests_fuzz_t_shard_n1_SOURCES = tests/fuzz/fuzz-shard.c tests/fuzz/replay.c tests/fuzz/fuzz.h
tests_fuzz_t_shard_n1_LDADD = libtc_shard.la libtc_base.la $(JANSSON_LIBS) $(XXHASH_LIBS)
TESTS += tests/fuzz/t-picture.n1 tests/fuzz/t-shard.n1
EXTRA_DIST += tests/fuzz/README tests/fuzz/uncounted tests/fuzz/corpus

FUZZ_CC = clang
FUZZ_CFLAGS = -std=gnu11 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined
FUZZED = $(libtc_base_la_SOURCES) $(libtc_image_la_SOURCES) $(libtc_shard_la_SOURCES) \
	$(tests_image_libcraft_la_SOURCES) data-prep/recode.c
FUZZ_LIBS = $(JPEG_LIBS) $(PNG_LIBS) $(JANSSON_LIBS) $(XXHASH_LIBS) -lm -lpthread
fuzz_programs = tests/fuzz/fuzz-picture tests/fuzz/fuzz-shard
fuzz:
	@echo 'int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n);' \
	  'int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n) { return !p && n; }' \
	  >fuzz-works.c; \
	$(FUZZ_CC) $(FUZZ_CFLAGS) -fsanitize=fuzzer fuzz-works.c -o fuzz-works >fuzz-works.log 2>&1; rc=$$?; \
	rm -f fuzz-works.c fuzz-works; \
	test $$rc -eq 0 || { cat fuzz-works.log; \
	  echo "$(FUZZ_CC) has no fuzzer: install clang and libclang-rt-VERSION-dev"; exit 1; }
	@$(MKDIR_P) tests/fuzz; set x; \
	for f in $(FUZZED); do \
	  case $$f in *.c) set "$$@" "$(top_srcdir)/$$f" ;; esac; \
	done; shift; \
	for p in $(fuzz_programs); do \
	  echo "  FUZZ     $$p"; \
	  $(FUZZ_CC) $(FUZZ_CFLAGS) -fsanitize=fuzzer \
	    -fsanitize-coverage-ignorelist=$(top_srcdir)/tests/fuzz/uncounted $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) \
	    -I$(top_srcdir) $(JPEG_CPPFLAGS) $(PNG_CPPFLAGS) $(CPPFLAGS) "$$@" \
	    "$(top_srcdir)/$$p.c" -o $$p $(FUZZ_LIBS) || exit 1; \
	done
CLEANFILES += $(fuzz_programs) fuzz-works.log
