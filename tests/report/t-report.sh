#! /bin/sh
# The report on crafted logs: tables, labels, resumed and truncated runs, malformed lines.
# shellcheck source=tests/tap.sh disable=SC2154
. "$top_srcdir/tests/tap.sh"
# shellcheck source=tests/report/make-log.sh
. "$top_srcdir/tests/report/make-log.sh"
published=$top_srcdir/experiments/published
report() { "$top_builddir/tricolor-report" --published "${tables-none}" "$@"; }

# says TEXT LOG...: the report has this line, runs of spaces taken as one.
says() {
  says_text=$1; shift
  report "$@" >"$work/report" || return 1
  sed 's/  */ /g; s/^ //' "$work/report" >"$work/squeezed"
  grep -q -F -e "$says_text" "$work/squeezed" || { cat "$work/report"; return 1; }
}

# silent TEXT LOG...: the report does not have this text.
silent() {
  silent_text=$1; shift
  report "$@" >"$work/report" && ! grep -F -e "$silent_text" "$work/report"
}

# --- one run, among other lines
{ echo "tricolor: store: loading 5 shards"; run_of files mpi baseline false 100 60 |
    sed '5a\
[1,0]<stderr>: the text ":::MLLOG" in somebody else'\''s line'; } >"$work/base"
ok "configuration" says "2 ranks x 2 devices, onednn, batch 16 a device, 64 in all; precision f32" \
  "$work/base"
ok "toggles" says "store files, allreduce mpi, table baseline, overlap off" "$work/base"
ok "what was chosen" says "chosen: mpi of mpis" "$work/base"
ok "kind and place" says "Run 1: resnet20 (measured), from $work/base:11" "$work/base"
ok "an epoch" says "2 1.5000 62.50 91.25 99.00 100.0 60.00" "$work/base"
ok "accuracy" says "Accuracy (top-1, measured): best 91.25 %, final 90.00 %" "$work/base"
ok "status" says "Ended: success" "$work/base"
ok "medians leave out the first epoch" says "total 60.000 100.0" "$work/base"
ok "a part of the time" says "backward 4.000 6.7" "$work/base"
ok "what the parts leave is shown" says "other 50.625 84.4" "$work/base"
ok "one run has no ablation" silent Ablation "$work/base"
ok "without tables, nothing published" silent published "$work/base"

# --- published tables
tables=$published
ok "published results" says "this paper 2017 ResNet-50, ImageNet 48 min 256 P100 not published here 75.4 published" \
  "$work/base"
ok "ours beside them, labelled" says \
  "ours, run 1 resnet20, 6000 pictures, 3 epochs 3.6 min 2 ranks x 2 devices, onednn 64 90.00 measured" \
  "$work/base"
ok "our speed a device" says "training resnet20 onednn f32 25.0 measured ours, run 1: one of 4 devices" \
  "$work/base"

# --- ablation: speeds 100 * 2 (store) * 1.5 (allreduce) * 1.1 (table), so that effects are known
make_all() { # FOLDER KIND
  mkdir "$work/$1"
  for store in files memory; do
    for allreduce in mpi multicolor; do
      for table in baseline optimized; do
        speed=100 on=false
        test $store = files || speed=$((speed * 2))
        test $allreduce = mpi || speed=$((speed * 3 / 2))
        test $table = baseline || speed=$((speed * 11 / 10))
        test $allreduce$table != multicoloroptimized || on=true
        run_of $store $allreduce $table $on $speed "$(echo "6600 $speed" | awk '{ print $1 / $2 }')" \
          "$2" >"$work/$1/$store-$allreduce-$table.log"
      done
    done
  done
}
make_all all measured
ok "the ablation names its setting" says \
  "Ablation: resnet20, 2 ranks x 2 devices, onednn, f32, batch 16 a device; all figures measured" \
  "$work"/all/*.log
ok "the baseline's row" says "files mpi baseline off 1 100.0 - 66.00 1.00x 90.00" "$work"/all/*.log
ok "the full set's row" says "memory multicolor optimized on 1 330.0 - 20.00 3.30x 90.00" \
  "$work"/all/*.log
ok "effect of the store" says \
  "store files -> memory +100.0 % +100.0 % +100.0 % -50.0 % not published here" "$work"/all/*.log
ok "effect of the allreduce beside the paper's" says \
  "allreduce mpi -> multicolor +50.0 % +50.0 % +50.0 % -33.3 % resnet50 epoch time -18 to -15 %" \
  "$work"/all/*.log
ok "effect of the table" says \
  "table baseline -> optimized +10.0 % +10.0 % +10.0 % -9.1 % not published here" "$work"/all/*.log
ok "all three beside the paper's" says \
  "all three +230.0 % - - -69.7 % resnet50 speed +110 to +130 %; googlenetbn speed +58 to +72 %" \
  "$work"/all/*.log
ok "the baseline table's evaluation is explained" says "first device's BN statistics" \
  "$work"/all/*.log

# --- repetitions, missing combinations, other kinds
run_of files mpi baseline false 104 60 >"$work/again1"
run_of files mpi baseline false 130 60 >"$work/again2"
run_of memory mpi baseline false 208 30 >"$work/memory"
ok "repetitions: the median" says "files mpi baseline off 3 104.0 100-130 60.00 1.00x 90.00" \
  "$work/base" "$work/again1" "$work/again2" "$work/memory"
ok "a combination that was not run" says "memory multicolor optimized not run 0 - - - - -" \
  "$work/base" "$work/memory"
ok "single runs are warned of" says "Rows of one run do not show" "$work/base" "$work/memory"
run_of memory multicolor optimized false 200 33 >"$work/forced"
ok "overlap set by hand is a row of its own" says "memory multicolor optimized off 1 200.0 - 33.00 2.00x" \
  "$work/base" "$work/forced"
run_of memory mpi baseline false 9999 1 simulated >"$work/simulated"
ok "a simulated run says so" says "Run 1: resnet20 (simulated)" "$work/simulated"
ok "and is not set against a measured one" silent Ablation "$work/base" "$work/simulated"
make_all sim simulated
ok "an ablation of simulated runs says so" says "all figures simulated" "$work"/sim/*.log
run_of memory mpi baseline false 500 10 synthetic >"$work/synthetic"
ok "a synthetic run is warned of" says "synthetic input: the figures say nothing" "$work/synthetic"

# --- resumed, stopped, cut
{ head_of memory mpi baseline false; epoch 1 10 99 0.5
  event epoch_start null '"epoch_num":2'
  printf ':::MLLOG {"namespace":"","time_ms":17000000'; } >"$work/cut"
ok "a cut log is read" says "Ended: the log has no run_stop; it is still running, or was killed in the middle" \
  "$work/cut"
{ sed '$d' "$work/cut"; head_of memory mpi baseline false measured 150
  epoch 2 100 60 0.8; epoch 3 100 60 0.9; event run_stop null '"status":"success"'; } >"$work/resumed"
ok "a resumed run is one run" says "taken up again 1 time" "$work/resumed"
ok "its epochs are joined" says "Time of the finished epochs: 3.6 min" "$work/resumed"
ok "there is no second run" silent "Run 2" "$work/resumed"
cat "$work/base" "$work/memory" >"$work/two"
ok "two runs in one file" says "Run 2: resnet20 (measured)" "$work/two"
{ head_of memory mpi baseline false; epoch 1 10 9 0.5; event run_stop null '"status":"stopped"'; } \
  >"$work/stopped"
ok "a stopped run says so" says "Ended: stopped" "$work/stopped"
{ head_of memory mpi baseline false; event eval_accuracy 0.75 '"top5":0.9'
  event run_stop null '"status":"success"'; } >"$work/evaluated"
ok "an evaluation alone" says "best 75.00 %, final 75.00 %" "$work/evaluated"
{ event submission_benchmark '"resnet20"'; event run_start null; epoch 1 5 6 0.5; } >"$work/bare"
ok "a log without configuration is read" says "Run 1: resnet20 (of unknown kind)" "$work/bare"

# --- plot data
ok "plot data" report --tsv "$work/plot.tsv" "$work/base"
ok "has a line an epoch, and a heading" test "$(wc -l <"$work/plot.tsv")" -eq 4
ok "with the run's words" grep -q "^1	measured	resnet20	files	mpi	baseline	off	2	1.5	" "$work/plot.tsv"

# --- a fused step, an epoch at work
sed 's/"forward":2,"backward":4/"forward":0,"backward":6/' "$work/base" >"$work/fused"
ok "a fused step is named so" says "forward and backward 6.000 10.0" "$work/fused"
ok "without a row for forward" silent "  forward     " "$work/fused"
ok "an unfinished epoch is left out of the time" says "Time of the finished epochs: 99.0 s" "$work/cut"

# --- errors
fails "a missing log" 1 "$work/none: cannot read the log" report "$work/none"
echo "no log at all" >"$work/text"
fails "a file without a run" 1 "$work/text: no run in it" report "$work/text"
{ cat "$work/base"; echo ':::MLLOG {"key": "throughput", "value": }'; } >"$work/bad"
fails "a malformed line is named" 1 "$work/bad:$(wc -l <"$work/bad"): malformed log line" \
  report "$work/bad"
{ cat "$work/base"; echo ':::MLLOG {"value": 1}'; } >"$work/keyless"
fails "so is a line without a key" 1 "$work/keyless:$(wc -l <"$work/keyless"): a log line without a key" \
  report "$work/keyless"
fails "no log" 2 "name at least one log" report
mkdir "$work/tables"
cp "$published"/*.tsv "$work/tables"
chmod u+w "$work/tables"/*
printf 'one\tcell too few\n' >>"$work/tables/results.tsv"
tables=$work/tables
fails "a malformed table is named" 1 "results.tsv:$(wc -l <"$work/tables/results.tsv"): 2 cells" \
  report "$work/base"
tables=$work/none
fails "missing tables are named" 1 "$work/none/ablation.tsv: cannot read" report "$work/base"
tap_done
