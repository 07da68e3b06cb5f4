#! /bin/sh
# verify and extract see what is wrong with a set, name it and fail.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/pack/lib.sh"

"$pack" create "$src" -o "$work/good" --split train --shards 2 >/dev/null 2>&1 || exit 99
"$pack" create "$src" -o "$work/good" --split val --shards 2 >/dev/null 2>&1 || exit 99
ok "a sound set" "$pack" verify "$work/good" --decode --threads 3
fresh() { rm -rf "$work/bad" && cp -r "$work/good" "$work/bad"; }
shard=$work/bad/train/00001.shard

fresh; "$tool" flip "$shard" 300
fails "a flipped byte in the data" 1 'train/00001.shard: record 0 (.*p.*jpg): its checksum' \
  "$pack" verify "$work/bad"
fails "extract sees it, too" 1 'record 0 (.*): its checksum' "$pack" extract "$work/bad" \
  -o "$work/taken"
fresh; "$tool" flip "$shard" 300; "$tool" flip "$work/bad/val/00000.shard" 20
fails "two faults are counted" 1 'bad: 2 faults' "$pack" verify "$work/bad"
fresh; "$tool" flip "$shard" 20
fails "in the header" 1 '00001.shard: the checksum of its header' "$pack" verify "$work/bad"
fresh; "$tool" flip "$shard" `wc -c <"$shard" | awk '{ print $1 - 3 }'`
fails "in the names" 1 '00001.shard: the checksum of its index' "$pack" verify "$work/bad"
fresh; head -c 500 "$work/good/train/00001.shard" >"$shard"
fails "a truncated shard" 1 '00001.shard: truncated' "$pack" verify "$work/bad"
fresh; "$tool" rename "$shard" TRICOLOR MAGENTAS
fails "no shard" 1 '00001.shard: not a finished tricolor shard' "$pack" verify "$work/bad"
fresh; rm "$shard"
fails "a missing shard" 1 '00001.shard: cannot open' "$pack" verify "$work/bad"
fresh; cp "$work/good/train/00000.shard" "$shard"
fails "a shard twice" 1 '00001.shard: it is shard 0' "$pack" verify "$work/bad"
fresh; cp "$work/good/val/00001.shard" "$shard"
fails "a shard of the other split" 1 '00001.shard: it has .* records' "$pack" verify "$work/bad"

json=$work/bad/train/dataset.json
# change FROM TO: the last place on the first line that has it.
change() {
  sed "s/$1/$2/" "$work/good/train/dataset.json" >"$json"
  if cmp -s "$json" "$work/good/train/dataset.json"; then exit 99; fi
}
fresh; change '"version": 1' '"version": 7'
fails "another version" 1 'packed by another version: its format is 7' "$pack" verify "$work/bad"
fresh; change '"count": 3' '"count": 4'
fails "a count that does not add up" 1 'do not add up' "$pack" verify "$work/bad"
fresh; change '"count": 3' '"count": 99'; sed 's/"count": 5/"count": 4/;s/"count": 99/"count": 4/' \
  "$json" >"$json.new" && mv "$json.new" "$json"
fails "counts that only add up" 1 'class ant: it says 4 records, the shards have 3' \
  "$pack" verify "$work/bad"
fresh; change '"bytes": ' '"bytes": 1'
fails "a wrong total" 1 'totals are not those of the shards' "$pack" verify "$work/bad"
fresh; change '"name": "ant"' '"name": "ape"'
fails "a renamed class" 1 'hash of its classes' "$pack" verify "$work/bad"
fresh; rm "$json"
fails "no mark" 1 'holds no finished train set' "$pack" verify "$work/bad"
fails "for extract, too" 1 'holds no finished train set' "$pack" extract "$work/bad" -o "$work/taken"
fails "for info, too" 1 'holds no finished train set' "$pack" info "$work/bad"
fails "no data set" 1 'nowhere' "$pack" verify "$work/nowhere"
fails "no data set, info" 1 'nowhere' "$pack" info "$work/nowhere"
mkdir "$work/hollow"
fails "an empty folder" 1 'holds no finished val set' "$pack" verify "$work/hollow"
if test "`id -u`" -ne 0; then
  fresh; chmod 0 "$shard"
  fails "an unreadable shard" 1 '00001.shard: cannot open: Permission' "$pack" verify "$work/bad"
else
  skip "an unreadable shard" "root reads everything"
fi
tap_done
