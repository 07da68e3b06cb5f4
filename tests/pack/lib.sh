# For the pack tests; sourced behind tap.sh.  Makes $work/src: train/ and val/ of three classes with
# different counts, so that a wrong label shows in the counts.
pack=$top_builddir/tricolor-pack
tool=$top_builddir/tests/pack/tool
src=$work/src
export LC_ALL=C

# pictures FOLDER COUNT W H SEED: COUNT pictures in a class folder.
pictures() {
  mkdir -p "$1" || exit 99
  i=0
  while test $i -lt "$2"; do
    "$tool" picture "$1/p$i.jpg" "$3" "$4" `expr "$5" + $i` || exit 99
    i=`expr $i + 1`
  done
}
pictures "$src/train/ant" 3 40 32 1
pictures "$src/train/bee" 5 32 48 10
pictures "$src/train/cow" 4 33 31 20
pictures "$src/val/ant" 2 40 32 101
pictures "$src/val/bee" 1 32 48 110
pictures "$src/val/cow" 2 33 31 120

# same A B: two packed splits are the same, byte for byte.
same() {
  for f in "$1"/*; do
    cmp "$f" "$2/`basename "$f"`" || return 1
  done
  test "`ls "$1"`" = "`ls "$2"`"
}

# says TEXT COMMAND...: the command succeeds and its output holds the text.
says() {
  text=$1; shift
  "$@" >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
  grep -q -e "$text" "$work/said" || { cat "$work/said"; return 1; }
}
