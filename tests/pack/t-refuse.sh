#! /bin/sh
# What is refused: each with a message that names the file, a non-zero status, and nothing left
# that looks like a finished set.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/pack/lib.sh"

create() { "$pack" create "$@" --shards 4 --threads 2; }
files() { find "$1" -type f | sed 's,.*/,,' | sort | tr '\n' ' '; }
nothing() { test -z "`files "$1"`"; }

ok "a sound set" create "$src" -o "$work/set" --split train

# Wrong use.
fails "an unknown option" 2 'no-such' "$pack" create "$src" -o "$work/n" --split train --no-such
fails "an unknown command" 2 'bake: no such command' "$pack" bake
fails "no command" 2 'a command is wanted' "$pack"
fails "no source" 2 'no source' "$pack" create -o "$work/n" --split train
fails "no output" 2 '-o DIR' "$pack" create "$src" --split train
fails "no split" 2 '--split train|val' "$pack" create "$src" -o "$work/n"
fails "another split" 2 'train or val' "$pack" create "$src" -o "$work/n" --split test
fails "no number" 2 'whole number' "$pack" create "$src" -o "$work/n" --split train --shards 4x
fails "a number out of range" 2 'from 1 to 100' "$pack" create "$src" -o "$work/n" --split train \
  --quality 101
fails "two data sets" 2 'one data set' "$pack" verify "$work/a" "$work/b"
ok "--version" says "tricolor" "$pack" --version
ok "--help" says "extract DIR" "$pack" --help
ok "--help of a command" says "tricolor-pack create" "$pack" create --help
ok "--usage" says "hold-out" "$pack" create --usage

# Sources.
fails "a missing source" 1 "nowhere: cannot open: No such file" create "$work/nowhere" -o "$work/n" \
  --split train
echo hello >"$work/text"
fails "a source that is no archive" 1 "text: neither a folder nor" create "$work/text" \
  -o "$work/n" --split train
ok "leaves nothing" nothing "$work/n/train"
tar -cf "$work/whole.tar" -C "$src" train || exit 99
head -c 9000 "$work/whole.tar" >"$work/cut.tar"
fails "a truncated archive" 1 "cut.tar: damaged after" create "$work/cut.tar" -o "$work/n" \
  --split train
ok "leaves nothing" nothing "$work/n/train"
mkdir "$work/empty"
fails "an empty folder" 1 "empty: no pictures" create "$work/empty" -o "$work/n" --split train
fails "a prefix with nothing below" 1 "no pictures to pack below zoo" create "$src" -o "$work/n" \
  --split train --prefix zoo

cp -r "$src/train" "$work/empty/pets"
fails "a folder around the classes" 1 'say --prefix pets' create "$work/empty" -o "$work/n" \
  --split train
ok "leaves nothing" nothing "$work/n/train"
ok "packed with that prefix" create "$work/empty" -o "$work/p" --split train --prefix pets
ok "is the same" same "$work/set/train" "$work/p/train"

# Things among the pictures.  bad NAME: a fresh copy of the training folder.
bad() { rm -rf "$work/bad" && cp -r "$src/train" "$work/bad"; }
bad; mkdir "$work/bad/dog"
fails "an empty class" 1 "class folder dog holds no pictures" create "$work/bad" -o "$work/n" \
  --split train
ok "leaves nothing" nothing "$work/n/train"
tar --sort=name -cf "$work/dog.tar" -C "$work/bad" .
fails "an empty class in a tar" 1 "class folder dog holds no pictures" create "$work/dog.tar" \
  -o "$work/n" --split train
bad; echo "not a picture" >"$work/bad/bee/notes.txt"
fails "a text file" 1 'bee/notes.txt: not a JPEG or PNG, but text; .*--on-error skip' create "$work/bad" \
  -o "$work/n" --split train
ok "leaves nothing" nothing "$work/n/train"
bad; echo "first of all" >"$work/bad/ant/aaa.txt"
fails "a text file before all pictures" 1 'ant/aaa.txt: not a JPEG' create "$work/bad" \
  -o "$work/n" --split train
bad; echo "top" >"$work/bad/readme"
fails "a file in no class folder" 1 'readme: it lies in no class folder' create "$work/bad" \
  -o "$work/n" --split train
bad; head -c 700 "$src/train/cow/p1.jpg" >"$work/bad/cow/p1.jpg"
fails "a truncated JPEG" 1 'cow/p1.jpg: truncated JPEG' create "$work/bad" -o "$work/n" \
  --split train
fails "a truncated JPEG, kept" 1 'cow/p1.jpg: truncated JPEG' create "$work/bad" -o "$work/n" \
  --split train --keep
tar -cf "$work/bad.tar" -C "$work/bad" ant bee cow
fails "a truncated JPEG in a tar" 1 'bad.tar: cow/p1.jpg: truncated JPEG' create "$work/bad.tar" \
  -o "$work/n" --split train
: >"$work/bad/cow/p1.jpg"
fails "an empty file" 1 'cow/p1.jpg: an empty file' create "$work/bad" -o "$work/n" --split train
ok "leaves nothing" nothing "$work/n/train"
bad; ln -s p0.jpg "$work/bad/ant/q.jpg"; tar -cf "$work/link.tar" -C "$work/bad" ant bee cow
fails "a link in a tar" 1 'ant/q.jpg: a link' create "$work/link.tar" -o "$work/n" --split train
bad; ln -s nowhere "$work/bad/ant/q.jpg"
fails "a dead link" 1 'ant/q.jpg: a link that leads nowhere' create "$work/bad" -o "$work/n" \
  --split train
