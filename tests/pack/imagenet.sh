# For the tests with ImageNet's files; sourced behind lib.sh.

# proven SET [COUNT]: every picture of SET/val is a copy of one of SET/train, of the same class, and
# there are COUNT of them.  Needs neither the development kit nor its order of the classes.
proven() {
  rm -rf "$work/proof" && mkdir "$work/proof" || return 1
  for split in train val; do
    "$pack" extract "$1" --split $split -o "$work/proof/$split" >/dev/null 2>&1 || return 1
    (cd "$work/proof/$split" && find . -type f -exec cksum {} +) |
      awk '{ split($3, part, "/"); print $1 "-" $2, part[2] }' | sort >"$work/proof/$split.txt"
  done
  join "$work/proof/train.txt" "$work/proof/val.txt" >"$work/proof/both.txt"
  awk -v want="$2" '$2 != $3 { print "wrong: " $0; bad = 1 }
    END { if (NR != want) print NR " of " want " matched"; exit bad || NR != want }' \
    "$work/proof/both.txt" && test "`wc -l <"$work/proof/val.txt"`" -eq "$2"
}
