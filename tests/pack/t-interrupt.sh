#! /bin/sh
# Packing that is ended in the middle: by a kill, by a full disk, by a picture.  Nothing that is left
# looks finished; packing again takes over what is packed, and gives what an undisturbed run gives.
# Memory stays bounded.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/pack/lib.sh"

many=$top_builddir/tests/pack/many
shards=60
create() { "$pack" create "$@" --shards $shards --threads 2; }
files() { find "$1" -type f 2>/dev/null; }
nothing() { test -z "`files "$1"`"; }
"$many" 5000 5 1 >"$work/many.tar" || exit 99
ok "undisturbed" create "$work/many.tar" -o "$work/whole" --split train
"$many" 300 5 2 >"$work/other.tar" || exit 99
create "$work/other.tar" -o "$work/older" --split train >/dev/null 2>&1 || exit 99

# count PATTERN: files of that kind in the folder that is written.
count() { find "$work/k/train" -name "$1" 2>/dev/null | wc -l; }

# killed SHARDS: start from a pipe that stays open when its last byte is through, so that the packer
# waits; kill it there, or, with SHARDS > 0, let it go on and kill it once that many are finished.
killed() {
  rm -f "$work/pipe"; mkfifo "$work/pipe"
  "$pack" create - -o "$work/k" --split train --shards $shards --threads 2 --force <"$work/pipe" \
    >"$work/said" 2>&1 &
  victim=$!
  exec 4>"$work/pipe"
  head -c "$2" "$work/many.tar" >&4
  while test "`count '*.shard.tmp'`" -lt $shards && kill -0 $victim 2>/dev/null; do sleep 0.02; done
  if test "$1" -gt 0; then
    tail -c +`expr "$2" + 1` "$work/many.tar" >&4
    exec 4>&-
    while { test -e "$work/k/train/dataset.json" || test "`count '*.shard'`" -lt "$1"; } && kill -0 $victim 2>/dev/null; do :; done
  fi
  kill -9 $victim 2>/dev/null
  exec 4>&-
  wait $victim 2>/dev/null
  return 0
}
# taken COUNT COMMAND...: at least so many pictures are taken over from an interrupted run.
taken() {
  least=$1; shift
  "$@" >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
  taken=`sed -n 's/.*: \([0-9]*\) pictures of an interrupted run are taken over.*/\1/p' "$work/said"`
  test "${taken:-0}" -ge "$least" || { cat "$work/said"; return 1; }
}
# unfinished: the folder says so to verify, and to the trainer; or the kill came too late and it is sound.
unfinished() {
  if test -e "$work/k/train/dataset.json"; then
    same "$work/whole/train" "$work/k/train"
  else
    "$pack" verify "$work/k" >"$work/said" 2>&1 && return 1
    grep -q 'holds no finished train set' "$work/said"
  fi
}
for at in 1 40000 1200000; do # before the first 1,024 pictures
  rm -rf "$work/k"
  ok "killed after $at bytes" killed 0 $at
  ok "is not finished" unfinished
done
left=`count '*.tmp'`
ok "something was left" test "$left" -gt 0
ok "packing again" create "$work/many.tar" -o "$work/k" --split train
ok "gives the whole, and no more" same "$work/whole/train" "$work/k/train"
for n in 1 20 55; do
  rm -rf "$work/k"
  ok "killed after $n of $shards shards" killed $n 40000
  ok "is not finished" unfinished
  if test -e "$work/k/train/journal.tmp"; then
    ok "packing again" taken 5000 create "$work/many.tar" -o "$work/k" --split train
  else
    ok "packing again" create "$work/many.tar" -o "$work/k" --split train --force
  fi
  ok "gives the whole, and no more" same "$work/whole/train" "$work/k/train"
done

