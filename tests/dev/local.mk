# Shared by the tests of every backend; what a backend must do stands in dev-check.h.
dev_check = tests/dev/dev-check.c tests/dev/dev-rules.c tests/dev/dev-graphs.c \
	tests/dev/dev-check.h tests/dev/alloc-count.c
check_PROGRAMS += tests/dev/t-contract.n1
tests_dev_t_contract_n1_SOURCES = tests/dev/t-contract.c $(dev_check)
tests_dev_t_contract_n1_LDADD = libtricolor.la
TESTS += tests/dev/t-contract.n1
check_PROGRAMS += tests/dev/t-ref.n1
tests_dev_t_ref_n1_SOURCES = tests/dev/t-ref.c $(dev_check)
tests_dev_t_ref_n1_LDADD = libtricolor.la
TESTS += tests/dev/t-ref.n1
check_PROGRAMS += tests/dev/t-ref-forward.n1
tests_dev_t_ref_forward_n1_SOURCES = tests/dev/t-ref-forward.c $(dev_check)
tests_dev_t_ref_forward_n1_LDADD = libtricolor.la
TESTS += tests/dev/t-ref-forward.n1
check_PROGRAMS += tests/dev/t-ref-slope.n1
tests_dev_t_ref_slope_n1_SOURCES = tests/dev/t-ref-slope.c $(dev_check)
tests_dev_t_ref_slope_n1_LDADD = libtricolor.la
TESTS += tests/dev/t-ref-slope.n1
long_programs += tests/dev/t-ref-slope-all.n1
tests_dev_t_ref_slope_all_n1_SOURCES = tests/dev/t-ref-slope.c $(dev_check)
tests_dev_t_ref_slope_all_n1_CPPFLAGS = $(AM_CPPFLAGS) -DELEMENTS=INT64_MAX
tests_dev_t_ref_slope_all_n1_LDADD = libtricolor.la
LONG_TESTS += tests/dev/t-ref-slope-all.n1

# oneDNN: its refusals, every fusion, whole networks.
if HAVE_DNNL
check_PROGRAMS += tests/dev/t-onednn.n1 tests/dev/t-onednn-layers.n1 tests/dev/t-onednn-run.n1
tests_dev_t_onednn_n1_SOURCES = tests/dev/t-onednn.c $(dev_check)
tests_dev_t_onednn_n1_LDADD = libtricolor.la
tests_dev_t_onednn_layers_n1_SOURCES = tests/dev/t-onednn-layers.c tests/dev/onednn-pair.c \
	tests/dev/onednn-pair.h
tests_dev_t_onednn_layers_n1_LDADD = libtricolor.la
tests_dev_t_onednn_run_n1_SOURCES = tests/dev/t-onednn-run.c tests/dev/onednn-pair.c \
	tests/dev/onednn-pair.h
tests_dev_t_onednn_run_n1_LDADD = libtricolor.la
check_PROGRAMS += tests/dev/t-onednn-kernels.n1
tests_dev_t_onednn_kernels_n1_SOURCES = tests/dev/t-onednn-kernels.c tests/dev/onednn-pair.c \
	tests/dev/onednn-pair.h
tests_dev_t_onednn_kernels_n1_LDADD = libtricolor.la
TESTS += tests/dev/t-onednn.n1 tests/dev/t-onednn-layers.n1 tests/dev/t-onednn-run.n1 \
	tests/dev/t-onednn-kernels.n1
endif
