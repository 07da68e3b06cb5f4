TESTS += tests/bench/t-netns.sh tests/bench/t-sim-allreduce.sh
EXTRA_DIST += tests/bench/t-netns.sh tests/bench/t-sim-allreduce.sh
