#! /bin/sh
# The plain rules of the house: lengths, line widths, scripts that shellcheck accepts.
. "$top_srcdir/tests/tap.sh"
cd "$top_srcdir" || exit 99

files() { find src data-prep bench sim tests -name '*.[ch]' -o -name '*.cu' | sort; }

no_output() { out=`"$@"`; echo "$out"; test -z "$out"; }

long_files() { for f in `files`; do n=`wc -l <"$f"`; test "$n" -le 600 || echo "$f: $n lines"; done; }
ok "no C file is longer than 600 lines" no_output long_files

# A function's body lies between a '{' and a '}' in the first column; a longer one needs a reason,
# given as "long:" in the comment above it.
long_functions() {
  for f in `files`; do
    awk -v f="$f" '/long:/ { reason = NR }
      /^\{/ { start = NR }
      /^\}/ { if (start && NR - start > 62 && (!reason || start - reason > 12))
                print f ":" start ": " NR - start - 1 " lines"; start = 0 }' "$f"
  done
}
ok "no function is longer than 60 lines without a reason" no_output long_functions

wide_lines() { LC_ALL=C.UTF-8 grep -nE '^.{101,}' `files`; }
ok "no line is wider than 100 columns" no_output wide_lines

machine_paths() { grep -rnE '(^|[^a-z.])/(work|root|home)/[a-z]' src data-prep bench sim tests experiments doc \
  README ChangeLog configure.ac m4 setup .ci 2>/dev/null | grep -v t-style.sh; }
ok "no path of a developer's machine" no_output machine_paths

scripts() { echo setup; find .ci -type f 2>/dev/null; find tests experiments -name '*.sh' 2>/dev/null
  find experiments -name run 2>/dev/null; }
if command -v shellcheck >/dev/null 2>&1; then
  # shellcheck disable=SC2046
  # Backquotes (SC2006) and expr (SC2003) are this tree's habit, as in Autoconf; SC1090/1/2154: tap.sh and
  # the variables of make; SC2086: options that are meant to split.
  ok "shellcheck" shellcheck -s sh -e SC2006,SC2003,SC1090,SC1091,SC2154,SC2086,SC2034,SC2046,SC2317,SC2329 \
    $(for s in `scripts`; do test -f "$s" && echo "$s"; done)
  ok "shellcheck of the benches" shellcheck -x bench/netns bench/lib/agent bench/lib/janitor
  ok "shellcheck of bench/step" shellcheck -s sh -e SC2006,SC2003 bench/step
  ok "shellcheck of bench/input" shellcheck -s sh -e SC2006,SC2003 bench/input
  ok "shellcheck of bench/sim-allreduce" shellcheck -s sh -e SC2006,SC2003,SC2086,SC2016 bench/sim-allreduce
else
  skip "shellcheck" "shellcheck is not installed"
fi
tap_done
