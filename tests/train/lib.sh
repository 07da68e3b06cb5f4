# For the scripts of this folder; sourced after tap.sh.
make_set=$top_builddir/tests/train/make-set
compare=$top_builddir/tests/train/compare
train=$top_builddir/tricolor-train

# The faster of the CPU backends that this build has; they are tested against each other elsewhere.
backend=ref
case `"$train" --data=x --backend=? 2>&1` in *onednn*) backend=onednn ;; esac

# launch RANKS OPTION...: one run; -q would hide what a failed check should show.
launch() {
  launch_np=$1; shift
  mpi "$launch_np" "$train" --backend=$backend --threads=1 --loader-threads=1 "$@"
}

# launch_each RANKS NAME OPTION...: the same, where a rank leaves its process number in NAME.pid.RANK
# and reads NAME.data.RANK where there is such a folder.
cat >"$work/each" <<'EOF'
name=$1; shift
rank=${OMPI_COMM_WORLD_RANK-${PMI_RANK-0}}
echo $$ >"$name.pid.$rank"
test -d "$name.data.$rank" && set x "$@" --data="$name.data.$rank" && shift
exec "$@"
EOF
launch_each() {
  launch_np=$1 launch_name=$2; shift 2
  mpi "$launch_np" sh "$work/each" "$launch_name" "$train" --backend=$backend --threads=1 \
    --loader-threads=1 "$@"
}

# keep COMMAND...: run it and keep what it says for said().
keep() {
  "$@" >"$work/last" 2>&1; keep_rc=$?
  cat "$work/last"
  return $keep_rc
}
said() { grep -q -e "$1" "$work/last"; }

# await COMMAND...: until it succeeds, at most 50 s.
await() {
  n=0
  until "$@" || test $n -ge 1000; do n=`expr $n + 1`; sleep 0.05; done
}

# real_pictures: set $archive to CIFAR-10's, or end the test as skipped where it is not.
real_pictures() {
  real cifar10-jpeg.tar.xz && archive=$real && return
  echo "1..0 # SKIP no real pictures: cifar10-jpeg.tar.xz is not in \$TRICOLOR_TEST_DATA or ../shared/data"
  exit 0
}
