#! /bin/sh
# bench/sim-allreduce: simulates ours and SMPI's, verifies, prints table and verdicts, draws.
. "$top_srcdir/tests/tap.sh"
sim=$top_srcdir/bench/sim-allreduce
TC_BUILD=$top_builddir; export TC_BUILD

fails "a wrong option" 2 "unknown word '--node'" "$sim" run --node 4
fails "no nodes" 2 "give 2 to 1024" "$sim" run --nodes 1
fails "a size that is none" 2 "'x' is not a whole number" "$sim" run --bytes x
fails "report without rows" 2 "report needs" "$sim" report

# Rows as run keeps them: verdicts come from the figures.  The bound of 100 MB on 8 nodes is 7 ms.
row() { printf '8\t%s\t%s\t%s\t%s\t%s\t%s\n' "$@"; }
{ row 0 65536 30e-6 0 own doubling; row 0 65536 25e-6 0 peer ompi; row 0 65536 50e-6 0 peer lr
  row 0 100000000 7.06e-3 0 own ring; row 0 100000000 7.2e-3 0 own multicolor
  row 20 100000000 8e-3 0 own multicolor; row 20 100000000 9.6e-3 0 peer ompi; } >"$work/rows"
"$sim" report "$work/rows" >"$work/report"
says() { grep -q -- "$1" "$work/report" || { cat "$work/report"; false; }; }
ok "a goal that is missed" says "^NOT MET .*65.54 KB, sums not charged: .*1.15 best peer: 1.200 (doubling; smpi ompi)"
ok "the bound" says "^met .*<= 1.01 bound: 1.009 (ring)"
ok "beside the peers" says "^NOT MET .*1.25 times faster than best peer: 1.200 (multicolor; smpi ompi)"
row 0 65536 20e-6 1 own doubling >>"$work/rows"
fails "a wrong sum is no result" 1 "WRONG SUM: 8 nodes, 65536 bytes: doubling" "$sim" report "$work/rows"

draw() { "$sim" plot "$work/p" "$work/rows" && test -s "$work/p.png" && grep -q "sums at 20 GB/s" "$work/p.svg"; }
if command -v gnuplot >/dev/null 2>&1; then ok "a picture" draw
else skip "a picture" "gnuplot is not installed"; fi

if ! command -v smpirun >/dev/null 2>&1; then why="no SimGrid (Debian: libsimgrid-dev)"
elif test -f "$top_srcdir/config.status"; then why="configured in the source tree"
else why=; fi
if test -n "$why"; then
  skip "a simulation" "$why"
  tap_done
  exit 0
fi
ok "the simulated program" ${MAKE-make} -C "$top_builddir" bench-sim

"$sim" run --nodes 3,4 --bytes 1048576 --own "multicolor ring:chunk=256K" --peers ompi \
  --rows "$work/few" >"$work/report" 2>&1
ok "3 and 4 nodes" says "^4 nodes, sums at 20 GB/s"
every_row() { test "`grep -c . "$work/few"`" -eq 12 || { cat "$work/few"; false; }; }
ok "every algorithm, rate and number of nodes" every_row
# Between the bound, 2(n-1)/n of 42 us, and four times that (ompi on 3 nodes); sums on the way of any allreduce take 1 MB (n-1)/n
# at 20 GB/s, of which an algorithm can hide all but a chunk.
plausible() {
  awk -F '\t' '{ bound = 2 * ($1 - 1) / $1 * $3 / 25e9; time[$1, $7, $2] = $4 }
    $5 != 0 || $4 < bound || $4 > 4 * bound { print "out of bounds: " $0; bad = 1 }
    END { for (k in time) { split(k, w, SUBSEP)
            if (w[3] == 0 && time[w[1], w[2], 20] <= time[k]) { print "sums are free: " w[2]; bad = 1 } }
          exit bad }' "$work/few"
}
ok "exact sums, times above the bound, sums charged" plausible
again() { "$sim" run --nodes 3,4 --bytes 1048576 --own "multicolor ring:chunk=256K" --peers ompi \
  --rows "$work/few" --dry-run >"$work/dry" && test ! -s "$work/dry"; }
ok "what is known is not simulated again" again
fails "an algorithm that is none" 1 "k: 'x' is not a whole number" \
  "$sim" run --nodes 3 --bytes 65536 --own "multicolor:k=x" --peers ompi
tap_done