# interrupted SOURCE... : kill it behind 3,072 pictures or more; the last source comes by a pipe.
interrupted() {
  rm -rf "$work/k" "$work/pipe"; mkfifo "$work/pipe"
  "$pack" create "$@" - -o "$work/k" --split train --shards $shards --threads 2 --on-error skip \
    <"$work/pipe" >"$work/said" 2>&1 &
  victim=$!
  exec 4>"$work/pipe"
  head -c 10000000 "$work/many.tar" >&4
  i=0
  # 72 bytes an entry
  while test "`wc -c <"$work/k/train/journal.tmp"`" -lt 230000 -a $i -lt 500; do sleep 0.02; i=`expr $i + 1`; done
  kill -9 $victim
  exec 4>&-
  wait $victim 2>/dev/null
  test ! -e "$work/k/train/dataset.json" -a $i -lt 500
}
again() { create "$work/many.tar" -o "$work/k" --split train "$@"; }
ok "killed in the middle" interrupted
ok "is not finished" unfinished
cp -r "$work/k" "$work/half"
ok "packing again takes over what is packed" taken 3072 again
ok "and gives the whole" same "$work/whole/train" "$work/k/train"
half() { rm -rf "$work/k" && cp -r "$work/half" "$work/k"; }
half; "$tool" flip "$work/k/train/00007.shard.tmp" 20000
ok "a byte changed on the disk" taken 100 again --threads 1
ok "is seen: the pictures from there on are packed again" test "$taken" -lt 3072
ok "and gives the whole" same "$work/whole/train" "$work/k/train"
half; head -c 100000 "$work/half/train/journal.tmp" >"$work/k/train/journal.tmp"
ok "half of the journal" taken 1300 again
ok "counts for that half" test "$taken" -lt 1400
ok "and gives the whole" same "$work/whole/train" "$work/k/train"
half; rm "$work/k/train/00007.shard.tmp"
ok "a shard that is gone" again
ok "and gives the whole" same "$work/whole/train" "$work/k/train"
half
ok "other options" says 'interrupted run with other options is given up' again --quality 80
create "$work/many.tar" -o "$work/q" --split train --quality 80 >/dev/null 2>&1
ok "start again" same "$work/q/train" "$work/k/train"

# Another source: one picture has another comment, the last ones are missing.
cp "$work/many.tar" "$work/other.tar"
"$tool" rename "$work/other.tar" 0000000000002000 0000000000002001 || exit 99
half
ok "another picture" says 'n00000003_2000.JPEG is not what the interrupted run had there.*starting again' create \
  "$work/other.tar" -o "$work/k" --split train
create "$work/other.tar" -o "$work/q" --split train --force >/dev/null 2>&1
ok "is packed" same "$work/q/train" "$work/k/train"
half
given() { create - -o "$work/k" --split train <"$work/other.tar"; }
fails "that cannot be read twice" 1 'not what the interrupted run had there; .* give the input again' given
ok "leaves nothing" nothing "$work/k"
ok "given again" given
ok "is packed" same "$work/q/train" "$work/k/train"
half; "$many" 2000 5 1 >"$work/other.tar"
ok "fewer pictures" says 'is not what the interrupted run had there' create "$work/other.tar" -o "$work/k" --split train
ok "are packed" says '2000 records.* 0 faults' "$pack" verify "$work/k"

# With files that are left out and pictures that are listed before and behind the kill.
mkdir -p "$work/odd/n00000001"
for name in gray progressive cmyk j440 gif cut_half corrupt exif_6; do
  "$tool" craft $name "$work/odd/n00000001/$name.JPEG" || exit 99
done
create "$work/odd" "$work/many.tar" -o "$work/odd1" --split train --on-error skip >"$work/said" 2>&1 || exit 99
ok "the list has them all" test "`wc -l <"$work/odd1/train/create.tsv"`" -eq 9
ok "killed behind odd pictures" interrupted "$work/odd"
ok "packing again" taken 3072 create "$work/odd" "$work/many.tar" -o "$work/k" --split train --on-error skip
ok "gives the whole, and the same list" same "$work/odd1/train" "$work/k/train"

