#! /bin/sh
# The drawn set: balanced classes, the same for any number of threads, never mixed with another.
# shellcheck source=tests/tap.sh disable=SC2154
. "$top_srcdir/tests/tap.sh"
draw=$top_builddir/tricolor-draw

# same A B: two trees hold the same bytes.
same() {
  diff -r "$1" "$2"
}

# counts DIR WANT: every class folder of DIR holds WANT pictures; 12 folders.
counts() {
  folders=0
  for class in "$1"/*/; do
    folders=$((folders + 1))
    found=$(find "$class" -name '*.jpg' | wc -l)
    test "$found" -eq "$2" || { echo "$class holds $found"; return 1; }
  done
  test "$folders" -eq 12 || { echo "$folders classes"; return 1; }
}

# differs A B: no two of the pictures are equal.
differs() {
  ! cmp -s "$1" "$2"
}

# A baseline JPEG starts with SOI and ends with EOI.
is_jpeg() {
  test "$(od -An -tx1 -N2 "$1" | tr -d ' ')" = ffd8 &&
    test "$(tail -c 2 "$1" | od -An -tx1 | tr -d ' ')" = ffd9
}

ok "draws a set of 12 classes" "$draw" -o "$work/one" --train 120 --val 36 --classes 12 --threads 1
ok "every class has its 10 training pictures" counts "$work/one/train" 10
ok "every class has its 3 validation pictures" counts "$work/one/val" 3
ok "they are JPEG files" is_jpeg "$work/one/train/star/0009.jpg"
ok "draws it with 5 threads" "$draw" -o "$work/five" --train 120 --val 36 --classes 12 --threads 5
ok "the threads do not matter" same "$work/one" "$work/five"
ok "a larger set" "$draw" -o "$work/more" --train 240 --val 36 --classes 12
ok "validation pictures do not depend on --train" same "$work/one/val" "$work/more/val"
ok "nor do the first training pictures" cmp "$work/one/train/ring/0007.jpg" \
  "$work/more/train/ring/0007.jpg"
ok "another seed" "$draw" -o "$work/seed" --train 120 --val 36 --classes 12 --seed 2
ok "draws other pictures" differs "$work/one/train/disc/0000.jpg" "$work/seed/train/disc/0000.jpg"
ok "training and validation pictures differ" differs "$work/one/train/disc/0000.jpg" \
  "$work/one/val/disc/0000.jpg"

fails "a finished set stays as it is" 0 "already drawn" "$draw" -o "$work/one" --train 120 --val 36 \
  --classes 12
fails "another set in the same folder is refused" 1 "one/train holds other pictures" "$draw" \
  -o "$work/one" --train 121 --val 36 --classes 12
mv "$work/five/drawn" "$work/five/drawing"
rm "$work/five/train/arrow/0003.jpg"
ok "an interrupted set is finished" "$draw" -o "$work/five" --train 120 --val 36 --classes 12
ok "and is complete then" same "$work/one" "$work/five"

: >"$work/file"
fails "a file in the way is named" 1 "$work/file" "$draw" -o "$work/file/set"
fails "no -o" 2 "-o DIR" "$draw"
fails "too many classes" 2 "from 2 to 12" "$draw" -o "$work/x" --classes 13
fails "a size that is no number" 2 "--size 32px" "$draw" -o "$work/x" --size 32px
tap_done
