#! /bin/sh
# ImageNet's own three files, small: a picture for each of 1,000 classes, and 250 of them again as
# validation pictures.  ResNet-50 learns them by heart, so labels and the evaluation path are right, or
# it could not name the copies.  Long: it trains 25 epochs of 1,000 pictures at 112 pixels.
# shellcheck source=tests/tap.sh disable=SC2154
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/train/lib.sh"
if ! real ilsvrc2012-mini/ILSVRC2012_img_train.tar; then
  echo "1..0 # SKIP no real pictures: ilsvrc2012-mini is not in \$TRICOLOR_TEST_DATA or ../shared/data"
  exit 0
fi
from=${real%/*} pack=$top_builddir/tricolor-pack
limit=6000
ok "packs the training pictures" "$pack" create "$from/ILSVRC2012_img_train.tar" \
  --devkit "$from/ILSVRC2012_devkit_t12.tar.gz" -o "$work/set" --split train
ok "packs the validation pictures" "$pack" create "$from/ILSVRC2012_img_val.tar" \
  --devkit "$from/ILSVRC2012_devkit_t12.tar.gz" -o "$work/set" --split val
ok "trains 25 epochs" mpi 1 "$train" --data "$work/set" --model resnet50 --size 112 --devices 1 --batch 40 \
  --augment none --epochs 25 --schedule cosine --lr 0.04 --warmup 5 --eval-every 5 \
  --precision "${TRICOLOR_PRECISION-f32}" --log "$work/log"
value() { sed -n 's/.*"key":"'"$1"'","value":\([0-9.]*\).*/\1/p' "$work/log"; }
value train_accuracy | awk '{ printf "# epoch %d: training top-1 %.1f %%\n", NR, 100 * $1 }'
value eval_accuracy | awk '{ printf "# epoch %d: validation top-1 %.1f %%\n", 5 * NR, 100 * $1 }'
above() { value "$1" | tail -n 1 | awk -v low="$2" '{ a = $1 } END { exit !(a > low) }'; }
ok "training top-1 above 99 %" above train_accuracy 0.99
ok "validation top-1 above 95 %" above eval_accuracy 0.95
tap_done
