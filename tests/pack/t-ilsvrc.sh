#! /bin/sh
# ILSVRC2012's three files: the labels of the validation pictures are right, proven by the training
# pictures that they are copies of; with files like them made here, and with the real small ones.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/pack/lib.sh"
. "$top_srcdir/tests/pack/imagenet.sh"

create() { "$pack" create "$@" --shards 4 --threads 2; }
files() { find "$1" -type f 2>/dev/null; }
nothing() { test -z "`files "$1"`"; }
mat=$top_builddir/tests/pack/mat
if test ! -x "$mat"; then
  fails "without libmatio" 1 'libmatio.*--labels' create "$src" --devkit "$src" -o "$work/n" --split val
  tap_done
  exit 0
fi

# Five classes; the IDs are not in the order of the WNIDs; two inner nodes of the tree.
cat >"$work/classes" <<'END'
4 n01440764 0 tench, Tinca tinca
2 n01443537 0 goldfish
5 n02119789 0 kit fox
1 n02124075 0 Egyptian cat
3 n03000134 0 chainlink fence
6 n00001740 2 entity
7 n00002137 3 abstraction
END
# kit NAME LINES-OF-TRUTH [wide]: $work/NAME.tar.gz
kit() {
  mkdir -p "$work/$1/ILSVRC2012_devkit_t12/data"
  "$mat" "$work/$1/ILSVRC2012_devkit_t12/data/meta.mat" $3 <"$work/classes" || exit 99
  for id in $2; do echo "$id"; done \
    >"$work/$1/ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt"
  tar -czf "$work/$1.tar.gz" -C "$work/$1" ILSVRC2012_devkit_t12 || exit 99
}
kit kit "3 1 5 2 4 4 2"

# Three pictures a class; validation picture i is a copy of one of the class with the ID in line i.
mkdir -p "$work/t" "$work/v"
seed=1
while read -r id wnid children words; do
  test "$children" = 0 || continue
  pictures "$work/f/$wnid" 3 40 30 $seed
  seed=`expr $seed + 10`
  tar -cf "$work/t/$wnid.tar" -C "$work/f/$wnid" . || exit 99
  eval "wnid_$id=$wnid"
done <"$work/classes"
i=0
for id in 3 1 5 2 4 4 2; do
  i=`expr $i + 1`
  eval "wnid=\$wnid_$id"
  cp "$work/f/$wnid/p`expr $i % 3`.jpg" "$work/v/ILSVRC2012_val_0000000$i.JPEG" || exit 99
done
(cd "$work/t" && tar -cf "$work/train.tar" n03000134.tar n01440764.tar n02124075.tar n02119789.tar \
  n01443537.tar)
tar --sort=name -cf "$work/val.tar" -C "$work/v" . || exit 99

ok "the training file" create "$work/train.tar" --devkit "$work/kit.tar.gz" -o "$work/a" --split train
ok "the validation file" create "$work/val.tar" --devkit "$work/kit.tar.gz" -o "$work/a" --split val
ok "labels are those of the copied pictures" proven "$work/a" 7
ok "the two are one set" "$pack" verify "$work/a" --decode
ok "it shows the words" says ' 3 : .* n02124075, Egyptian cat' "$pack" info "$work/a"
ok "validation first" create "$work/val.tar" --devkit "$work/kit.tar.gz" -o "$work/b" --split val
ok "then training" create "$work/train.tar" -o "$work/b" --split train
ok "is the same" same "$work/a/val" "$work/b/val"
kit wide "3 1 5 2 4 4 2" wide
ok "a kit with numbers and texts of 16 bits" create "$work/val.tar" --devkit "$work/wide.tar.gz" \
  -o "$work/c" --split val
ok "is the same" same "$work/a/val" "$work/c/val"
ok "an unpacked kit" create "$work/val.tar" --devkit "$work/kit" -o "$work/d" --split val
ok "is the same" same "$work/a/val" "$work/d/val"
ok "an unpacked validation file" create "$work/v" --devkit "$work/kit" -o "$work/e" --split val
ok "is the same" same "$work/a/val" "$work/e/val"

