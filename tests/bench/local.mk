TESTS += tests/bench/t-netns.sh
EXTRA_DIST += tests/bench/t-netns.sh
