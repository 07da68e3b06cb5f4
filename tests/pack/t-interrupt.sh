#! /bin/sh
# Packing that is ended in the middle: by a kill, by a full disk.  Nothing that is left looks finished,
# and packing again gives what an undisturbed run gives.  Memory stays bounded.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/pack/lib.sh"

many=$top_builddir/tests/pack/many
shards=60
create() { "$pack" create "$@" --shards $shards --threads 2; }
files() { find "$1" -type f 2>/dev/null; }
nothing() { test -z "`files "$1"`"; }
"$many" 1500 5 1 >"$work/many.tar" || exit 99
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
# unfinished: the folder says so to verify, and to the trainer; or the kill came too late and it is sound.
unfinished() {
  if test -e "$work/k/train/dataset.json"; then
    same "$work/whole/train" "$work/k/train"
  else
    "$pack" verify "$work/k" >"$work/said" 2>&1 && return 1
    grep -q 'holds no finished train set' "$work/said"
  fi
}
for at in 1 40000 1500000; do
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
  ok "packing again" create "$work/many.tar" -o "$work/k" --split train --force
  ok "gives the whole, and no more" same "$work/whole/train" "$work/k/train"
done

# Over a finished set: as long as the new one is not read to its end, the old one stands.
rm -rf "$work/k" && cp -r "$work/older" "$work/k"
ok "killed while replacing a set" killed 0 1000000
ok "the old one is sound" says '300 records.* 0 faults' "$pack" verify "$work/k"
ok "killed while the new one is finished" killed 20 40000
ok "neither looks finished" unfinished
ok "packing again" create "$work/many.tar" -o "$work/k" --split train --force
ok "gives the whole, and no more" same "$work/whole/train" "$work/k/train"

# A disk that is full, as a limit on the size of a file: in the data, and in the index at the end.
limited() { blocks=$1; shift; (ulimit -f "$blocks" && "$pack" create "$@"); }
fails "a full disk" 1 'shard.tmp: cannot write: ' limited 600 "$work/many.tar" -o "$work/full" --split train --shards 1
ok "leaves nothing" nothing "$work/full"
rm -rf "$work/full" && cp -r "$work/older" "$work/full"
fails "a full disk under a finished set" 1 'cannot write: ' limited 600 "$work/many.tar" -o "$work/full" --split train \
  --shards 1 --force
ok "leaves it as it was" same "$work/older/train" "$work/full/train"

create "$work/many.tar" -o "$work/one" --split train --shards 1 >/dev/null 2>&1 || exit 99
bytes=`wc -c <"$work/one/train/00000.shard"`
fails "a disk that is full at the very end" 1 'cannot write: ' limited `expr $bytes / 512` "$work/many.tar" \
  -o "$work/full" --split train --shards 1 --force
ok "leaves it as it was, too" same "$work/older/train" "$work/full/train"

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
