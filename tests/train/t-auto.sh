#! /bin/sh
# --allreduce=auto: what it chose is kept, and a resumed run adds in the same order.
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/train/lib.sh"
"$make_set" "$work/set" train=48 val=9 || exit 99
choices=$work/choices last=step-000000008

# run NAME OPTION...: 3 ranks, 8 steps, a checkpoint every 4.
run() {
  name=$1; shift
  launch 3 --data="$work/set" --model=resnet20 --batch=4 --epochs=2 --eval-every=-1 --log="$work/$name.log" \
    --checkpoint="$work/$name" --checkpoint-keep=9 --allreduce=auto --choices="$choices" "$@"
}
# force ALGORITHM: what the file says for every size.
force() { sed -i "s/ choice=.*/ choice=$1/" "$choices"; }
chosen() { grep -o '"allreduce":"[^"]*"' "$work/$1.log" | tail -1; }
same() { cmp "$work/$1/$last/model.safetensors" "$work/$2/$last/model.safetensors"; }

ok "a run chooses" keep run measured
ok "says so" said 'auto: [0-9]* bytes: .* us; next of'
ok "and keeps it in the file" grep -q '^tricolor=.* ranks=3 .* overlapped=1 .* choice=' "$choices"
ok "nothing that blocks" sh -c "! grep -q choice=mpi '$choices'"
force ring
ok "the file is believed" run plain
ok "... as the log says" sh -c "echo '$(chosen plain)' | grep -q '\"ring chunk='"
ok "a run that ends early" run resumed --max-steps=4
force doubling
ok "goes on though the file now says something else" keep run resumed --resume
ok "says why" said "allreduce auto: as the checkpoint's run"
ok "with the same weights as an undisturbed run" same resumed plain
ok "another order gives others" run other
differ() { ! same other plain; }
ok "... or this test would show nothing" differ
ok "chunk and window may change on the way" run plain --resume --allreduce=ring:chunk=4K,window=2
fails "the algorithm may not" 1 'made with another `allreduce' run plain --resume --allreduce=rabenseifner
ok "bf16 on the wire" run narrow --max-steps=2 --allreduce=multicolor:k=2,d=1,wire=bf16
ok "... as the log says" sh -c "echo '$(chosen narrow)' | grep -q 'multicolor k=2 d=1 .* wire=bf16'"
echo rubbish >"$choices"
fails "a file of something else" 1 'choices: line 1 is not a choice of allreduce' run broken
tap_done
