#! /bin/sh
# experiments/ablation/run: its commands, that it can be taken up, its errors.  The trainer is played
# by a script that writes a crafted log; tricolor-report is the real one.
# shellcheck source=tests/tap.sh disable=SC2154
. "$top_srcdir/tests/tap.sh"
ablation=$top_srcdir/experiments/ablation/run
mkdir -p "$work/bin" "$work/set/train" "$work/set/val" "$work/path"
: >"$work/set/train/dataset.json"
: >"$work/set/val/dataset.json"
ln -s "$top_builddir/tricolor-report" "$work/bin/tricolor-report"
cat >"$work/bin/tricolor-pack" <<'END'
#! /bin/sh
echo "$*" >>"$work/packed"
mkdir -p "$6"
END
cat >"$work/bin/tricolor-train" <<'END'
#! /bin/sh
. "$top_srcdir/tests/report/make-log.sh"
echo "$*" >>"$work/trained"
while test $# -gt 0; do
  case $1 in
    --store) store=$2 ;; --allreduce) allreduce=$2 ;; --table) table=$2 ;; --log) log=$2 ;;
  esac
  shift
done
on=false speed=100
test $store = files || speed=200
test $allreduce$table != multicoloroptimized || on=true
if test "$store-$allreduce" = "${break-}"; then
  { head_of $store $allreduce $table $on; epoch 1 1 1 0.1; } >>"$log"
  echo "broken on purpose" >&2
  exit 1
fi
run_of $store $allreduce $table $on $speed 30 >>"$log"
END
cat >"$work/bin/mpirun" <<'END'
#! /bin/sh
while test $# -gt 0; do
  case $1 in
    -np) echo "$2 ranks" >>"$work/launched"; shift 2 ;;
    -*) shift ;;
    none) shift ;;
    *) break ;;
  esac
done
exec "$@"
END
cat >"$work/path/sbatch" <<'END'
#! /bin/sh
echo "$1" >>"$work/submitted"
END
chmod +x "$work/bin"/* "$work/path/sbatch"
MPIRUN=$work/bin/mpirun
PATH=$work/path:$PATH
export work MPIRUN PATH

run() { sh "$ablation" --bin "$work/bin" --data "$work/set" --out "$work/o ut" "$@"; }
lines() { test "$(wc -l <"$1")" -eq "$2" || { cat "$1"; return 1; }; }
has() { grep -q -e "$2" "$1" || { cat "$1"; return 1; }; }
absent() { ! test -e "$1"; }

# --- what it would do
run --dry-run --ranks 3 --batch 8 >"$work/dry" 2>&1
ok "--dry-run prints eight runs" test "$(grep -c -- '--overlap auto' "$work/dry")" -eq 8
ok "every combination once" test \
  "$(grep -o -e '--store [a-z]* --allreduce [a-z]* --table [a-z]*' "$work/dry" | sort -u | wc -l)" -eq 8
ok "with the ranks asked for" has "$work/dry" '-np 3 '
ok "with the files where the store is files" test "$(grep -c -e '--files ' "$work/dry")" -eq 4
ok "and how the files are made" has "$work/dry" "tricolor-pack extract $work/set --split val"
ok "it leaves nothing behind" absent "$work/o ut"
run --dry-run --launcher slurm --sbatch --time=10 >"$work/dry" 2>&1
ok "--launcher slurm prints batch scripts" test "$(grep -c '^srun ' "$work/dry")" -eq 8
ok "with the options for sbatch" test "$(grep -c '^#SBATCH --time=10$' "$work/dry")" -eq 8
ok "more options reach the trainer" has "$work/dry" "--overlap auto"
run --dry-run -- --lr 0.5 --augment "it's" >"$work/dry" 2>&1
ok "words after -- are quoted for the shell" has "$work/dry" "--lr 0.5 --augment 'it'\\\\''s'"

# --- a run that breaks off, and taking it up
break=memory-mpi
export break
fails "a failed run is an error" 1 "FAILED" run
ok "the others were run" lines "$work/trained" 8
ok "by the launcher" has "$work/launched" "2 ranks"
ok "the report is on what ended well" has "$work/o ut/report.txt" "memory  multicolor  optimized"
ok "and says what was not run" has "$work/o ut/report.txt" "memory  mpi         baseline   not run"
ok "pictures were extracted once for each split" lines "$work/packed" 2
unset break
: >"$work/trained"
ok "the same command takes it up" run
ok "with the two that had failed" lines "$work/trained" 2
ok "on a fresh log" has "$work/o ut/logs/memory-mpi-baseline.1.log.broken" epoch_start
ok "without extracting again" lines "$work/packed" 2
ok "the report is complete" has "$work/o ut/report.txt" "memory  mpi         baseline   off"
ok "with the speed-up" has "$work/o ut/report.txt" "2.00x"
ok "and published figures" has "$work/o ut/report.txt" "Published results"
ok "numbers for plots" lines "$work/o ut/epochs.tsv" 25
: >"$work/trained"
fails "a third time there is nothing to run" 0 "all 8 runs have been done" run
ok "and nothing is run" lines "$work/trained" 0
ok "a repetition" run --repeat 2
ok "runs the eight once more" lines "$work/trained" 8
ok "and is in the medians" has "$work/o ut/report.txt" "memory  multicolor  optimized  on          2"
if command -v gnuplot >/dev/null; then
  ok "the plot is a PNG" has "$work/o ut/ablation.png" PNG
else
  skip "the plot is a PNG" "gnuplot is not installed"
fi

# --- another program called parallel (moreutils has one) is not asked
mkdir "$work/other"
printf '#! /bin/sh\necho "parallel: unknown option"; exit 1\n' >"$work/other/parallel"
chmod +x "$work/other/parallel"
: >"$work/trained"
ok "one by one without GNU parallel" env PATH="$work/other:$PATH" sh "$ablation" --bin "$work/bin" \
  --data "$work/set" --out "$work/one"
ok "runs all eight" lines "$work/trained" 8
fails "--jobs needs it" 1 "needs GNU parallel" env PATH="$work/other:$PATH" sh "$ablation" \
  --bin "$work/bin" --data "$work/set" --out "$work/two" --jobs 2

# --- slurm
ok "slurm: queue" sh "$ablation" --bin "$work/bin" --data "$work/set" --out "$work/slurm" \
  --launcher slurm
ok "slurm: eight jobs are submitted" lines "$work/submitted" 8

# --- wrong use
fails "other settings in the same folder" 1 "other settings" run --batch 7
fails "no data" 2 "name the data set" sh "$ablation" --bin "$work/bin"
fails "no such data" 1 "$work/none/train/dataset.json is missing" sh "$ablation" --bin "$work/bin" \
  --data "$work/none"
fails "no programs" 1 "tricolor-train was not found" sh "$ablation" --bin "$work/path" \
  --data "$work/set"
fails "the simulated cluster" 2 "not in this version" run --launcher sim
fails "another launcher" 2 "may be local, mpirun or slurm" run --launcher pbs
fails "one epoch" 2 "at least 2" run --epochs 1
fails "an unknown option" 2 "unknown option --rank" run --rank 2
fails "help" 0 "Usage: run --data DIR" sh "$ablation" --help

if command -v shellcheck >/dev/null; then
  ok "shellcheck accepts the scripts" shellcheck "$ablation" "$top_srcdir/experiments/ablation/plot"
else
  skip "shellcheck accepts the scripts" "shellcheck is not installed"
fi
tap_done
