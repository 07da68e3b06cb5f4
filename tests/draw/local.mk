TESTS += tests/draw/t-draw.sh
EXTRA_DIST += tests/draw/t-draw.sh
