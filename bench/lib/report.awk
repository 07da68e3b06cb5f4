# Rows of `bench/netns compare` (see compare.bash) -> one table, and a verdict on every goal.
# Of rows measured twice the last counts.
BEGIN { FS = "\t" }
{
  host[$2]; size[$6 + 0]; job = $1 SUBSEP $2 SUBSEP $6; name = $15
  if (!((job, name) in time) && !(($1, $2, name) in known)) {
    known[$1, $2, name]; line[$1, $2, ++lines[$1, $2]] = name
  }
  if (!($1 in lib)) { lib[$1]; libs[++n_libs] = $1 }
  rate[job] = $3; goodput[job] = $4; idle[job] = $5; bound[job] = $13 * 1e-6
  time[job, name] = $11 > 0 ? -1 : $8 * 1e-6
  runs[job, name] = $12
  if ($11 > 0) wrong[++n_wrong] = $1 " " $2 " hosts " $6 " bytes: " name
}
function in_order(set, order,   n, i, j, t) {
  n = 0
  for (t in set) order[++n] = t + 0
  for (i = 2; i <= n; i++) {
    t = order[i]
    for (j = i - 1; j > 0 && order[j] > t; j--) order[j + 1] = order[j]
    order[j + 1] = t
  }
  return n
}
function bytes_name(b) {
  return b >= 1e6 ? sprintf("%.4g MB", b / 1e6) : sprintf("%.4g KB", b / 1e3)
}
function heading(label, array, suffix,   s) {
  printf "  %-32s", label
  for (s = 1; s <= n_sizes; s++) {
    job = mpi SUBSEP n SUBSEP sizes[s]
    printf " %18s", job in array ? array[job] suffix : "-"
  }
  print ""
}
function table(mpi, n,   s, i, t, b) {
  if (!lines[mpi, n]) return
  printf "\n%s, %d hosts: seconds (times the bound)\n  %-32s", mpi, n, ""
  for (s = 1; s <= n_sizes; s++) printf " %18s", bytes_name(sizes[s])
  print ""
  heading("links", rate, "")
  heading("two-way goodput", goodput, " Mbit/s")
  heading("processor idle", idle, " %")
  for (i = 1; i <= lines[mpi, n]; i++) {
    printf "  %-32s", line[mpi, n, i] alias(line[mpi, n, i], mpi)
    for (s = 1; s <= n_sizes; s++) {
      t = time[mpi, n, sizes[s], line[mpi, n, i]]; b = bound[mpi, n, sizes[s]]
      printf " %18s", t == "" ? "-" : t < 0 ? "WRONG" : sprintf("%.4f (%.2f)%s", t, b > 0 ? t / b : 0, \
        runs[mpi, n, sizes[s], line[mpi, n, i]] == 1 ? "*" : " ")
    }
    print ""
  }
}
function alias(name, mpi,   names) {
  if (mpi == "openmpi")
    split("linear nonoverlapping recursive-doubling ring segmented-ring rabenseifner", names, " ")
  else
    split("nb smp recursive-doubling rabenseifner", names, " ")
  return name == "mpi" ? " (default)" : name ~ /^mpi:[1-9]$/ ? " " names[substr(name, 5) + 0] : ""
}
# The fastest of the names that match, into best_name.
function best(mpi, n, b, pattern,   i, t, least) {
  least = 0; best_name = ""
  for (i = 1; i <= lines[mpi, n]; i++) {
    t = time[mpi, n, b, line[mpi, n, i]]
    if (line[mpi, n, i] ~ pattern && t > 0 && (!least || t < least)) { least = t; best_name = line[mpi, n, i] }
  }
  return least
}
function verdict(goal, have, limit, below, detail) {
  if (have == 0) { printf "%-9s %s: not measured\n", "-", goal; return }
  printf "%-9s %s: %.3f %s\n", (below ? have <= limit : have >= limit) ? "met" : "NOT MET", goal, have, detail
}
function ratio(a, b) { return a > 0 && b > 0 ? a / b : 0 }
function goals(n, b,   mpi, auto, trees, peer, where, big, least) {
  mpi = "openmpi"
  if (!((mpi, n, b) in bound)) return
  where = sprintf("%d hosts %s: ", n, bytes_name(b))
  auto = time[mpi, n, b, "auto"]; big = b >= 8e6
  trees = best(mpi, n, b, "^multicolor"); trees_name = best_name
  peer = best(mpi, n, b, "^mpi"); peer_name = best_name
  if (big) {
    least = b >= 44e6 ? 1.10 : 1.15
    verdict(sprintf("%sauto <= %.2f bound", where, least), ratio(auto, bound[mpi, n, b]), least, 1, "")
  }
  least = big ? 1.03 : 1.10
  verdict(sprintf("%sauto <= %.2f best of Open MPI", where, least), ratio(auto, peer), least, 1,
    "(" peer_name alias(peer_name, mpi) ")")
  if (big && n != 4)
    verdict(where "auto >= 1.5 times faster than Open MPI's default",
      ratio(time[mpi, n, b, "mpi"], auto), 1.5, 0, "")
  if (big && n <= 8) {
    least = b >= 44e6 ? 1.15 : 1.20
    verdict(sprintf("%sbest multicolor <= %.2f bound", where, least), ratio(trees, bound[mpi, n, b]),
      least, 1, "(" trees_name ")")
  }
  verdict(where "processor idle >= 30 %", idle[mpi, n, b], 30, 0, "")
}
END {
  n_hosts = in_order(host, hosts); n_sizes = in_order(size, sizes)
  for (i = 1; i <= n_hosts; i++)
    for (l = 1; l <= n_libs; l++) { mpi = libs[l]; n = hosts[i]; table(mpi, n) }
  print "\n* run once: it was far slower than the fastest.\n"
  for (i = 1; i <= n_hosts; i++)
    for (s = 1; s <= n_sizes; s++) goals(hosts[i], sizes[s])
  for (i = 1; i <= n_wrong; i++) print "WRONG SUM: " wrong[i]
  exit n_wrong > 0
}