cp "$work/whole.tar" "$work/twice.tar" && tar -rf "$work/twice.tar" -C "$src" train/ant/p0.jpg
fails "a name twice" 1 'ant/p0.jpg: the source has it twice' create "$work/twice.tar" -o "$work/n" \
  --split train
tar -Pcf "$work/climb.tar" --transform 's,train,../train,' -C "$src" train
fails "a name that climbs out" 1 'refused' create "$work/climb.tar" -o "$work/n" --split train
bad; mv "$work/bad/ant" "$work/bad/`printf 'a\377t'`"
fails "a class name that is no text" 1 'not UTF-8' create "$work/bad" -o "$work/n" --split train

# --on-error skip: the rest is what a clean source gives.
bad; echo "not a picture" >"$work/bad/bee/notes.txt"; : >"$work/bad/ant/a.jpg"
head -c 700 "$src/train/cow/p1.jpg" >"$work/bad/cow/zz.jpg"; echo top >"$work/bad/readme"
ok "skipping" says '12 records.* 4 rejected' create "$work/bad" -o "$work/skip" --split train \
  --on-error skip
ok "lists what it left out" test "`cut -f2 "$work/skip/train/create.tsv" | sort | tr '\n' ' '`" = \
  "ant/a.jpg bee/notes.txt cow/zz.jpg member readme "
rm "$work/skip/train/create.tsv"
ok "and packs the rest" same "$work/skip/train" "$work/set/train"
bad; truncate -s 257M "$work/bad/bee/z.bin"; large=$work/large.tar.gz # takes no room
fails "a large file" 1 'bee/z.bin: larger than 256 MiB' create "$work/bad" -o "$work/n" --split train
tar -czf "$large" -C "$work/bad" ant bee cow; rm "$work/bad/bee/z.bin"
fails "a large file in a tar" 1 'bee/z.bin: larger than 256 MiB.*--on-error skip' create \
  "$large" -o "$work/n" --split train
ok "skipping it" says '12 records.* 1 rejected' create "$large" -o "$work/large" \
  --split train --on-error skip
bad; for f in "$work/bad/bee"/*; do echo x >"$f"; done
fails "a class of which nothing is left" 1 "class folder bee holds no sound pictures" create "$work/bad" -o "$work/n" \
  --split train --on-error skip

# A set that is there.
fails "a finished set" 1 'finished set already.*--force' create "$src" -o "$work/set" --split train
bad; : >"$work/bad/ant/p0.jpg"
cp -r "$work/set" "$work/before"
fails "replacing it by something bad" 1 'ant/p0.jpg' create "$work/bad" -o "$work/set" \
  --split train --force
ok "leaves it as it was" same "$work/before/train" "$work/set/train"
ok "replacing it" "$pack" create "$src" -o "$work/set" --split train --force --shards 2
ok "leaves nothing of it" test "`files "$work/set/train"`" = \
  "00000.shard 00001.shard dataset.json "

# val and train.
mkdir "$work/other" && cp -r "$src/val/ant" "$src/val/bee" "$work/other" && \
  cp -r "$src/val/cow" "$work/other/elk"
fails "val with another class" 1 "class folder elk is none of the 3 classes" create "$work/other" \
  -o "$work/set" --split val
ok "leaves nothing" nothing "$work/set/val"
rm -r "$work/other/elk"
ok "val without one of them" says '1 of the 3 classes have no picture' create "$work/other" \
  -o "$work/set" --split val
ok "is a sound set" "$pack" verify "$work/set"
ok "the classes of a set elsewhere" create "$work/other" -o "$work/else" --split val \
  --classes-from "$work/set/train"
ok "val packed first" create "$work/other" -o "$work/first" --split val
fails "train with other classes behind it" 1 'first/val has other classes (2) than these (3)' \
  create "$src" -o "$work/first" --split train
ok "leaves nothing" nothing "$work/first/train"
ok "forced" says 'val has other classes than these: pack it again' create "$src" \
  -o "$work/first" --split train --force
fails "verify sees it" 1 'train and val have different classes' "$pack" verify "$work/first"
mkdir "$work/both" && cp -r "$src/val" "$work/both/val" && cp -r "$src/val" "$work/both/test"
fails "val and test" 1 'both val/ and test/\|both .*val/.*test/' create "$work/both" -o "$work/n" \
  --split val
ok "one of them chosen" create "$work/both" -o "$work/t" --split val --prefix test

# A packer that is killed, and one beside it.
mkfifo "$work/fifo.tar"
"$pack" create "$work/fifo.tar" -o "$work/kill" --split train --shards 4 >/dev/null 2>&1 &
pid=$!
exec 7<>"$work/fifo.tar" # for both, so that opening waits for nobody
head -c 9000 "$work/whole.tar" >&7
i=0
until test -e "$work/kill/train/00003.shard.tmp" || test $i -eq 100; do
  sleep 0.1
  i=`expr $i + 1`
done
fails "a second packer" 1 'another tricolor-pack is writing' create "$src" -o "$work/kill" \
  --split train
kill -9 $pid
wait $pid 2>/dev/null
exec 7>&-
ok "what a killed one leaves" test -e "$work/kill/train/00000.shard.tmp"
ok "is no finished set" test ! -e "$work/kill/train/dataset.json"
fails "to verify" 1 'holds no finished train set' "$pack" verify "$work/kill"
ok "the next run" create "$src" -o "$work/kill" --split train
ok "cleans up" same "$work/before/train" "$work/kill/train"
tap_done
