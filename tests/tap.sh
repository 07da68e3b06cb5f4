# TAP for test scripts; sourced.  Makes $work, removed at the end; programs are in $top_builddir.
tap_n=0
work=`mktemp -d "${TMPDIR-/tmp}/tricolor-test.XXXXXX"` || exit 99
trap 'rm -rf "$work"' 0
trap 'exit 99' 1 2 15

# mpi N PROGRAM ARGUMENT...: run under the configured launcher, with a time-out of $limit seconds.
: "${limit=120}"
mpi() {
  np=$1; shift
  # Open MPI's session folder and yielding waits; harmless elsewhere.
  OMPI_MCA_mpi_yield_when_idle=1 timeout "$limit" $MPIRUN $MPIRUN_FLAGS -np "$np" "$@"
}

# ok NAME COMMAND...: one check; the command's output goes to $work/out, shown when it fails.
ok() {
  tap_name=$1; shift
  tap_n=`expr $tap_n + 1`
  if "$@" >"$work/out" 2>&1; then
    echo "ok $tap_n - $tap_name"
  else
    tap_rc=$?
    sed 's/^/# /' "$work/out"
    echo "not ok $tap_n - $tap_name (status $tap_rc)"
  fi
}

# fails NAME STATUS TEXT COMMAND...: the command must end with this status and say this text.
fails() {
  tap_name=$1 tap_want=$2 tap_text=$3; shift 3
  tap_n=`expr $tap_n + 1`
  "$@" >"$work/out" 2>&1
  tap_rc=$?
  if test $tap_rc -eq "$tap_want" && grep -q -e "$tap_text" "$work/out"; then
    echo "ok $tap_n - $tap_name"
  else
    sed 's/^/# /' "$work/out"
    echo "not ok $tap_n - $tap_name (status $tap_rc, wanted $tap_want and '$tap_text')"
  fi
}

# within SECONDS COMMAND...: the command's status, or 111 when it took longer.  A busy machine may take
# a while only to start the ranks: a script may set $slack to what an empty job took; three times that is
# granted on top.
slack=0
within() {
  most=`expr $1 + 3 \* $slack`; shift
  began=`date +%s`
  "$@"
  rc=$?
  took=`expr \`date +%s\` - $began`
  echo "took $took s"
  test $took -le $most || return 111
  return $rc
}

skip() {
  tap_n=`expr $tap_n + 1`
  echo "ok $tap_n - $1 # SKIP $2"
}

# real NAME: set $real to a file of real pictures, or fail: they are not everywhere.
real() {
  real=${TRICOLOR_TEST_DATA-$top_srcdir/../shared/data}/$1
  test -r "$real"
}

tap_done() {
  echo "1..$tap_n"
}
