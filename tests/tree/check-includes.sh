#! /bin/sh
# check-includes.sh ROOT: print every #include under ROOT that crosses a border between rooms; the
# rules stand in the comments below.  Exit status 0: none.
root=$1
cd "$root" || exit 99
bad=0
say() { echo "$1"; bad=1; }

# Rooms that a room may see (itself always).
sees() {
  case $1 in
    base) echo base ;;
    image|shard|comm|nn|report) echo "$1 base" ;;
    timing) echo "timing base comm" ;;
    allreduce) echo "allreduce base comm timing" ;;
    store) echo "store base shard comm" ;;
    loader) echo "loader base image store" ;;
    dev) echo "dev base nn" ;;
    table) echo "table base dev nn loader allreduce" ;;
    train|app) echo "base image shard comm timing allreduce store loader nn dev table train report app" ;;
    data-prep) echo "data-prep base image shard" ;;
    *) echo "" ;;
  esac
}

# Rooms that may include a system header.
may_system() { # header room
  case $1 in
    mpi.h)
      case $2 in comm|timing|allreduce|store|app|bench|sim|tests) return 0 ;; esac; return 1 ;;
    jpeglib.h|jerror.h|turbojpeg.h|png.h) case $2 in image|tests|bench) return 0 ;; esac; return 1 ;;
    dnnl.h|oneapi/*|dnnl*) test "$2" = dev/onednn ;;
    cuda*|cudnn*|nccl*) test "$2" = dev/cuda ;;
    *) return 0 ;;
  esac
}

# Own headers, direct edges.
grep -rnE '^[ 	]*#[ 	]*include[ 	]+"' src data-prep --include='*.[ch]' 2>/dev/null |
sed -E 's/^([^:]+):([0-9]+):.*"([^"]+)".*/\1 \2 \3/' >"${TMPDIR-/tmp}/includes.$$"
while read -r file line header; do
  case $file in
    src/dev/*/*) room=`echo "$file" | cut -d/ -f2-3` ;;
    src/*) room=`echo "$file" | cut -d/ -f2` ;;
    *) room=data-prep ;;
  esac
  case $header in
    */*) target=${header%/*} ;;
    *) say "$file:$line: \"$header\": name headers by their room"; continue ;;
  esac
  case $room in
    dev/*) # a backend sees base, nn, the interface and itself
      case $target in base|nn|"$room") continue ;; esac
      test "$header" = dev/backend.h && continue ;;
    data-prep)
      test "$target" = .. && continue ;;
  esac
  case $target in
    dev/*) say "$file:$line: \"$header\": only its own folder and dev.c see a backend"; continue ;;
  esac
  ok=no
  for r in `sees "$room"`; do test "$r" = "$target" && ok=yes; done
  test $ok = yes || say "$file:$line: $room may not include \"$header\""
done <"${TMPDIR-/tmp}/includes.$$"
rm -f "${TMPDIR-/tmp}/includes.$$"

# System headers.
grep -rnE '^[ 	]*#[ 	]*include[ 	]+<' src data-prep bench sim tests --include='*.[ch]' 2>/dev/null |
sed -E 's/^([^:]+):([0-9]+):.*<([^>]+)>.*/\1 \2 \3/' >"${TMPDIR-/tmp}/includes.$$"
while read -r file line header; do
  case $file in
    src/dev/*/*) room=`echo "$file" | cut -d/ -f2-3` ;;
    src/*) room=`echo "$file" | cut -d/ -f2` ;;
    *) room=`echo "$file" | cut -d/ -f1` ;;
  esac
  may_system "$header" "$room" || say "$file:$line: $room may not include <$header>"
done <"${TMPDIR-/tmp}/includes.$$"
rm -f "${TMPDIR-/tmp}/includes.$$"

# Headers that may not show <mpi.h>, however indirectly: all but comm_mpi.h and private ones.
closure() { # headers reached from $1
  todo=$1 done=
  while test -n "$todo"; do
    h=${todo%% *}; todo=${todo#"$h"}; todo=${todo# }
    case " $done " in *" $h "*) continue ;; esac
    done="$done $h"
    test -f "src/$h" || continue
    todo="$todo `sed -nE 's/^[ 	]*#[ 	]*include[ 	]+"([^"]+)".*/\1/p' "src/$h" | tr '\n' ' '`"
    grep -qE '^[ 	]*#[ 	]*include[ 	]+<mpi.h>' "src/$h" && echo "src/$h"
  done
}
for h in store/store.h allreduce/allreduce.h allreduce/spec.h timing/timing.h table/table.h comm/comm.h train/train.h loader/loader.h; do
  test -f "src/$h" || continue
  for shown in `closure "$h"`; do say "src/$h shows <mpi.h> through $shown"; done
done

# Only dev.c names backends.
grep -nE 'tc_backend_(ref|onednn|cuda)' -r src data-prep --include='*.[ch]' 2>/dev/null |
  grep -v '^src/dev/' | grep . && say "a backend is named outside src/dev"

exit $bad
