#! /bin/sh
# What is packed: the same from folder and archive and for any number of threads; pictures that
# come back as they went in; names, classes and splits as documented.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/pack/lib.sh"

create() { "$pack" create "$@" --shards 4; }

# The same set, whatever it is made of.
ok "a folder" create "$src" -o "$work/a" --split train --threads 1
ok "with 2 threads" create "$src" -o "$work/b" --split train --threads 2
ok "is the same" same "$work/a/train" "$work/b/train"
ok "with 4 threads" create "$src" -o "$work/c" --split train --threads 4
ok "is the same" same "$work/a/train" "$work/c/train"
(cd "$src" && tar --sort=name -cf "$work/src.tar" train val) || exit 99
ok "a tar" create "$work/src.tar" -o "$work/d" --split train
ok "is the same" same "$work/a/train" "$work/d/train"
for z in gzip xz; do
  if command -v $z >/dev/null 2>&1; then
    $z -k "$work/src.tar" || exit 99
    ok "compressed by $z" create "$work"/src.tar.?z -o "$work/$z" --split train
    ok "is the same" same "$work/a/train" "$work/$z/train"
    rm -f "$work"/src.tar.?z
  else
    skip "compressed by $z" "$z is not installed"
    skip "is the same" "$z is not installed"
  fi
done
mkdir "$work/around" && ln -s ../src "$work/around/pets"
ok "a folder around the splits, by a link" create "$work/around" -o "$work/e" --split train
ok "is the same" same "$work/a/train" "$work/e/train"
ok "the class folders themselves" create "$src/train" -o "$work/f" --split train
ok "are the same" same "$work/a/train" "$work/f/train"
ok "a prefix" create "$work/around" -o "$work/g" --split train --prefix ./pets/train/
ok "is the same" same "$work/a/train" "$work/g/train"
ok "another seed" create "$src" -o "$work/h" --split train --seed 2
ok "is distributed otherwise" test "`cksum <"$work/a/train/00000.shard"`" != \
  "`cksum <"$work/h/train/00000.shard"`"

# Class numbers do not depend on the order of the archive.
(cd "$src" && tar -cf "$work/back.tar" train/cow train/bee train/ant) || exit 99
ok "an archive in another order" create "$work/back.tar" -o "$work/back" --split train
ok "its first class" says ' 0 : *3 ant' "$pack" info "$work/back"
ok "its last class" says ' 2 : *4 cow' "$pack" info "$work/back"
ok "is sound" "$pack" verify "$work/back" --decode

# val follows train, and the pictures come back.
ok "val" create "$work/src.tar" -o "$work/a" --split val
ok "verify" says 'val: 5 records.*decoded, 0 faults' "$pack" verify "$work/a" --decode
ok "info shows both" says '/val$' "$pack" info "$work/a"
ok "extract" "$pack" extract "$work/a" --split train -o "$work/taken" --threads 2
ok "gives the bytes of small pictures back" diff -r "$src/train" "$work/taken"
ok "extract to the default place" "$pack" extract "$work/a" --split val
ok "gives them back" diff -r "$src/val" "$work/a/val/files"

# Larger pictures are made smaller; --keep does not.
pictures "$work/big/x" 3 400 300 1
pictures "$work/big/y" 2 90 500 9
ok "large pictures" says ' 5 encoded again' create "$work/big" -o "$work/s" --split train \
  --shorter 64 --threads 2
ok "are sound" "$pack" verify "$work/s" --decode
ok "their sides" says 'sides *: 64 to 356 pixels' "$pack" info "$work/s"
ok "their encoding is written down" says 'encoding *: jpeg q90 4:2:0, shorter side at most 64' \
  "$pack" info "$work/s"
ok "kept" says ' 0 encoded again' create "$work/big" -o "$work/k" --split train --keep --shorter 64
ok "extracted" "$pack" extract "$work/k" -o "$work/kept"
ok "gives the bytes back" diff -r "$work/big" "$work/kept"
ok "says so" says 'encoding *: kept' "$pack" info "$work/k"
ok "a lower quality" create "$work/big" -o "$work/q" --split train --shorter 64 --quality 30
bytes() { "$pack" info "$1" | sed -n 's/^ *bytes *: \([0-9]*\),.*/\1/p'; }
ok "is smaller" test "`bytes "$work/q"`" -lt "`bytes "$work/s"`"
cp -r "$src/train" "$work/dri" && "$tool" dri "$work/dri/ant/p1.jpg" || exit 99
ok "a restart interval" says ' 1 transcoded' create "$work/dri" -o "$work/r" --split train

# Held out pictures.
cp -r "$src/train" "$work/whole"
pictures "$work/whole/ant" 7 40 32 1
ok "hold-out, train" create "$work/whole" -o "$work/o" --split train --hold-out 4
ok "hold-out, val" create "$work/whole" -o "$work/o" --split val --hold-out 4
ok "verify" "$pack" verify "$work/o"
"$pack" extract "$work/o" --split train -o "$work/held" >/dev/null
ok "val has every 4th" says 'val: 3 records' "$pack" verify "$work/o"
ok "which train has not" test ! -e "$work/held/ant/p3.jpg"
"$pack" extract "$work/o" --split val -o "$work/held" >/dev/null
ok "together they are the whole" diff -r "$work/whole" "$work/held"

# Deeper folders and names that are passed over.
mkdir -p "$work/deep/train/ant/images" "$work/deep/train/bee" "$work/deep/.cache"
cp "$src/train/ant/p0.jpg" "$work/deep/train/ant/images" && cp "$src/train/bee/p0.jpg" \
  "$work/deep/train/bee" && echo x >"$work/deep/train/ant/.DS_Store" && echo x >"$work/deep/README"
echo x >"$work/deep/.cache/y"
ok "folders in a class, hidden files" create "$work/deep" -o "$work/i" --split train
"$pack" extract "$work/i" -o "$work/i/out" >/dev/null
ok "keep their path" cmp "$work/i/out/ant/images/p0.jpg" "$src/train/ant/p0.jpg"

# Classes called by numbers.
for n in 0 1 2 10; do pictures "$work/numbers/$n" 1 40 32 `expr $n \* 7`; done
ok "numbers, in bytewise order" says 'class=folder: 0=0 1=1 2=10 3=2$' create "$work/numbers" -o "$work/nb" \
  --split train
ok "are warned of" grep -q 'warning: .*--numeric' "$work/said"
ok "in their own" says 'class=folder: 0=0 1=1 2=2 3=10$' create "$work/numbers" -o "$work/nn" --split train \
  --numeric
ok "it is kept for val" says 'class=folder: 0=0 1=1 2=2 3=10$' create "$work/numbers" -o "$work/nn" --split val
ok "is sound" "$pack" verify "$work/nn"
fails "other names" 1 'class folder ant: not a whole number' create "$src" -o "$work/nx" --split train --numeric

# Two sources, one set.
mkdir -p "$work/one" "$work/two" && cp -r "$src/train/ant" "$work/one" && \
  cp -r "$src/train/bee" "$src/train/cow" "$work/two"
ok "two sources" create "$work/one" "$work/two" -o "$work/j" --split train
ok "are the same as one" same "$work/a/train" "$work/j/train"
tap_done
