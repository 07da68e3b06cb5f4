# TC_WITH_ONEDNN: oneDNN 2.x or 3.x.  What TC_WITH_LIB sets, with OpenMP in DNNL_CFLAGS and
# DNNL_LIBS.  A library on another thread pool is refused: a device could not hold it to its cores.
AC_DEFUN([TC_WITH_ONEDNN], [
  AC_OPENMP
  DNNL_CFLAGS=
  TC_WITH_LIB([onednn], [oneDNN backend], [DNNL], [dnnl], [oneapi/dnnl/dnnl.h],
    [dnnl_engine_create], [
    AC_MSG_CHECKING([whether oneDNN is version 2 or 3 on OpenMP])
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([[#include <oneapi/dnnl/dnnl.h>
#if DNNL_VERSION_MAJOR < 2 || DNNL_VERSION_MAJOR > 3
# error version
#endif
#if DNNL_CPU_RUNTIME != DNNL_RUNTIME_OMP
# error runtime
#endif]])], [AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])
      tc_onednn=no; tc_onednn_why="oneDNN is not version 2 or 3 on OpenMP"])
    AS_IF([test -z "$OPENMP_CFLAGS"], [tc_onednn=no; tc_onednn_why="$CC has no OpenMP"])
    AC_CHECK_LIB([gomp], [omp_set_num_threads], [:], [tc_onednn=no; tc_onednn_why="no libgomp"])])
  AS_IF([test "x$tc_onednn" = xyes], [
    DNNL_CFLAGS=$OPENMP_CFLAGS
    DNNL_LIBS="$DNNL_LIBS -lgomp"])
  AC_SUBST([DNNL_CFLAGS])
])
