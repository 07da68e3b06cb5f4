#! /bin/sh
# What must not change a single bit: running again, the store, overlap, the metric reduction's period.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/train/lib.sh"
"$make_set" "$work/set" train=100 val=10 || exit 99

# run NAME OPTION...: 3 ranks x 2 devices, two epochs of 4 steps
run() {
  name=$1; shift
  launch 3 --data="$work/set" --model=resnet20 --devices=2 --batch=4 --epochs=2 --eval-every=0 \
    --checkpoint="$work/$name" "$@"
}
same() {
  cmp "$work/$1/step-000000008/model.safetensors" "$work/$2/step-000000008/model.safetensors" &&
    cmp "$work/$1/step-000000008/state.safetensors" "$work/$2/step-000000008/state.safetensors"
}
ok "a run" run a
ok "the same command" run b
ok "gives the same bits" same a b
ok "--store=files" run files --store=files
ok "gives the same bits" same a files
ok "--store=shards" run shards --store=shards
ok "gives the same bits" same a shards
ok "--overlap=off" run off --overlap=off --sync-steps=1
ok "gives the same bits" same a off
ok "another seed" run other --seed=2
ok "gives other weights" sh -c "! cmp -s '$work/a/step-000000008/model.safetensors' '$work/other/step-000000008/model.safetensors'"
tap_done
