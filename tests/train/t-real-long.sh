#! /bin/sh
# CIFAR-10: resnet20 on 2 ranks reaches 80 % in ten epochs with the default recipe.  Long: it trains.
# shellcheck source=tests/tap.sh disable=SC2154
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/train/lib.sh"
real_pictures
pack=$top_builddir/tricolor-pack
limit=3500
ok "packs the training pictures" "$pack" create "$archive" -o "$work/set" --split train
ok "packs the validation pictures" "$pack" create "$archive" -o "$work/set" --split val
ok "trains ten epochs" mpi 2 "$train" --data "$work/set" --model resnet20 --devices 1 --batch 64 \
  --epochs 10 --log "$work/log"
eval_accuracy=$(sed -n 's/.*"key":"eval_accuracy","value":\([0-9.]*\).*/\1/p' "$work/log" | tail -n 1)
echo "# accuracy $eval_accuracy"
ok "reaches 80 %" awk -v a="${eval_accuracy:-0}" 'BEGIN { exit !(a >= 0.80) }'
tap_done