# Other lists of the same.
i=0
for id in 3 1 5 2 4 4 2; do
  i=`expr $i + 1`
  eval "wnid=\$wnid_$id"
  echo "ILSVRC2012_val_0000000$i.JPEG $wnid" >>"$work/list.txt"
  echo "ILSVRC2012_val_0000000$i,$wnid 8 67 423 233 $wnid 1 2 3 4" >>"$work/boxes.csv"
done
ok "--labels" create "$work/val.tar" --labels "$work/list.txt" -o "$work/g" --split val
cp -r "$work/a/train" "$work/g"
ok "is right" proven "$work/g" 7
printf 'ImageId,PredictionString\r\n' >"$work/LOC_val_solution.csv"
sed 's/$/\r/' "$work/boxes.csv" >>"$work/LOC_val_solution.csv"
ok "Kaggle's list" create "$work/val.tar" --labels "$work/LOC_val_solution.csv" -o "$work/h" --split val
ok "is the same" same "$work/g/val" "$work/h/val"
printf 'n01440764 tench, Tinca tinca\nn01443537 goldfish\n' >"$work/words"
ok "--words" create "$work/val.tar" --labels "$work/list.txt" --words "$work/words" -o "$work/i" --split val
ok "are shown" says 'n01440764, tench, Tinca tinca' "$pack" info "$work/i"
kaggle=$work/kaggle/ILSVRC/Data/CLS-LOC
mkdir -p "$kaggle/test" "$work/kaggle/ILSVRC/Annotations/CLS-LOC/train/n01440764"
cp "$work/LOC_val_solution.csv" "$work/kaggle" && cp -r "$work/f" "$kaggle/train" &&
  cp -r "$work/v" "$kaggle/val" && cp "$work/f/n01440764/p0.jpg" "$kaggle/test/ILSVRC2012_test_00000001.JPEG" || exit 99
echo '<x/>' >"$work/kaggle/ILSVRC/Annotations/CLS-LOC/train/n01440764/n01440764_1.xml"
awk '$3 == 0 { id = $2; $1 = $2 = $3 = ""; sub("^ *", ""); print id " " $0 }' "$work/classes" \
  >"$work/kaggle/LOC_synset_mapping.txt"
ok "Kaggle's folder, training" create "$work/kaggle" -o "$work/k" --split train
ok "Kaggle's folder, validation" says 'classes of the pictures are taken from.*LOC_val_solution.csv' create \
  "$work/kaggle" -o "$work/k" --split val
ok "is right" proven "$work/k" 7
ok "and is the same as from the three files" same "$work/a/val" "$work/k/val"
tar --sort=name -cf "$work/kaggle.tar" -C "$work/kaggle" . || exit 99
ok "in an archive, training" create "$work/kaggle.tar" -o "$work/m" --split train
ok "in an archive, validation" create "$work/kaggle.tar" --labels "$work/LOC_val_solution.csv" \
  --words "$work/kaggle/LOC_synset_mapping.txt" -o "$work/m" --split val
ok "is the same" same "$work/k/val" "$work/m/val"

# What is refused, and what is said.
fails "no list for flat pictures" 1 'no class folder.*--devkit or --labels' create "$work/val.tar" -o "$work/n" \
  --split val
mkdir "$work/around" && cp -r "$work/v" "$work/around/val"
fails "flat pictures in a folder" 1 'all 7 pictures lie in one class folder.*--devkit or --labels' create \
  "$work/around" -o "$work/n" --split val
ok "leaves nothing" nothing "$work/n"
fails "the same beside a training set" 1 'class folder val is none of the 5 classes' create "$work/around" \
  -o "$work/a" --split val --force
