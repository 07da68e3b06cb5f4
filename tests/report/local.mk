TESTS += tests/report/t-report.sh tests/report/t-ablation.sh tests/report/t-precision.sh
EXTRA_DIST += tests/report/t-report.sh tests/report/t-ablation.sh tests/report/t-precision.sh tests/report/make-log.sh
