#! /bin/sh
# Every crafted picture through the packer: what it says, what it lists, how it ends; and what it
# packed through the trainer.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/pack/lib.sh"

create() { "$pack" create "$@" --shards 2 --threads 2; }
files() { find "$1" -type f 2>/dev/null | sed 's,.*/,,' | sort | tr '\n' ' '; }
nothing() { test -z "`files "$1"`"; }

# All of them, with names that say nothing: sound/ and bad/ in two classes each.
"$tool" craft >"$work/names" || exit 99
mkdir -p "$work/sound/a" "$work/sound/b" "$work/bad/a" "$work/bad/b" "$work/mixed/a" "$work/one/a"
n_sound=0 n_bad=0
while read -r kind name; do
  class=a
  test `expr $n_sound % 2` -eq 0 && class=b
  "$tool" craft "$name" "$work/file"; rc=$?
  test $rc -eq 3 && continue # not by this libjpeg
  test $rc -eq 0 || exit 99
  cp "$work/file" "$work/$kind/$class/$name.JPEG"
  case $kind in
    sound) n_sound=`expr $n_sound + 1` ;;
    bad) n_bad=`expr $n_bad + 1` ;;
  esac
done <"$work/names"
cp -r "$work/sound" "$work/all"
cp "$work/bad"/*/* "$work/all/a"
png=yes
"$tool" craft png_rgb "$work/file" || png=no
test "$png" = no && echo "# without libpng"

# Sound ones.
if test "$png" = yes; then
  ok "every sound one is packed" says "$n_sound records.* 0 rejected" create "$work/sound" -o "$work/set" \
    --split train
  ok "and is decoded again" "$pack" verify "$work/set" --decode
  ok "kept" says "$n_sound records.* 0 rejected" create "$work/sound" -o "$work/kept" --split train --keep
  ok "and is decoded again" "$pack" verify "$work/kept" --decode
  ok "turned" says "$n_sound records.* 0 rejected" create "$work/sound" -o "$work/turned" --split train \
    --exif apply
  ok "and is decoded again" "$pack" verify "$work/turned" --decode
  ok "with 1 thread as with 2" "$pack" create "$work/sound" -o "$work/single" --split train --shards 2 \
    --threads 1
  ok "is the same, list and all" same "$work/set/train" "$work/single/train"
else
  skip "every sound one" "built without libpng"
fi

# listed NAME OUTCOME WHAT: the line of create.tsv.
listed() {
  awk -F '\t' -v n="$1.JPEG" -v o="$2" -v w="$3" \
    '{ sub(".*/", "", $2) } $2 == n && $3 == o && $4 == w { found = 1 } END { exit !found }' \
    "$list" && return
  grep "$1" "$list"; return 1
}
if test "$png" = yes; then
  list=$work/set/train/create.tsv
  ok "lists CMYK" listed cmyk_adobe encoded cmyk
  ok "lists YCCK" listed progressive_cmyk encoded cmyk,progressive
  ok "lists gray" listed gray kept gray
  ok "lists progressive" listed progressive transcoded progressive
  ok "lists arithmetic" listed arithmetic transcoded arithmetic
  ok "lists an odd sampling" listed j440 kept sampling
  ok "lists an orientation" listed exif_6 kept orientation
  ok "lists a PNG" listed png_rgba16 encoded png
  ok "lists bytes behind the end" listed trailing kept trailing
  ok "lists none that is plain" test "`grep -c baseline "$list"`" -eq 0
  list=$work/turned/train/create.tsv
  ok "lists what was turned" listed exif_6 encoded turned
fi

# Unsound ones: alone, by default, each is refused by name, and nothing is left.
cp "$work/sound/b/baseline.JPEG" "$work/one/a/sound.JPEG" || exit 99
for file in "$work/bad"/*/*; do
  name=`basename "$file" .JPEG`
  cp "$file" "$work/one/a/$name.JPEG"
  fails "$name" 1 "a/$name.JPEG: .*; remove it, or leave out such files with --on-error skip" \
    create "$work/one" -o "$work/no" --split train
  ok "$name: nothing is left" nothing "$work/no"
  rm "$work/one/a/$name.JPEG"
done

# All of them: left out, counted, listed; or kept in part.
if test "$png" = yes; then
  ok "all, skipping" says "$n_sound records.* $n_bad rejected" create "$work/all" -o "$work/skip" \
    --split train --on-error skip
  ok "says so" grep -q "$n_bad left out: .*empty.*foreign.*unsupported.*too-large.*truncated.*damaged" \
    "$work/said"
  list=$work/skip/train/create.tsv
  ok "lists each" test "`grep -c '	rejected	' "$list"`" -eq "$n_bad"
  for each in nothing:empty gif:foreign zeros:foreign garbage:foreign bits12:unsupported \
    bomb:too-large cut_half:truncated header_alone:truncated corrupt:damaged png_cut:truncated; do
    ok "lists $each" listed "${each%:*}" rejected "${each#*:}"
  done
  ok "is a sound set" "$pack" verify "$work/skip" --decode
  ok "all, keeping" says "records" create "$work/all" -o "$work/keep" --split train --on-error keep
  list=$work/keep/train/create.tsv
  salvaged=`awk -F '\t' '$4 ~ /salvaged/' "$list" | wc -l`
  left=`grep -c '	rejected	' "$list"`
  ok "counts what is kept in part" grep -q "$salvaged damaged pictures kept in part" "$work/said"
  ok "kept in part or left out: all" test `expr "$salvaged" + "$left"` -eq "$n_bad" -a "$salvaged" -ge 9
  ok "lists one" listed cut_half encoded salvaged
  ok "is a sound set, too" "$pack" verify "$work/keep" --decode
fi

# Limits.
fails "too many pixels" 1 'more than the 6143 allowed (--max-pixels)' create "$work/one" -o "$work/no" \
  --split train --max-pixels 6143
ok "just as many" create "$work/one" -o "$work/ok" --split train --max-pixels 6144
fails "no such rule" 2 'fail, skip or keep' create "$work/one" -o "$work/no" --split train --on-error ask

# What was packed, as originals and with its damaged ones kept, through training.
train=$top_builddir/tricolor-train
if test "$png" = yes; then
  for set in kept keep; do
    ok "$set: a val set" create "$work/sound" -o "$work/$set" --split val --keep
    ok "$set: trained on" mpi 1 "$train" --backend=ref --threads=1 --loader-threads=2 --data="$work/$set" \
      --model=linear --batch=4 --epochs=1 --log="$work/$set.log"
    ok "$set: none was replaced" grep -q '"replaced":0}' "$work/$set.log"
  done
  at=`expr 200 + 128`
  for s in "$work/kept/train"/*.shard; do "$tool" flip "$s" "$at"; done
  fails "a corrupt record" 1 'record [0-9]* .*checksum is wrong' mpi 1 "$train" --backend=ref --threads=1 \
    --loader-threads=1 --data="$work/kept" --model=linear --batch=4 --epochs=1
fi
tap_done
