# TC_REQUIRE_LIB(PREFIX, library, header, function, Debian package): sets PREFIX_LIBS or stops.
AC_DEFUN([TC_REQUIRE_LIB], [
  AC_CHECK_HEADER([$3], [], [AC_MSG_ERROR([$3 not found: install lib$2 (Debian: $5)])],
    [[#include <stdio.h>
]])
  AC_CHECK_LIB([$2], [$4], [AC_SUBST([$1_LIBS], [-l$2])],
    [AC_MSG_ERROR([$4 not found in lib$2: install it (Debian: $5)])])
])

# TC_WITH_LIB(option, purpose, PREFIX, library, header, function, [more checks]):
# --with-OPTION[=yes|no|DIR].  The further checks may set tc_OPTION=no and tc_OPTION_why.
# Sets tc_OPTION, tc_OPTION_why, PREFIX_CPPFLAGS, PREFIX_LIBS; defines HAVE_PREFIX (1 or absent) and
# the Automake conditional HAVE_PREFIX.
AC_DEFUN([TC_WITH_LIB], [
  AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1@<:@=DIR@:>@], [$2 @<:@default=check@:>@])],
    [], [with_$1=check])
  tc_$1=no; tc_$1_why="--without-$1"; $3_CPPFLAGS=; $3_LIBS=
  AS_IF([test "x$with_$1" != xno], [
    AS_CASE([$with_$1], [yes|check], [], [
      $3_CPPFLAGS="-I$with_$1/include"; $3_LIBS="-L$with_$1/lib"])
    tc_save_CPPFLAGS=$CPPFLAGS; tc_save_LDFLAGS=$LDFLAGS; tc_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $$3_CPPFLAGS"; LDFLAGS="$LDFLAGS $$3_LIBS"
    tc_$1=yes; tc_$1_why=found
    AC_CHECK_HEADER([$5], [], [tc_$1=no; tc_$1_why="no $5"], [[#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
]])
    AC_CHECK_LIB([$4], [$6], [:], [tc_$1=no; tc_$1_why="no lib$4"])
    AS_IF([test "x$tc_$1" = xyes], [m4_default([$7], [:])])
    CPPFLAGS=$tc_save_CPPFLAGS; LDFLAGS=$tc_save_LDFLAGS; LIBS=$tc_save_LIBS
    AS_IF([test "x$tc_$1" = xyes], [$3_LIBS="$$3_LIBS -l$4"
      AC_DEFINE([HAVE_$3], [1], [Define to 1 for: $2.])])
    AS_IF([test "x$tc_$1" = xno && test "x$with_$1" != xcheck],
      [AC_MSG_ERROR([--with-$1 given, but $tc_$1_why])])
  ])
  AC_SUBST([$3_CPPFLAGS])
  AC_SUBST([$3_LIBS])
  AM_CONDITIONAL([HAVE_$3], [test "x$tc_$1" = xyes])
])

# TC_WITH_PLANNED(option, purpose): an option whose part is not written yet.  An explicit yes is an
# error, so that nobody believes to have it.
AC_DEFUN([TC_WITH_PLANNED], [
  AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1], [$2 (not in this version)])], [], [with_$1=check])
  tc_$1=no; tc_$1_why="not in this version"
  AS_CASE([$with_$1], [no|check], [], [AC_MSG_ERROR([--with-$1 given, but $2: not in this version])])
])