# A picture that ends it late.
mkdir "$work/late" && (cd "$work/late" && tar -xf "$work/many.tar") || exit 99
cp "$work/odd/n00000001/gif.JPEG" "$work/late/n00000006_1.JPEG"
(cd "$work/late" && tar -cf n00000006.tar n00000006_1.JPEG && rm n00000006_1.JPEG)
cp "$work/odd/n00000001/gray.JPEG" "$work/late/n00000006_2.JPEG"
(cd "$work/late" && tar -rf n00000006.tar n00000006_2.JPEG && rm n00000006_2.JPEG)
fails "a GIF behind 5,000 pictures" 1 'n00000006_1.JPEG: .*skip; what is packed by now stays in' create "$work/late" \
  -o "$work/l" --split train
ok "is left out" taken 5000 create "$work/late" -o "$work/l" --split train --on-error skip
create "$work/late" -o "$work/l1" --split train --on-error skip >/dev/null 2>&1
ok "as in one run" same "$work/l1/train" "$work/l/train"

# Over a finished set: as long as the new one is not read to its end, the old one stands.
rm -rf "$work/k" && cp -r "$work/older" "$work/k"
ok "killed while replacing a set" killed 0 1000000
ok "the old one is sound" says '300 records.* 0 faults' "$pack" verify "$work/k"
ok "killed while the new one is finished" killed 20 40000
ok "neither looks finished" unfinished
ok "packing again" create "$work/many.tar" -o "$work/k" --split train --force
ok "gives the whole, and no more" same "$work/whole/train" "$work/k/train"

# A disk that is full, as a limit on the size of a file (in units of 512 or 1,024 bytes, as the shell
# has it): in the data, and in the index at the end.
limited() { blocks=$1; shift; (ulimit -f "$blocks" && "$pack" create "$@"); }
fails "a full disk" 1 'shard.tmp: cannot write: ' limited 600 "$work/many.tar" -o "$work/full" --split train --shards 1
ok "leaves nothing" nothing "$work/full"
rm -rf "$work/full" && cp -r "$work/older" "$work/full"
fails "a full disk under a finished set" 1 'cannot write: ' limited 600 "$work/many.tar" -o "$work/full" --split train \
  --shards 1 --force
ok "leaves it as it was" same "$work/older/train" "$work/full/train"

"$pack" create "$work/many.tar" -o "$work/one" --split train --shards 1 >/dev/null 2>&1 || exit 99
bytes=`wc -c <"$work/one/train/00000.shard"`
fails "a disk that is full at the very end" 1 'cannot write: ' limited `expr $bytes / 1024` "$work/many.tar" \
  -o "$work/full" --split train --shards 1 --force
unchanged() { for f in "$1"/*; do cmp "$f" "$2/`basename "$f"`" || return 1; done; }
ok "leaves it as it was, too" unchanged "$work/older/train" "$work/full/train"
ok "with room" taken 2048 "$pack" create "$work/many.tar" -o "$work/full" --split train --shards 1 --force
ok "is finished" same "$work/one/train" "$work/full/train"

# Names.
ok "a name of 300 bytes" tar -cf "$work/long.tar" --transform "s,p0,`printf '%0300d' 7`," -C "$src/train" ant bee
ok "is packed" create "$work/long.tar" -o "$work/long" --split train
ok "and sound" "$pack" verify "$work/long" --decode
fails "but is no file name" 1 '0007.jpg: cannot create: ' "$pack" extract "$work/long" -o "$work/long/out"
tar -cf "$work/long.tar" --transform "s,ant,`printf '%0300d' 7`," -C "$src/train" ant bee || exit 99
fails "a class of 300 bytes" 1 'its name is longer than 255 bytes' create "$work/long.tar" -o "$work/n" --split train
fails "the same source twice" 1 'the source has it twice' create "$src" "$src" -o "$work/n" --split train
ok "leaves nothing" nothing "$work/n"

# 400 MB of pictures in less memory than that; the limit is on addresses, threads' stacks included.
# shellcheck disable=SC3045
bounded() { "$many" 400 4 1 1000000 | (ulimit -v 300000 && create - -o "$work/bounded" --split train --keep); }
case `"$pack" --version; ldd "$pack" 2>/dev/null` in
  *libasan* | *libtsan*) skip "bounded memory" "a sanitizer takes more" ;;
  *) ok "bounded memory" bounded
     ok "is packed whole" says '400 records.* 0 faults' "$pack" verify "$work/bounded" ;;
esac
tap_done
