#! /bin/sh
# How a job ends: the status, the words, and the time it takes.
. "$top_srcdir/tests/tap.sh"
limit=60
modes=$top_builddir/tests/comm/exit-modes

# says COUNT TEXT: the last command's output has exactly this many lines with the text.
says() {
  test "`grep -c -e "$2" "$work/last"`" -eq "$1" || { cat "$work/last"; return 1; }
}

slack=10
ok "all ranks end well" within 8 mpi 3 "$modes" good
slack=$took
ok "a requested stop is a good end" within 8 mpi 3 "$modes" stopped
fails "an agreed failure ends with status 1 and its cause" 1 "shard 1 is gone" \
  within 8 mpi 3 "$modes" agreed
cp "$work/out" "$work/last"
ok "rank 1 says it itself" says 1 "rank 1 host .*input/output error: shard 1 is gone"
ok "rank 0 names rank 1" says 1 "rank 0 host .*rank 1: input/output error: shard 1 is gone"
ok "the other ranks are silent" says 0 "rank 2 host"
fails "a rank that forgets the vote ends the job" 1 "left alone" within 8 mpi 3 "$modes" forgot
cp "$work/out" "$work/last"
ok "and says who did not come" says 1 "rank 0 did not come to the end"
fails "a rank that never comes is named" 1 "rank 1 did not come to the end" \
  within 8 mpi 3 "$modes" stuck
fails "a fatal status ends the job at once" 1 "device error: the device is gone" \
  within 4 mpi 3 "$modes" fatal
fails "a failed start of one rank ends the job" 1 "out of memory: communicator" \
  within 4 mpi 3 "$modes" no-world
ok "a rank that still saves is not cut off" within 15 mpi 3 "$modes" saves
fails "without MPI" 1 "input/output error: no MPI here" "$modes" alone
within 8 mpi 3 "$modes" killed >"$work/last" 2>&1
rc=$?
ok "a rank that dies ends the job" test $rc -ne 0 -a $rc -ne 111 -a $rc -ne 124
tap_done
