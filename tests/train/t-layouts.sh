#! /bin/sh
# The same global batch on 1, 2, 3 and 4 ranks: the same pictures on the same global device in the same
# order, the same first gradient, the same losses.  $steps: how many losses (5; t-layouts-long.sh: 50).
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/train/lib.sh"
: "${steps=5}" "${tolerance=1e-5}"
"$make_set" "$work/set" train=100 val=10 || exit 99

# run NAME RANKS DEVICES BATCH OPTION...
run() {
  name=$1 ranks=$2 devices=$3 batch=$4; shift 4
  launch "$ranks" --data="$work/set" --model=resnet20 --devices="$devices" --batch="$batch" --epochs=20 \
    --eval-every=-1 --max-steps="$steps" --sync-steps=1 --dump-order="$work/$name.order.%r" \
    --dump-gradient="$work/$name.gradient" --dump-loss="$work/$name.loss" "$@" || return 1
  sort -n -k1,1 -k2,2 -k3,3 "$work/$name".order.* >"$work/$name.order"
}
same_order() { test -s "$work/$1.order" && cmp "$work/$1.order" "$work/$2.order"; }
right_lines() { test "`wc -l <"$work/$1.order"`" -eq "$2"; }

# against NAME REFERENCE
against() {
  ok "$1: the pictures of every device and step are those of $2" same_order "$1" "$2"
  ok "$1: first gradient within 1e-5 of $2" "$compare" floats "$work/$1.gradient" "$work/$2.gradient" 1e-5
  sed 's/^/# /' "$work/out"
  ok "$1: $steps losses within $tolerance of $2" "$compare" losses "$work/$1.loss" "$work/$2.loss" "$tolerance"
  sed 's/^/# /' "$work/out"
}

ok "1 rank x 12 devices" run 1x12 1 12 2
ok "a line for every device and step" right_lines 1x12 `expr 12 \* $steps`
for layout in 2x6 3x4 4x3; do
  ok "`echo $layout | sed 's/x/ ranks x /'` devices" \
    run $layout `echo $layout | sed 's/x/ /'` 2
  against $layout 1x12
done
ok "4 ranks x 1 device" run 4x1 4 1 4 --eval-every=0 --log="$work/4x1.log"
ok "2 ranks x 2 devices" run 2x2 2 2 4 --eval-every=0 --log="$work/2x2.log"
against 2x2 4x1

# BN statistics are averaged over all devices, so evaluation does not know how they lie on the ranks.
eval_loss() { sed -n 's/.*"key":"eval_accuracy".*"loss":\([0-9.e-]*\).*/\1/p' "$work/$1.log"; }
same_eval() {
  echo "`eval_loss 2x2` `eval_loss 4x1`"
  awk "BEGIN { a = `eval_loss 2x2`; b = `eval_loss 4x1`; exit !(a > 0 && (a - b) ^ 2 <= ($tolerance * b) ^ 2) }"
}
ok "and evaluate alike" same_eval

# The baselines of the three optimizations compute the same.
for toggle in table=baseline allreduce=mpi allreduce=ring allreduce=rabenseifner allreduce=doubling store=files; do
  ok "2x2 with --$toggle" run "$toggle" 2 2 4 "--$toggle" --eval-every=0 --log="$work/$toggle.log"
  against "$toggle" 2x2
done

# ... except that Torch's table evaluates with the statistics of one device: so the mean above was one.
other_eval() {
  echo "`eval_loss table=baseline` `eval_loss 2x2`"
  test "`eval_loss allreduce=mpi`" = "`eval_loss 2x2`" && test "`eval_loss table=baseline`" != "`eval_loss 2x2`"
}
ok "the baseline table alone evaluates differently" other_eval

# No picture twice in an epoch: 4 steps of 24 are the first 96 of 100.
once() {
  awk '$1 == 0 { for (i = 4; i <= NF; i++) { n++; if (seen[$i]++) twice++; if ($i + 0 > 99) out++ } }
    END { exit !(n == 96 && !twice && !out) }' "$work/1x12.order"
}
ok "an epoch uses every record at most once" once
tap_done
