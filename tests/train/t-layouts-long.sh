#! /bin/sh
# 50 steps: rounding has grown, but the runs stay together.
steps=50 tolerance=1e-2 limit=1200
export steps tolerance
. "$top_srcdir/tests/train/t-layouts.sh"
