#! /bin/sh
# bench/netns: runs MPI between namespaces, verifies, prints table and verdicts, and leaves nothing
# behind: not after a run, an error, a signal, or a kill that it can't see.
. "$top_srcdir/tests/tap.sh"
netns=$top_srcdir/bench/netns
TC_BUILD=$top_builddir; export TC_BUILD
limit=30

fails "a wrong option" 2 "unknown word '--host'" "$netns" compare --host 4
fails "no hosts" 2 "give 1 to 200" "$netns" exec --hosts 0 -- true
fails "no such program" 2 "no such program" "$netns" exec -- ./none
fails "report without rows" 2 "report needs" "$netns" report
out_has() { "$netns" compare --dry-run --hosts 4 --bytes 4096 >"$work/dry" && grep -q -- "-np 4 .*--bytes 4096" "$work/dry"; }
ok "a dry run" out_has
small_bucket() { "$netns" compare --dry-run --bytes 65536 >"$work/dry" && grep -q "burst 8kb" "$work/dry"; }
ok "a small bucket for small vectors" small_bucket

# Rows as compare keeps them: verdicts come from the figures.
row() { printf 'openmpi\t8\t200mbit\t190\t%s\t8388608\t2097152\t%s\t0\t0\t%s\t7\t600000\t1\t%s\tx\n' "$1" "$2" "$4" "$3"; }
{ row 50 700000 auto 0; row 50 690000 mpi:4 0; row 50 900000 mpi 0; row 50 650000 multicolor 0; } >"$work/rows"
"$netns" report "$work/rows" >"$work/report"
says() { grep -q -- "$1" "$work/report" || { cat "$work/report"; false; }; }
ok "a goal that is missed" says "^NOT MET .*auto <= 1.15 bound: 1.167"
ok "a goal that is met" says "^met .*auto <= 1.03 best of Open MPI: 1.014 (mpi:4 ring)"
ok "the default is named" says "^NOT MET .*1.5 times faster.*: 1.286"
ok "the trees alone" says "^met .*best multicolor <= 1.20 bound: 1.083"
row 50 600000 mpi:5 3 >>"$work/rows"
fails "a wrong sum is no result" 1 "WRONG SUM: openmpi 8 hosts" "$netns" report "$work/rows"

if why=`bash -c '. "$1"; net_refuse' sh "$top_srcdir/bench/lib/namespaces.bash"`; then :; else
  skip "allreduce between namespaces" "$why"
  tap_done
  exit 0
fi

# nothing_left MARK: no namespace, bridge or process more than before of the runs with this mark.
nothing_left() {
  for tries in 1 2 3 4 5 6 7 8 9 10; do
    ! ip netns list | grep "^tc$1n" && ! ip -o link show | grep ": tc$1\(br\|v\)" &&
      ! pgrep -f "$2" >/dev/null && return 0
    sleep 0.5
  done
  pgrep -af "$2"
  return 1
}

# Locks of its own would take the numbers of others' namespaces: read the number from the hosts' names.
"$netns" compare --hosts 2,3 --rate 200mbit --bytes 4096,262144 --rounds 2 --min-idle 0 --rows "$work/real" \
  -- multicolor mpi mpi:3 mpi:4 >"$work/report" 2>&1
ok "2 and 3 hosts" says "^openmpi, 3 hosts"
rows_of() { test "`grep -c . "$work/real"`" -eq 16 || { cat "$work/real"; false; }; }
ok "every algorithm, size and number of hosts" rows_of
no_wrong() { awk -F '\t' '$11 != 0 || $8 <= 0 { print; bad = 1 } END { exit bad }' "$work/real"; }
ok "exact sums and times above 0" no_wrong

# MPICH's jobs end, too: without doze.so's help half of them hang in MPI_Finalize.
cat >"$work/end.c" <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
END
ends() {
  for tries in 1 2 3 4; do
    "$netns" exec --hosts 3 --limit 20 -- "$work/end" || return 1
  done
}
if command -v mpicc.mpich >/dev/null 2>&1; then
  ok "a program for MPICH" mpicc.mpich -o "$work/end" "$work/end.c"
  ok "4 jobs of MPICH end" ends
else skip "4 jobs of MPICH end" "mpicc.mpich is not installed"; fi

# A run that is ended from outside: `sleep` with a length of its own stands for the ranks.
instance() { sed -n 's/^tc\([0-9]*\)n[0-9]*$/\1/p' "$work/names" | sort -u; }
ended_by() {
  length=8$$.$2
  rm -f "$work/names"
  # shellcheck disable=SC2016 # for the shell on the host
  "$netns" exec --hosts 2 -- sh -c 'hostname >>"$1"; exec sleep "$2"' sh "$work/names" "$length" >"$work/log" 2>&1 &
  pid=$!
  for tries in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    test -s "$work/names" && break
    sleep 0.5
  done
  test -s "$work/names" || { cat "$work/log"; return 1; }
  kill -"$1" $pid
  wait $pid
  nothing_left "`instance`" "sleep $length"
}
ok "nothing is left after SIGTERM" ended_by TERM 1
ok "nothing is left after SIGKILL" ended_by KILL 2
failed_run() {
  # shellcheck disable=SC2016 # for the shell on the host
  "$netns" exec --hosts 2 -- sh -c 'hostname >"$1"; exit 3' sh "$work/names" >"$work/log" 2>&1 && return 1
  nothing_left "`instance`" "no-such-process$$"
}
ok "nothing is left after an error, and the status tells" failed_run
tap_done
