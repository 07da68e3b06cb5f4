#! /bin/sh
# Evaluation counts every picture once for any number of ranks, and gives the same accuracy.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/train/lib.sh"
"$make_set" "$work/set" train=96 val=25 || exit 99

ok "a network learns the set" launch 2 --data="$work/set" --model=resnet20 --batch=8 --epochs=6 --lr=0.1 \
  --eval-every=3 --checkpoint="$work/ckpt" --log="$work/log" --predictions="$work/p0"
sed 's/^/# /' "$work/out"
model=`echo "$work"/ckpt/step-*36/model.safetensors`

# value KEY NAME: NAME=... of the last event KEY
field() { grep "\"key\":\"$1\"" "$2" | tail -1 | sed "s/.*\"$3\":\([-0-9.e]*\).*/\1/"; }
better() { awk "BEGIN { exit !(`field eval_accuracy "$work/log" value` > 0.5) }"; }
ok "better than twice chance" better

# Only the metadata's order of sums may differ between layouts: six digits of the loss.
check() {
  ranks=$1 devices=$2 batch=$3
  launch "$ranks" --data="$work/set" --model=resnet20 --devices="$devices" --batch="$batch" --evaluate \
    --init="$model" --log="$work/log.$ranks" --predictions="$work/p.$ranks" || return 1
  test "`field eval_accuracy "$work/log.$ranks" samples`" = 25 || return 1
  test "`field eval_accuracy "$work/log.$ranks" value`" = "`field eval_accuracy "$work/log" value`" || return 1
  awk "BEGIN { a = `field eval_accuracy "$work/log.$ranks" loss`; b = `field eval_accuracy "$work/log" loss`
    exit !(a - b < 1e-5 * b && b - a < 1e-5 * b) }" || return 1
  cmp "$work/p0" "$work/p.$ranks"
}
ok "1 rank x 1 device, batch 8" check 1 1 8
ok "2 ranks x 1 device, batch 4" check 2 1 4
ok "3 ranks x 2 devices, batch 8: more room than pictures" check 3 2 8

# One line a picture, in order, with the label that the set gave it, and top-1 as the log has it.
lines() {
  awk -F '\t' 'NR > 1 { if ($1 != NR - 2 || $2 != sprintf("val-%06d.jpg", $1) || $3 != $1 % 4) bad++
      n++; hit += $3 == $4; split($5, top, ","); if (top[1] != $4) bad++; if ($6 != "class" $3) bad++ }
    END { print n, hit, bad + 0; exit !(n == 25 && !bad && hit / n == '"`field eval_accuracy "$work/log" value`"') }' \
    "$work/p0"
}
ok "predictions: every picture once, and they add up to the accuracy" lines
resumed() {
  launch 2 --data="$work/set" --model=resnet20 --batch=8 --evaluate --checkpoint="$work/ckpt" --resume \
    --log="$work/log.r" &&
  test "`field eval_accuracy "$work/log.r" value`" = "`field eval_accuracy "$work/log" value`"
}
ok "--evaluate --resume takes the checkpoint" resumed

# An evaluation of minutes.  It begins when the log does.
ended() {
  launch_each 2 "$work/slow" --data="$work/set" --model=resnet50 --size=448 --backend=ref --batch=1 --evaluate \
    --init="$work/r50" --log="$work/slow.log" &
  job=$!
  await grep -q run_start "$work/slow.log" 2>/dev/null
  began=`date +%s`
  kill -TERM "`cat "$work/slow.pid.1"`"
  wait $job; rc=$?
  grep eval_accuracy "$work/slow.log" && return 99
  test $rc -ne 0 && test `expr \`date +%s\` - $began` -le 20
}
ok "weights of a large network" launch 2 --data="$work/set" --model=resnet50 --size=64 --batch=2 --max-steps=1 \
  --eval-every=-1 --checkpoint="$work/r50.ckpt"
mv "`echo "$work"/r50.ckpt/step-*/model.safetensors`" "$work/r50"
ok "SIGTERM ends an evaluation at once" ended
tap_done