# A training set of three of the five classes, and the whole validation file.
mkdir "$work/few" && cp "$work/t/n01440764.tar" "$work/t/n02119789.tar" "$work/t/n02124075.tar" "$work/few" || exit 99
ok "three classes" create "$work/few" -o "$work/u" --split train
fails "all of the validation file" 1 'its 5 classes are not the 3 of .*--subset' create "$work/val.tar" --devkit \
  "$work/kit.tar.gz" -o "$work/u" --split val
ok "a part of it" says '4 records in 3 classes.* 0 rejected' create "$work/val.tar" --devkit "$work/kit.tar.gz" -o "$work/u" \
  --split val --subset
ok "the others are counted" grep -q '3 pictures of other classes are passed over' "$work/said"
ok "none is said to be missing" test "`grep -c 'not there' "$work/said"`" -eq 0
ok "labels are right" proven "$work/u" 4
ok "the two are one set" "$pack" verify "$work/u" --decode
fails "class folders, one too many" 1 'none of the 3 classes.*--subset' create "$work/f" -o "$work/u" --split val --force
ok "a part of them" says '9 records in 3 classes' create "$work/f" -o "$work/u" --split val --force --subset
fails "a part of nothing" 1 'pack train first, or name one with --classes-from' create "$work/f" -o "$work/n" --split val \
  --subset
kit short "3 1 5 2"
fails "a picture too many for the kit" 1 'val_00000005.JPEG: no class is given for it.*--on-error skip' create \
  "$work/val.tar" --devkit "$work/short.tar.gz" -o "$work/n" --split val
ok "leaves nothing" nothing "$work/n"
kit long "3 1 5 2 4 4 2 1 1"
ok "too few pictures" says '2 of the 9 pictures that .*long.tar.gz names are not there' create "$work/val.tar" \
  --devkit "$work/long.tar.gz" -o "$work/o" --split val
kit inner "3 1 6 2 4 4 2"
fails "an ID that is no class" 1 'ground_truth.txt: line 3: "6.*none of the 5' create "$work/val.tar" \
  --devkit "$work/inner.tar.gz" -o "$work/n" --split val
fails "no kit" 1 'it has no data/meta.mat: not the development kit' create "$work/val.tar" \
  --devkit "$work/train.tar" -o "$work/n" --split val
