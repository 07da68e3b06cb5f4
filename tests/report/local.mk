TESTS += tests/report/t-report.sh
EXTRA_DIST += tests/report/t-report.sh tests/report/make-log.sh
