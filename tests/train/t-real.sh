#! /bin/sh
# Real pictures: CIFAR-10 straight from its archive, counts and checksums, and a start of training.
# The whole proof, ten epochs and 80 %, is t-real-long.sh.
# shellcheck source=tests/tap.sh disable=SC2154
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/train/lib.sh"
real_pictures
pack=$top_builddir/tricolor-pack
limit=600

says() { # TEXT COMMAND...: the command succeeds and its output has the text
  says_text=$1; shift
  "$@" >"$work/says" 2>&1 || { cat "$work/says"; return 1; }
  cat "$work/says"
  grep -q -e "$says_text" "$work/says"
}

ok "packs 50,000 training pictures" "$pack" create "$archive" -o "$work/set" --split train
ok "packs 10,000 validation pictures" "$pack" create "$archive" -o "$work/set" --split val
ok "counts 50,000" grep -q '"records": 50000' "$work/set/train/dataset.json"
ok "counts 10,000" grep -q '"records": 10000' "$work/set/val/dataset.json"
ok "verifies every record" "$pack" verify --decode "$work/set"

# The default recipe of ten epochs, cut off early.  Seen with oneDNN and AVX-512: 31.2 %.
ok "trains 200 steps" mpi 2 "$train" --data "$work/set" --model resnet20 --devices 1 --batch 64 \
  --epochs 10 --max-steps 200 --eval-every 0 --log "$work/log"
eval_accuracy=$(sed -n 's/.*"key":"eval_accuracy","value":\([0-9.]*\).*"samples":10000.*/\1/p' "$work/log")
echo "# accuracy $eval_accuracy"
ok "evaluates all 10,000 pictures, above 25 % (chance: 10 %)" \
  awk -v a="${eval_accuracy:-0}" 'BEGIN { exit !(a > 0.25) }'
tap_done
