#! /bin/sh
# Wrong use and bad input: one clear message, the right status, no rank left waiting.
limit=60
. "$top_srcdir/tests/tap.sh"
. "$top_srcdir/tests/train/lib.sh"
"$make_set" "$work/set" train=40 val=10 || exit 99
copy() { rm -rf "$work/${1:?}"; cp -r "$work/set" "$work/$1"; }

# refused NAME STATUS TEXT OPTION...: 2 ranks; the message comes once.
refused() {
  refused_name=$1 refused_text=$3
  refused_status=$2; shift 3
  fails "$refused_name" "$refused_status" "$refused_text" \
    launch 2 --model=linear --batch=4 --epochs=1 "$@"
  # Rank 0 may repeat what another rank has said, as such.
  ok "... said once" test "`grep -v 'another rank failed' "$work/out" | grep -c -e "$refused_text"`" -eq 1
}

# Wrong use: status 2, before MPI starts; so most need no launcher.
refused "no --data" 2 'data DIR is needed'
refused "an unknown option" 2 "unrecognized option '--dat1=x'" --dat1=x
misused() { misused_name=$1 misused_text=$2; shift 2; fails "$misused_name" 2 "$misused_text" "$train" "$@"; }
misused "an unknown model names the known" 'model=resnet21: unknown; it may be: .*resnet50' --data="$work/set" --model=resnet21
misused "an unknown store" 'store=tape: unknown; it may be: memory, shards, files' --data="$work/set" --store=tape
misused "an unknown allreduce" "allreduce=x: no allreduce is called 'x': choose one of multicolor.*auto" --data="$work/set" --allreduce=x
misused "a key that an allreduce lacks" "allreduce=ring:k=3: ring has no 'k'" --data="$work/set" --allreduce=ring:k=3
misused "MPI's algorithms" 'mpi takes what the MPI library chooses' --data="$work/set" --allreduce=mpi:algorithm=3
misused "an unknown backend" 'backend=abacus: unknown; it may be: .*ref' --data="$work/set" --backend=abacus
misused "a batch that is no number" "'many' is not a whole number" --data="$work/set" --batch=many
misused "a batch of 0" "'0' is not a whole number of at least 1" --data="$work/set" --batch=0
misused "a negative number of epochs" 'epochs=-1' --data="$work/set" --epochs=-1
misused "something that is no option" "'surplus'" --data="$work/set" surplus
misused "--resume without a folder" 'resume needs --checkpoint' --data="$work/set" --resume
misused "--evaluate without weights" 'evaluate needs weights' --data="$work/set" --evaluate
misused "an unknown auxiliary head" 'aux=some: unknown; it may be: none, idle, train' --model=googlenetbn --aux=some --describe
misused "an auxiliary head that trains by the baseline table" 'aux=train needs --table=optimized' --data="$work/set" \
  --model=googlenetbn --aux=train --table=baseline
ok "--help needs no launcher and no data" "$train" --help
ok "--describe needs no data" "$train" --model=resnet20 --describe
ok "--describe of a network with options" sh -c "
  '$train' --describe --stride-in-1x1 | grep -q ' 25557032 in .* 3.858 GMAC ' &&
  '$train' --describe --model=googlenetbn --aux=idle | grep -q ' 19147888 in .* 2.764 GMAC '"

# Bad input: status 1.
fails "too small for an auxiliary head" 1 'size 64, .* smallest is 224; without one .* 64' \
  "$train" --model=googlenetbn --size=64 --aux=idle --describe
refused "a folder that is missing" 1 "$work/nowhere" --data="$work/nowhere"
copy noval; rm -r "$work/noval/val"
refused "no val" 1 "$work/noval/val" --data="$work/noval"
refused "fewer pictures than the global batch" 1 '40 pictures are fewer than the global batch of 64 .*batch times --accumulate may be at most 20' \
  --data="$work/set" --batch=32
