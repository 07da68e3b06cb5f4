#! /bin/sh
# experiments/precision/run: its arithmetic against known accuracies, its errors, and a real pair of pairs.
. "$top_srcdir/tests/tap.sh"
run=$top_srcdir/experiments/precision/run
mkdir -p "$work/bin" "$work/set/train" "$work/set/val"
: >"$work/set/train/dataset.json"; : >"$work/set/val/dataset.json"
command -v parallel >/dev/null || { skip "everything" "GNU parallel is not there"; tap_done; exit; }

# A trainer whose accuracy is known: f32 0.90 and 0.01 a seed; bf16 0.002 less at seed 1, 0.004 at seed 2, …
cat >"$work/bin/tricolor-train" <<'END'
#! /bin/sh
while test $# -gt 0; do
  case $1 in --seed) seed=$2 ;; --precision) precision=$2 ;; --log) log=$2 ;; esac
  shift
done
echo "$seed $precision" >>"${log%/*}/ran"
test "$seed.$precision" != "$broken" || { echo "out of luck"; exit 1; }
awk -v s="$seed" -v p="$precision" 'BEGIN {
  a = 0.90 + s / 100; if (p == "bf16") a -= s / 500
  print "{\"key\":\"eval_accuracy\",\"value\":0.1,\"metadata\":{}}"
  printf "{\"key\":\"eval_accuracy\",\"value\":%.4f,\"metadata\":{}}\n", a
  print "{\"key\":\"run_stop\",\"value\":null,\"metadata\":{\"status\":\"success\"}}" }' >"$log"
END
chmod +x "$work/bin/tricolor-train"
precision() { out=$1; shift; "$run" --data "$work/set" --bin "$work/bin" --out "$work/$out" "$@"; }
line() { cat "$work/$1/table.tsv"; grep -q -e "$2" "$work/$1/table.tsv"; }

ok "three pairs" precision a --pairs 3 --jobs 2
# Differences -0.2 -0.4 -0.6: mean -0.4, deviation 0.2, over the root of 3.
ok "... their mean and its standard error" line a '^mean	92.00	91.60	-0.40, standard error 0.12, 3 pairs'
ok "... and each" line a '^3	93.00	92.40	-0.60$'
lines() { test "`wc -l <"$1"`" -eq "$2"; }
ok "... from six runs" lines "$work/a/ran" 6
ok "again: nothing is run again" precision a --pairs 3
ok "... still six runs" lines "$work/a/ran" 6
fails "a run that fails" 1 'seed 2 in bf16 FAILED' env broken=2.bf16 "$run" --data "$work/set" --bin "$work/bin" \
  --out "$work/b" --pairs 3
ok "... leaves its pair out" line b '^2	not complete$'
ok "... and goes on when called again" precision b --pairs 3
ok "... to the same table" cmp "$work/a/table.tsv" "$work/b/table.tsv"
fails "other settings in the same folder" 1 'other settings' precision a --epochs 3
fails "one pair" 2 'at least 2 is wanted' precision c --pairs 1
fails "no set" 1 'dataset.json is missing' "$run" --data "$work/none" --bin "$work/bin"
fails "no trainer" 1 'tricolor-train was not found' "$run" --data "$work/set" --bin "$work/set"
fails "an unknown option" 2 'unknown option --pear' "$run" --pear 3
tap_done
