#! /bin/sh
# A rank that dies, stops or dozes while the others wait for its part of a sum.  The deadline is 3 s,
# the others have 2 s to give a sign.
. "$top_srcdir/tests/tap.sh"
limit=60
stall=$top_builddir/tests/allreduce/stall

# dies SECONDS ARGUMENT...: the job ends in time, not well, and the launcher names the rank.
dies() {
  within "$@" >"$work/last" 2>&1
  rc=$?
  cat "$work/last"
  test $rc -ne 0 && test $rc -ne 111 && test $rc -ne 124 && grep -q "rank 1 " "$work/last"
}

silent='timed out: .*nothing has moved for .* and rank 1 gives no sign'
ok "a rank that dozes for 2 s is waited for" within 20 mpi 3 "$stall" multicolor block doze
fails "a stopped rank is named, multicolor" 1 "$silent" within 20 mpi 3 "$stall" multicolor block stop
fails "a stopped rank is named, ring, by polling" 1 "$silent" within 20 mpi 3 "$stall" ring poll stop
fails "a stopped rank is named, in a barrier" 1 "$silent" within 20 mpi 3 "$stall" barrier - stop
ok "a killed rank ends the job" dies 20 mpi 3 "$stall" rabenseifner block kill
tap_done
