# shellcheck shell=bash disable=SC2154,SC2034
# bench/netns compare and report: jobs of bench-allreduce, and one table of what they printed.
# Sourced by bench/netns, whose variables these are.
#
# A row, separated by tabs: MPI hosts rate goodput_Mbps idle_percent, then bench-allreduce's columns:
# bytes count time_us algbw_GBs busbw_GBs wrong runs bound_us ratio algorithm choices.

# lower RATE: four fifths of it.
lower() { awk -v r="$1" 'BEGIN { n = r; sub(/[a-z]+$/, "", n); u = substr(r, length(n) + 1)
  printf "%.4g%s", n * 0.8, u }'; }

# mbit RATE: in Mbit/s.
mbit() { awk -v r="$1" 'BEGIN { n = r; sub(/[a-z]+$/, "", n); u = substr(r, length(n) + 1)
  f["k"] = 1e-3; f["m"] = 1; f["g"] = 1e3; f["t"] = 1e6; f["b"] = 1e-6
  printf "%.6f", n * f[substr(u, 1, 1)] * (u ~ /bps$/ ? 8 : 1) }'; }

# take_rows FILE: what the bench printed, as rows.
take_rows() {
  awk -v OFS='\t' -v mpi="$mpi" -v hosts="$hosts" -v rate="$rate" '
    /^# goodput/ { for (i = 1; i < NF; i++) { if ($i == "exchange") g = $(i + 1); if ($i == "idle") p = $(i + 1) } }
    !/^#/ && NF >= 10 { choices = $11; for (i = 12; i <= NF; i++) choices = choices " " $i
      print mpi, hosts, rate, g, p, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, choices }' "$1"
}

# compare_one MPI PROGRAM HOSTS BYTES: one job, again with a lower rate where the processor was busy.
compare_one() {
  local mpi=$1 hosts=$3 bytes=$4 rate=$rate burst=$burst rc
  local mca=("${mca[@]}" --mca coll_tuned_use_dynamic_rules 1)
  command=("$2" --bytes "$bytes" --rounds "$rounds" --slow "$slow" --min-idle "$min_idle" "${words[@]}")
  # What the bucket holds passes at once, and must not be much of the whole.
  : "${burst:=$((bytes >= 1048576 ? 128 : bytes > 65536 ? bytes / 8192 : 8))kb}"
  while :; do
    if test $dry_run = yes; then dry_run; return 0; fi
    job out; rc=$?
    test ! -f "$work/out" || grep -v '^#[^ ]\|ranks on' "$work/out"
    if test $rc -ne 0; then net_down; echo "bench/netns: the job ended with status $rc" >&2; return 1; fi
    if grep -q '^# busy' "$work/out"; then
      net_down
      rate=$(lower "$rate")
      # Slower links than that say nothing about faster ones.
      awk -v r="$(mbit "$rate")" 'BEGIN { exit r < 10 }' || {
        echo "bench/netns: the processor is too busy with other things" >&2; return 1; }
      continue
    fi
    take_rows "$work/out" >>"$rows"
    net_down
    return 0
  done
}

compare() {
  local list n bytes failed=0 words=("${command[@]}")
  : "${hosts:=4,8,16}" "${rate:=300mbit}" "${program:=$build/bench/bench-allreduce}"
  list=$hosts
  for n in "$program" $mpich_program; do
    command -v "$n" >/dev/null || die "$n: no such program"
  done
  if test $dry_run = no; then
    n=$(net_refuse) || die "$n"
    test -n "$rows" || { kept=$(mktemp "${TMPDIR-/tmp}/tricolor-rows.XXXXXX") || exit 1; rows=$kept; }
    tear_down_at_end
  fi
  for n in ${list//,/ }; do
    for bytes in ${sizes//,/ }; do
      compare_one "$(mpi_of "$(command -v "$program")")" "$program" "$n" "$bytes" || failed=1
      test -z "$mpich_program" || compare_one mpich "$mpich_program" "$n" "$bytes" || failed=1
    done
  done
  test $dry_run = yes || report "$rows"
  return $failed
}

report() { cat "$@" | awk -f "$here/lib/report.awk"; }
