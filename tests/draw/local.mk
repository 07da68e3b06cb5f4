TESTS += tests/draw/t-draw.sh
LONG_TESTS += tests/draw/t-hard.sh
EXTRA_DIST += tests/draw/t-draw.sh tests/draw/t-hard.sh
