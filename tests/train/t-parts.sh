#! /bin/sh
# One device that trains its slice in parts equals many devices with a part each: the same pictures, the
# same first gradient, the same losses, the same evaluation.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/train/lib.sh"
"$make_set" "$work/set" train=100 val=13 || exit 99
steps=5

# run NAME RANKS DEVICES BATCH OPTION...
run() {
  name=$1 ranks=$2 devices=$3 batch=$4; shift 4
  launch "$ranks" --data="$work/set" --model=resnet20 --devices="$devices" --batch="$batch" --epochs=20 \
    --eval-every=0 --max-steps=$steps --sync-steps=1 --dump-order="$work/$name.order.%r" \
    --dump-gradient="$work/$name.gradient" --dump-loss="$work/$name.loss" --log="$work/$name.log" "$@" || return 1
  # Ranks, devices and slices left aside, the order of the pictures.
  sort -n -k1,1 -k2,2 "$work/$name".order.* |
    awk '{ for (i = 4; i <= NF; i++) print $1, $i }' >"$work/$name.order"
}
same_order() { test -s "$work/$1.order" && cmp "$work/$1.order" "$work/$2.order"; }
eval_loss() { sed -n 's/.*"key":"eval_accuracy".*"loss":\([0-9.e-]*\).*/\1/p' "$work/$1.log"; }
same_eval() {
  echo "# `eval_loss "$1"` `eval_loss "$2"`"
  awk "BEGIN { a = `eval_loss "$1"`; b = `eval_loss "$2"`; exit !(a > 0 && (a - b) ^ 2 <= (1e-5 * b) ^ 2) }"
}
against() {
  ok "$1: the pictures of every step are those of $2" same_order "$1" "$2"
  ok "$1: first gradient within 1e-5" "$compare" floats "$work/$1.gradient" "$work/$2.gradient" 1e-5
  sed 's/^/# /' "$work/out"
  ok "$1: $steps losses within 1e-5" "$compare" losses "$work/$1.loss" "$work/$2.loss" 1e-5
  ok "$1: evaluates alike" same_eval "$1" "$2"
}

ok "1 rank x 8 devices, batch 4" run many 1 8 4
ok "1 device, 8 batches of 4" run accumulate 1 1 4 --accumulate=8
against accumulate many
ok "1 device, a batch of 32, BN over 4" run bn 1 1 32 --bn-batch=4
against bn many
ok "2 ranks x 2 devices, 2 batches of 4" run mixed 2 2 4 --accumulate=2
against mixed many
ok "2 ranks x 1 device, 2 batches of 8, BN over 4" run both 2 1 8 --accumulate=2 --bn-batch=4
against both many
ok "2 ranks, nothing overlaps" run off 2 1 4 --accumulate=4 --overlap=off
against off many

# So the statistics of 4 pictures are not those of 32.
ok "1 device, a batch of 32" run whole 1 1 32
other() { ! "$compare" floats "$work/whole.gradient" "$work/many.gradient" 1e-3; }
ok "without --bn-batch the gradient is another" other

# A checkpoint holds the parts; a resumed run equals an undisturbed one.
ck() { launch 1 --data="$work/set" --model=resnet20 --batch=4 --accumulate=2 --epochs=2 --eval-every=-1 \
  --checkpoint="$work/ck.$1" --checkpoint-every=0.5 "$2" "$3"; }
resumed() {
  ck a -q -q && ck b --max-steps=6 -q && ck b --resume -q &&
  cmp "`echo "$work"/ck.a/step-*24/model.safetensors`" "`echo "$work"/ck.b/step-*24/model.safetensors`"
}
ok "resumed in the middle, bit by bit" resumed
ck c --max-steps=6 -q || exit 99
fails "resuming with other parts is refused" 1 'with another .accumulate.: 2, now 1' \
  launch 1 --data="$work/set" --model=resnet20 --batch=4 --accumulate=1 --epochs=2 --eval-every=-1 \
  --checkpoint="$work/ck.c" --checkpoint-every=0.5 --resume
fails "parts that do not divide the batch" 2 'bn-batch=5 does not divide --batch=8' \
  "$train" --data="$work/set" --batch=8 --bn-batch=5
fails "parts with the baseline table" 2 'need --table=optimized' \
  "$train" --data="$work/set" --accumulate=2 --table=baseline

# --init takes a file made for another number of classes, but not to evaluate with.
"$make_set" "$work/six" train=40 val=10 classes=6 || exit 99
weights=`echo "$work"/ck.a/step-*24/model.safetensors`
ok "--init from 4 classes to 6" keep launch 1 --data="$work/six" --model=resnet20 --batch=8 --epochs=1 \
  --init="$weights" --max-steps=1 --lr=1e-30 --warmup=0 --eval-every=-1 --checkpoint="$work/ck.six"
ok "... says so" said 'made for 4 classes, not 6: the last layer begins anew'
kept() {
  "$top_builddir/tests/train/weights" "$1" | grep '^conv1.weight' >"$work/kept.1"
  "$top_builddir/tests/train/weights" "$work"/ck.six/step-*/model.safetensors | grep '^conv1.weight' >"$work/kept.2"
  test -s "$work/kept.1" && cmp "$work/kept.1" "$work/kept.2"
}
ok "... and keeps the other layers" kept "$weights"
fails "--evaluate with another number of classes" 1 'fc.weight has shape' \
  launch 1 --data="$work/six" --model=resnet20 --batch=8 --evaluate --init="$weights"
tap_done