mkdir -p "$work/junk/data" && cp "$work/kit"/*/data/*.txt "$work/junk/data" && echo x >"$work/junk/data/meta.mat"
fails "a meta.mat that is none" 1 'meta.mat' create "$work/val.tar" --devkit "$work/junk" -o "$work/n" --split val
rm -r "$work/f/n03000134" && create "$work/f" -o "$work/few" --split train >/dev/null 2>&1 || exit 99
fails "a kit with other classes than training has" 1 'its 5 classes are not the 4 of .*few/train' create \
  "$work/val.tar" --devkit "$work/kit.tar.gz" -o "$work/few" --split val
fails "a list with other classes" 1 'class folder n03000134 is none of the 4 classes' create \
  "$work/val.tar" --labels "$work/list.txt" -o "$work/few" --split val
create "$work/val.tar" --devkit "$work/kit.tar.gz" -o "$work/vfirst" --split val >/dev/null 2>&1
fails "training second, with other classes" 1 'vfirst/val has other classes (5) than these (4)' create \
  "$work/f" -o "$work/vfirst" --split train
echo "one" >"$work/bad.txt"
fails "a list without classes" 1 'bad.txt: line 1: a name and a class' create "$work/val.tar" \
  --labels "$work/bad.txt" -o "$work/n" --split val
printf 'a.jpg x\nb.jpg y\na.jpg y\n' >"$work/bad.txt"
fails "a name with two classes" 1 'bad.txt: line 3: a.jpg has another class' create "$work/val.tar" \
  --labels "$work/bad.txt" -o "$work/n" --split val
fails "two lists" 2 'not both' create "$work/val.tar" --labels "$work/bad.txt" --devkit "$work/kit" \
  -o "$work/n" --split val

# MD5, of what is read in the same pass; the end of the file behind the last member counts, too.
if command -v md5sum >/dev/null 2>&1; then
  sum() { md5sum <"$1" | cut -d' ' -f1; }
  cp "$work/val.tar" "$work/more.tar" && printf 'end' >>"$work/more.tar"
  gzip -k "$work/train.tar"
  for file in val.tar more.tar; do
    ok "the MD5 of $file" says "its MD5 is `sum "$work/$file"`, as wanted" create "$work/$file" --md5=`sum "$work/$file"` \
      --labels "$work/list.txt" -o "$work/sum" --split val --force
  done
  ok "is packed the same" same "$work/g/val" "$work/sum/val"
  for file in train.tar train.tar.gz; do
    ok "the MD5 of $file" create "$work/$file" --md5=`sum "$work/$file"` -o "$work/sum2" --split train --force
  done
  ok "is packed the same" same "$work/b/train" "$work/sum2/train"
  if command -v zip >/dev/null 2>&1; then
    (cd "$work/f" && zip -qr "$work/f.zip" .) || exit 99
    zipped=`sum "$work/f.zip"`
    ok "the MD5 of a zip" create "$work/f.zip" --md5="$zipped" -o "$work/sum3" --split train
    ok "of standard input" create - --md5="$zipped" -o "$work/sum4" --split train <"$work/f.zip"
    ok "is packed the same" same "$work/sum3/train" "$work/sum4/train"
  else
    skip "the MD5 of a zip" "zip is not installed"
  fi
  fails "another MD5" 1 "val.tar: its MD5 is `sum "$work/val.tar"`, the one wanted has `sum "$work/more.tar"`" create \
    "$work/val.tar" --md5=`sum "$work/more.tar"` --labels "$work/list.txt" -o "$work/n" --split val
  ok "leaves nothing" nothing "$work/n"
else
  skip "MD5" "md5sum is not installed"
fi
fails "not the official file" 1 'official ILSVRC2012_img_val.tar has 29b22e29.*without --md5' create "$work/val.tar" \
  --md5 --labels "$work/list.txt" -o "$work/n" --split val
fails "not the official kit" 1 'official ILSVRC2012_devkit_t12.tar.gz has fa75699e' create "$work/val.tar" --md5 \
  --devkit "$work/kit.tar.gz" -o "$work/n" --split val
fails "a folder" 1 'a folder has no MD5' create "$work/v" --md5 --labels "$work/list.txt" -o "$work/n" --split val
fails "no sum" 2 '32 hexadecimal' create "$work/val.tar" --md5=12 -o "$work/n" --split val

# The real ones, small.
dir=ilsvrc2012-mini
if real $dir/ILSVRC2012_devkit_t12.tar.gz; then
  dir=`dirname "$real"`
  ok "1,000 real classes" says '1000 records in 1000 classes.* 0 rejected' create "$dir/ILSVRC2012_img_train.tar" \
    --devkit "$dir/ILSVRC2012_devkit_t12.tar.gz" -o "$work/real" --split train
  ok "a training set that is not whole is told" grep -q \
    '1000 pictures were met in 1000 classes; the whole of ILSVRC2012 has 1281167 in train: 1280167 are missing' "$work/said"
  ok "250 validation pictures" says '250 records in 1000 classes.* 0 rejected' create \
    "$dir/ILSVRC2012_img_val.tar" --devkit "$dir/ILSVRC2012_devkit_t12.tar.gz" -o "$work/real" --split val
  ok "an ImageNet that is not whole is told" grep -q '1000 classes; the whole of ILSVRC2012 has 50000 in val: 49750' \
    "$work/said"
  ok "labels are those of the copied pictures" proven "$work/real" 250
else
  skip "the real ones" "ilsvrc2012-mini is not in \$TRICOLOR_TEST_DATA or ../shared/data"
fi
tap_done
