#! /bin/sh
# The borders between the rooms hold, and the checker sees a breach when there is one.
. "$top_srcdir/tests/tap.sh"
check="sh $top_srcdir/tests/tree/check-includes.sh"

ok "the tree keeps its borders" $check "$top_srcdir"

plant() { # FILE LINE: a copy of the sources with one more line
  rm -rf "$work/tree"
  mkdir -p "$work/tree"
  (cd "$top_srcdir" && tar cf - --exclude='*.o' src data-prep) | (cd "$work/tree" && tar xf -)
  chmod -R u+w "$work/tree"
  echo "$2" >>"$work/tree/$1"
}
plant src/image/image.h '#include "store/store.h"'
fails "image that includes store" 1 'image may not include "store/store.h"' $check "$work/tree"
plant src/loader/loader.h '#include <mpi.h>'
fails "mpi.h in the loader" 1 'loader may not include <mpi.h>' $check "$work/tree"
plant src/comm/comm.h '#include "comm/comm_mpi.h"'
fails "store.h that shows mpi.h indirectly" 1 'store.h shows <mpi.h>' $check "$work/tree"
plant src/nn/graph.h '#include <oneapi/dnnl/dnnl.h>'
fails "oneDNN outside its folder" 1 'nn may not include <oneapi' $check "$work/tree"
plant src/table/table.h '#include "dev/ref/ref.h"'
fails "a backend's header outside its folder" 1 'only its own folder' $check "$work/tree"
plant src/table/table.h 'extern int tc_backend_ref;'
fails "a backend named outside dev" 1 'named outside src/dev' $check "$work/tree"
plant src/base/mem.h '#include "mem.h"'
fails "a header without its room" 1 'name headers by their room' $check "$work/tree"
tap_done
