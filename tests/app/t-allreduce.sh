#! /bin/sh
# tricolor-allreduce: rows, columns, wrong sums, wrong use.
limit=60
. "$top_srcdir/tests/tap.sh"
bench=$top_builddir/tricolor-allreduce

# rows FILE ALGORITHM: lines of a text table whose sum is right.
rows() { grep -v '^#' "$1" | awk -v a="$2" '$6 == 0 && $3 != "-" && $9 == a' | wc -l; }
table() {
  for n in 1 2 3; do
    mpi $n "$bench" --sizes=4,65536,100K -n 3 -w 1 --bandwidth=200Mbit >"$work/table" || return 1
    cat "$work/table"
    for a in multicolor mpi; do test "`rows "$work/table" $a`" -eq 3 || return 1; done
    grep -q "^# $n ranks on 1 hosts" "$work/table" || return 1
  done
}
ok "every algorithm at every size, on 1, 2 and 3 ranks" table
bound() { awk '$1 == 65536 && $9 == "mpi" { found = 1; if ($7 != "3495.3") exit 1 } END { exit !found }' "$work/table"; }
ok "the bound is 2(n-1)/n*S/B" bound
csv() {
  mpi 2 "$bench" -b 4K -e 64K -f 4 -n 3 --format=csv --buckets=3 -a mpi,multicolor:k=2,d=1,chunk=4K >"$work/csv" &&
    cat "$work/csv" && test "`grep -c 'multicolor k=2 d=1 chunk=4096' "$work/csv"`" -eq 3 &&
    test "`wc -l <"$work/csv"`" -eq 7
}
ok "CSV; a message in several buckets" csv
json() {
  mpi 2 "$bench" --sizes=64K -n 3 --format=json --bandwidth=measure >"$work/json" && cat "$work/json" &&
    grep -q '"bandwidth_from": "measured"' "$work/json" && grep -q '"wrong": 0' "$work/json" &&
    ! grep -q '"ratio": null' "$work/json"
}
ok "JSON; the link is measured" json
spoilt() { mpi 3 "$bench" --sizes=64K -n 3 --spoil=77 >"$work/spoilt" 2>&1; rc=$?; cat "$work/spoilt"; return $rc; }
fails "a wrong sum is found, and not timed" 1 ' 65536 *16384 *- *- *- *1 .*multicolor' \
  spoilt
ok "... and called so" grep -q "sums are wrong" "$work/spoilt"
if mpi 1 "$bench" --sizes=4 -n 1 -a mpi:algorithm=1 >"$work/peer" 2>&1; then
  peers() { mpi 2 "$bench" --sizes=1M -n 3 -a mpi:all >"$work/peers" && cat "$work/peers" &&
    test "`grep -c 'mpi:algorithm=[1-6]$' "$work/peers"`" -eq 6; }
  ok "Open MPI's algorithms one by one" peers
  fails "one that it does not know" 1 'algorithm=77' mpi 2 "$bench" -a mpi:algorithm=77
else
  skip "Open MPI's algorithms" "this MPI has none to choose from"
fi

trees() {
  mpi 5 "$bench" -a mpi,multicolor:k=2,d=2 "$1" >"$work/trees" && cat "$work/trees" &&
    test "`grep -c "$2" "$work/trees"`" -eq "$3"
}
ok "--print-trees: each color has every rank" trees --print-trees '^ *rank [0-4] host ' 10
ok "... the second color with another root" grep -q '^  rank 2 host' "$work/trees"
ok "--dot: each color has 4 edges" trees --dot ' -> ' 8
if command -v dot >/dev/null; then
  ok "... which Graphviz reads" dot -Tsvg -o "$work/trees.svg" "$work/trees"
else
  skip "... which Graphviz reads" "dot is not installed"
fi
fails "no trees to print" 1 'none of them has trees' mpi 2 "$bench" -a mpi,ring --print-trees
chosen() {
  mpi 2 "$bench" -a auto,mpi --sizes=1K,64K --buckets=2 -n 3 --choices="$work/choices" >"$work/$1" 2>"$work/$1.err"
  rc=$?; cat "$work/$1" "$work/$1.err"; return $rc
}
ok "auto, kept in a file" chosen first
ok "... with a line for each size" test "`grep -c '^tricolor=.* bytes=\(512\|32768\) us=[0-9.]* choice=' "$work/choices"`" -eq 2
ok "... and used again" chosen second
ok "... as the log says" test "`grep -c 'as chosen before' "$work/second.err"`" -eq 2
same_choice() { for f in first second; do sed -n 's/.* auto  *//p' "$work/$f" >"$work/$f.choice"; done; cmp "$work/first.choice" "$work/second.choice"; }
ok "... the same" same_choice
echo "no choices" >"$work/choices"
fails "a file of something else" 1 'choices: line 1 is not a choice of allreduce' chosen third

misused() { misused_name=$1 misused_text=$2; shift 2; fails "$misused_name" 2 "$misused_text" "$bench" "$@"; }
misused "an unknown algorithm" "called 'magic': choose one of multicolor" -a magic
misused "a key that the algorithm lacks" "mpi has no 'chunk'" -a mpi:chunk=4
misused "a key without a value" "'k' is not KEY=VALUE" -a multicolor:k
misused "a size that is none" "sizes: '12x'" --sizes=64K,12x
misused "no size" "name at least one" --sizes=,
misused "sizes in the wrong order" "min-bytes=1048576 is more" -b 1M -e 64K
misused "no rounds" "iters: '0'" -n 0
misused "a rate without a unit" "'200' is not a rate" --bandwidth=200
misused "an unknown format" 'format=xml: unknown' --format=xml
misused "something that is no option" "'surplus'" surplus
ok "--help needs no launcher" "$bench" --help
tap_done
