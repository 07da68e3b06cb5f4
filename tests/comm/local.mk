check_PROGRAMS += $(comm_tests) tests/comm/exit-modes
comm_tests = tests/comm/t-agree.n1 tests/comm/t-agree.n4 tests/comm/t-collect.n1 \
	tests/comm/t-collect.n3 tests/comm/t-end.n3
tests_comm_t_agree_n1_SOURCES = tests/comm/t-agree.c
tests_comm_t_agree_n1_LDADD = libtricolor.la
tests_comm_t_agree_n4_SOURCES = tests/comm/t-agree.c
tests_comm_t_agree_n4_LDADD = libtricolor.la
tests_comm_t_collect_n1_SOURCES = tests/comm/t-collect.c
tests_comm_t_collect_n1_LDADD = libtricolor.la
tests_comm_t_collect_n3_SOURCES = tests/comm/t-collect.c
tests_comm_t_collect_n3_LDADD = libtricolor.la
tests_comm_t_end_n3_SOURCES = tests/comm/t-end.c
tests_comm_t_end_n3_LDADD = libtricolor.la
tests_comm_exit_modes_SOURCES = tests/comm/exit-modes.c
tests_comm_exit_modes_LDADD = libtricolor.la
TESTS += $(comm_tests)
if !SIM_BUILD # it kills ranks and measures real time
TESTS += tests/comm/t-exit.sh
endif
EXTRA_DIST += tests/comm/t-exit.sh