copy version; printf '\377' | dd of="$work/version/train/00001.shard" bs=1 seek=8 conv=notrunc 2>/dev/null
refused "a shard of another version" 1 'train/00001.shard.*version' --data="$work/version"
refused "... met by --store=files too" 1 'train/00001.shard.*version' --data="$work/version" --store=files
copy magic; printf 'plain text' | dd of="$work/magic/train/00001.shard" bs=1 conv=notrunc 2>/dev/null
refused "a shard that is none" 1 'train/00001.shard' --data="$work/magic"
copy short; dd if="$work/set/train/00002.shard" of="$work/short/train/00002.shard" bs=1 count=3000 2>/dev/null
refused "a shard cut short" 1 'train/00002.shard' --data="$work/short"
copy gone; rm "$work/gone/train/00001.shard"
refused "a shard that is missing" 1 'train/00001.shard' --data="$work/gone"
"$make_set" "$work/label" train=40 val=10 wrong_label=17 || exit 99
refused "a label out of range" 1 'label 7' --data="$work/label"
"$make_set" "$work/five" train=40 val=10 classes=5 || exit 99
ok "five classes train" launch 2 --model=linear --batch=4 --epochs=1 --data="$work/five" --checkpoint="$work/five.ckpt"
copy classes; rm -r "$work/classes/val"; cp -r "$work/five/val" "$work/classes/val"
refused "train and val of different classes" 1 'different classes' --data="$work/classes"
refused "weights that are missing" 1 "$work/none.safetensors" --data="$work/set" --init="$work/none.safetensors"
refused "a log that cannot be written" 1 "$work/none/log" --data="$work/set" --log="$work/none/log"
refused "a checkpoint that cannot be written" 1 "$work/set/train/dataset.json" --data="$work/set" \
  --checkpoint="$work/set/train/dataset.json/there" --log="$work/early.log"
refused "predictions that cannot be written" 1 "$work/none/predictions" --data="$work/set" \
  --predictions="$work/none/predictions" --log="$work/early.log"
ok "both before the first epoch" test -z "`grep epoch_start "$work/early.log"`"
refused "weights of another network" 1 'fc.weight has shape (5, 3072), this model needs (4, 3072)' --data="$work/set" \
  --evaluate --init="$work/five.ckpt/step-000000005/model.safetensors"
refused "a folder of files that is missing" 1 "$work/none/train" --data="$work/set" --store=files --files="$work/none"
copy file; rm "$work/file/train/files/train-000011.jpg"
refused "a file that is missing" 1 'train-000011' --data="$work/file" --store=files
# A rank that has failed goes on with the steps until all know of it, however late that is.
"$make_set" "$work/late" train=160 val=10 || exit 99
rm "$work/late/train/files/train-000011.jpg"
refused "... many steps before the ranks meet" 1 'train-000011' --data="$work/late" --store=files \
  --sync-steps=100
refused "... with the baseline table" 1 'train-000011' --data="$work/late" --store=files \
  --sync-steps=100 --table=baseline

# A rank that sees other data than the rest.
one() { launch_each 3 "$work/one" --model=linear --batch=4 --epochs=1; }
copy one.data.0; copy one.data.2; mkdir "$work/one.data.1"
fails "one rank without data" 1 "$work/one.data.1" one
copy one.data.1; rm "$work"/one.data.1/train/*.shard
fails "one rank without shards" 1 'one.data.1/train/0000.*shard' one
rm -r "$work/one.data.1"; cp -r "$work/five" "$work/one.data.1"
fails "one rank with another set" 1 'not the data set that rank 0 sees' one

# Numbers that run away.
fails "a loss that is not finite names the step and the rank" 1 'step [0-9]*, rank [0-9]*: the loss is not finite' \
  launch 2 --data="$work/set" --model=resnet20 --batch=4 --epochs=8 --lr=1e30 --warmup=0

# A picture that is damaged inside a valid shard: replaced, counted, said.
"$make_set" "$work/cut" train=40 val=10 truncated=17 || exit 99
ok "a truncated JPEG does not end the run" keep launch 2 --data="$work/cut" --model=linear --batch=4 --epochs=1 --log="$work/cut.log"
ok "it is named" said train-000017
ok "and counted" grep -q '"replaced":1}' "$work/cut.log"
tap_done
