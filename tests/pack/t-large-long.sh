#! /bin/sh
# A shard of more than 2^31 bytes, of pictures of 200 MB; needs 5 GB of disk.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/pack/lib.sh"

many=$top_builddir/tests/pack/many
large() { "$many" 12 2 1 200000000 | "$pack" create - -o "$work/large" --split train --keep --shards 1 --threads 2; }
ok "12 pictures of 200 MB" large
ok "make one shard of more than 2^31 bytes" test "`wc -c <"$work/large/train/00000.shard"`" -gt 2147483648
ok "that is sound" says '12 records.*decoded, 0 faults' "$pack" verify "$work/large" --decode
ok "extract" "$pack" extract "$work/large" -o "$work/taken"
"$many" 12 2 1 200000000 | (cd "$work" && tar -xf - n00000002.tar && tar -xf n00000002.tar) || exit 99
ok "gives the last one back" cmp "$work/n00000002_11.JPEG" "$work/taken/n00000002/n00000002_11.JPEG"
tap_done
