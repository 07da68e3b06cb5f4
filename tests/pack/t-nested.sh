#! /bin/sh
# A tar of tars, one a class, as ILSVRC2012_img_train.tar is: the same set as from class folders.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/pack/lib.sh"

create() { "$pack" create "$@" --split train --shards 4 --threads 2; }
files() { find "$1" -type f 2>/dev/null; }
nothing() { test -z "`files "$1"`"; }

# tars FOLDER OPTION...: ant.tar, bee.tar and cow.tar there, members as in the real ones, "p0.jpg".
tars() {
  into=$1; shift
  mkdir -p "$into"
  for class in ant bee cow; do
    (cd "$src/train/$class" && tar --sort=name -cf "$into/$class.tar" "$@") || exit 99
  done
}
create "$src" -o "$work/plain" >/dev/null 2>&1 || exit 99
(cd "$src/train" && for c in *; do (cd $c && tar --sort=name -cf "$work/$c.tar" p*.jpg); done)
tars "$work/root" .
mkdir "$work/flat" && mv "$work"/*.tar "$work/flat"
(cd "$work/flat" && tar --sort=name -cf "$work/train.tar" ant.tar bee.tar cow.tar) || exit 99

ok "a tar of tars" create "$work/train.tar" -o "$work/a"
ok "is the same as class folders" same "$work/plain/train" "$work/a/train"
input() { create - -o "$1" <"$work/train.tar"; }
ok "from standard input" input "$work/b"
ok "is the same" same "$work/plain/train" "$work/b/train"
piped() { tar --sort=name -C "$work/flat" -cf - . | create - -o "$1"; }
ok "from a pipe" piped "$work/p"
ok "is the same" same "$work/plain/train" "$work/p/train"
ok "tars with a root of their own" create "$work/root" -o "$work/c"
ok "in a folder: the same" same "$work/plain/train" "$work/c/train"
gzip -k "$work/train.tar" || exit 99
ok "compressed" create "$work/train.tar.gz" -o "$work/d"
ok "is the same" same "$work/plain/train" "$work/d/train"
cp -r "$work/flat" "$work/zipped" && gzip "$work/zipped"/*.tar || exit 99
(cd "$work/zipped" && tar --sort=name -cf "$work/inner.tar" .)
ok "compressed inside" create "$work/inner.tar" -o "$work/e"
ok "is the same" same "$work/plain/train" "$work/e/train"
mkdir "$work/splits" && cp "$work/train.tar" "$work/splits" && cp -r "$src/val" "$work/splits"
(cd "$src" && tar --sort=name -cf "$work/splits/train.tar" -C train .)
ok "a tar for a split" create "$work/splits" -o "$work/f"
ok "is the same" same "$work/plain/train" "$work/f/train"
ok "packed from a read-only folder" test -z "`find "$work/flat" -newer "$work/train.tar"`"

# What is wrong with it.
bytes=`wc -c <"$work/train.tar"`
head -c `expr $bytes / 2` "$work/train.tar" >"$work/cut.tar"
fails "cut in the middle of a class" 1 'cut.tar.*damaged after [0-9]* members: .*; copy the archive' create \
  "$work/cut.tar" -o "$work/n"
ok "leaves nothing" nothing "$work/n"
mkdir "$work/odd" && cp "$work/flat"/*.tar "$work/odd" && echo "no tar at all" >"$work/odd/dog.tar"
(cd "$work/odd" && tar --sort=name -cf "$work/odd.tar" -- *.tar)
fails "a tar inside that is none" 1 'odd.tar: dog.tar: named as a tar inside an archive, but none' create \
  "$work/odd.tar" -o "$work/n"
ok "leaves nothing" nothing "$work/n"
: >"$work/odd/dog.tar"
fails "an empty one" 1 'odd/dog.tar: neither a folder nor' create "$work/odd" -o "$work/n"
head -c 700 "$work/flat/bee.tar" >"$work/odd/dog.tar"
(cd "$work/odd" && tar --sort=name -cf "$work/odd.tar" -- *.tar)
fails "a truncated one" 1 'odd.tar: dog.tar: damaged after' create "$work/odd.tar" -o "$work/n"
(cd "$work" && tar -cf "$work/odd/dog.tar" --transform 's,^,../,' flat/ant.tar 2>/dev/null) || exit 99
fails "one with names that climb out" 1 'with ".." in it is refused' create "$work/odd" -o "$work/n"
cp "$work/train.tar" "$work/odd/dog.tar"
fails "a tar of tars inside" 1 'dog/ant.tar: not a JPEG or PNG' create "$work/odd" -o "$work/n"
rm "$work/odd/dog.tar" && chmod 000 "$work/odd/cow.tar"
if cat "$work/odd/cow.tar" >/dev/null 2>&1; then
  skip "an unreadable one" "this user may read everything"
else
  fails "an unreadable one" 1 'odd/cow.tar: cannot open: Permission' create "$work/odd" -o "$work/n"
fi
ok "leaves nothing" nothing "$work/n"
fails "standard input that is no archive" 1 'standard input: neither' create - -o "$work/n" <"$src/train/ant/p0.jpg"
tap_done
