#! /bin/sh
# What the drawn set promises: a linear classifier on the pixels stays under 60 %, at every learning
# rate, while resnet20 passes 90 % in ten epochs.  Long: it trains.
# shellcheck source=tests/tap.sh disable=SC2154
. "$top_srcdir/tests/tap.sh"
limit=3000
train=$top_builddir/tricolor-train

# best KEY LOG: the highest value of the key.
best() {
  sed -n "s/.*\"key\":\"$1\",\"value\":\([0-9.eE+-]*\),.*/\1/p" "$2" | sort -g | tail -n 1
}
# between LOW VALUE HIGH
between() {
  echo "# $2, wanted from $1 to $3"
  awk -v low="$1" -v value="${2:-none}" -v high="$3" \
    'BEGIN { exit !(value != "none" && value + 0 >= low && value + 0 <= high) }'
}

ok "draw" "$top_builddir/tricolor-draw" -o "$work/pictures"
for split in train val; do
  ok "pack $split" "$top_builddir/tricolor-pack" create "$work/pictures" -o "$work/set" --split $split
done

for rate in 0.001 0.01 0.1; do
  ok "train a linear classifier at $rate" mpi 1 "$train" --data "$work/set" --model linear --batch 100 \
    --epochs 15 --lr $rate --augment none --log "$work/linear"
done
ok "it learns its training pictures a little" between 0.2 "$(best train_accuracy "$work/linear")" 1
ok "it stays under 60 % on others" between 0 "$(best eval_accuracy "$work/linear")" 0.6
echo "# linear: $(best eval_accuracy "$work/linear")"

ok "train resnet20" mpi 2 "$train" --data "$work/set" --model resnet20 --batch 32 --epochs 10 --lr 0.1 \
  --schedule cosine --log "$work/network"
ok "it passes 90 %" between 0.9 "$(best eval_accuracy "$work/network")" 1
echo "# resnet20: $(best eval_accuracy "$work/network")"
tap_done
