#! /bin/sh
# Shards that are spoilt while three ranks train from them: one message that names file and record, a
# status that tells, no rank left waiting.
limit=60
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/train/lib.sh"
"$make_set" "$work/set" train=400 val=9 shards=40 || exit 99
shard=00017.shard

# run NAME COMMAND...: train from a copy of the set until the log has seen two epochs, then do that to a
# shard.  Few descriptors, so that shards are closed and opened again.
run() {
  rm -rf "$work/${1:?}"; cp -r "$work/set" "$work/$1"
  run_dir=$work/$1; shift
  # shellcheck disable=SC3045
  (ulimit -n 100; launch 3 --store=shards --data="$run_dir" --model=linear --batch=4 --epochs=100000 \
    --eval-every=-1 --log="$run_dir/log") &
  run_pid=$!
  run_tries=0
  until test "`grep -c epoch_start "$run_dir/log" 2>/dev/null`" -ge 3 || test $run_tries -ge 300; do
    sleep 0.1; run_tries=`expr $run_tries + 1`
  done
  (cd "$run_dir/train" && "$@") || echo "cannot $*"
  wait $run_pid
}

# spoilt NAME TEXT MOST COMMAND...: at most MOST messages, and one a rank: others may come to the same
# shard before they hear of it.
spoilt() {
  spoilt_name=$1 spoilt_text=$2 spoilt_most=$3; shift 3
  fails "$spoilt_name" 1 "$spoilt_text" within 40 run set.spoilt "$@"
  grep -v 'another rank failed' "$work/out" | grep "train/$shard" >"$work/said"
  ok "... said once" sh -c "cat '$work/out' && test \`wc -l <'$work/said'\` -le $spoilt_most &&
    test -z \"\`sed 's/.*\(rank [0-9]*\).*/\1/' '$work/said' | sort | uniq -d\`\""
}

spoilt "removed" "train/$shard: cannot open: .*record [0-9]* of $shard" 3 rm $shard
spoilt "cut" "train/$shard.*record [0-9]* of $shard" 3 dd if=/dev/null of=$shard bs=1000 seek=1
overwrite() { printf 'not the picture' | dd of=$shard bs=1 seek=400 conv=notrunc; }
spoilt "overwritten" "train/$shard: record 0 (.*train-.*): its checksum is wrong" 1 overwrite
tap_done
