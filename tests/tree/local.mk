EXTRA_DIST += tests/tree/check-includes.sh tests/tree/t-includes.sh tests/tree/t-style.sh
TESTS += tests/tree/t-includes.sh tests/tree/t-style.sh
