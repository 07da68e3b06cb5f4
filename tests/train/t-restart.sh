#! /bin/sh
# Killed or stopped, and resumed: the weights of an undisturbed run, bit by bit.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/train/lib.sh"
"$make_set" "$work/set" train=50 val=10 || exit 99
last=step-000000060

# run NAME OPTION...: 2 ranks x 1 device, 10 epochs of 6 steps, a checkpoint every 2 steps.
run() {
  name=$1; shift
  launch_each 2 "$work/$name" --data="$work/set" --model=resnet20 --batch=4 --epochs=10 --eval-every=5 \
    --checkpoint="$work/$name" --checkpoint-every=0.3334 --resume "$@"
}
same() {
  cmp "$work/$1/$last/$2" "$work/plain/$last/$2"
}

reached() { test -s "$work/$1/latest" && test "`sed 's/step-0*//' "$work/$1/latest"`" -ge "$2"; }

# disturb NAME SIGNAL STEP: start a run, wait for a checkpoint at STEP or later, signal rank 1.
disturb() {
  run "$1" --sync-steps=1 >"$work/$1.out" 2>&1 &
  job=$!
  await reached "$1" "$3"
  kill -"$2" "`cat "$work/$1.pid.1"`"
  wait $job; rc=$?
  cat "$work/$1.out"
  # It must have been hit in the middle, or the test shows nothing.
  test ! -e "$work/$1/DONE" || { echo "it was already done"; return 99; }
  return $rc
}

ok "an undisturbed run" run plain
ok "is marked DONE" test -f "$work/plain/DONE"
killed() { disturb killed KILL 10; test $? -ne 0 -a ! -e "$work/killed/DONE"; }
ok "a rank killed by SIGKILL ends the job with an error" killed
ok "it resumes" keep run killed
ok "says from where" said 'resumed after step'
ok "and ends with the same weights" same killed model.safetensors
ok "and momentum" same killed state.safetensors

ok "SIGTERM to one rank ends the job with status 0" disturb term TERM 10
ok "with a word" grep -q 'stopped by a signal after step' "$work/term.out"
ok "it resumes" run term
# Running statistics were averaged once more; averaging is linear, so only their rounding differs.
weights_of() { "$top_builddir/tests/train/weights" "$1/$last/state.safetensors" "$1/$last/model.safetensors"; }
same_weights() { weights_of "$work/term" >"$work/w1" && weights_of "$work/plain" >"$work/w2" && cmp "$work/w1" "$work/w2"; }
ok "and ends with the same weights and momentum" same_weights

# Nothing would be kept of it, so this is no success.
lost() {
  launch_each 2 "$work/lost" --data="$work/set" --model=resnet20 --batch=4 --epochs=1000 --log="$work/lost.log" &
  job=$!
  await grep -q '"key":"eval_accuracy"' "$work/lost.log" 2>/dev/null
  kill -USR1 "`cat "$work/lost.pid.1"`"
  wait $job
}
fails "SIGUSR1 without --checkpoint is a failure" 1 'nothing is saved without --checkpoint' lost
ok "and the log says stopped" grep -q '"key":"run_stop".*"status":"stopped"' "$work/lost.log"

# Resumed in the middle of an epoch: its training loss is the whole epoch's.
loss_of() { grep '"train_loss".*"epoch_num":2,"step":12' "$work/$1.log" | sed 's/.*"value"/value/'; }
part() { run "$@" --sync-steps=1 --log="$work/$1.log"; }
same_loss() { loss_of whole && test -n "`loss_of whole`" && test "`loss_of whole`" = "`loss_of parts`"; }
ok "12 steps at once" part whole --max-steps=12
ok "9 steps" part parts --max-steps=9
ok "and the other 3" part parts --max-steps=12
ok "log the same training loss" same_loss

# The requeueing of scripts ends with DONE.
rm "$work/plain/DONE"
ok "a finished run resumes to nothing" keep run plain
ok "and is marked DONE where a crash came before the mark" test -f "$work/plain/DONE"
ok "and says so" said 'the run is complete'
fails "predictions on a full disk fail the run" 1 '/dev/full' run full --epochs=1 --predictions=/dev/full
ok "what was trained is kept" test -f "$work/full/step-000000006/model.safetensors"
ok "but not DONE" test ! -e "$work/full/DONE"
ok "it can be finished" run full --epochs=1 --predictions="$work/full.predictions"
ok "and is DONE" test -f "$work/full/DONE" -a -s "$work/full.predictions"
cp -r "$work/plain" "$work/longer"; touch "$work/longer/DONE"
ok "--force makes it longer" run longer --epochs=11 --max-steps=61 --force
ok "then it is not DONE any more" test ! -e "$work/longer/DONE"
fails "other options are refused by name" 1 'another .seed' run killed --seed=3
fails "a folder with checkpoints is not overwritten" 1 'holds checkpoints of another run' \
  launch 2 --data="$work/set" --model=resnet20 --batch=4 --epochs=1 --checkpoint="$work/killed"
ok "--force goes on with other options" run killed --seed=3 --force
tap_done
