# Rows of bench/sim-allreduce (nodes, GB/s of sums, bytes, seconds, wrong, own or peer, algorithm,
# separated by tabs) -> a table for every number of nodes and rate of sums, and a verdict on every goal.
# Of rows simulated twice the last counts.   link: GB/s.
BEGIN { FS = "\t" }
NF == 7 {
  n = $1 + 0; r = $2 + 0; b = $3 + 0; name = $6 == "own" ? $7 : "smpi " $7
  node[n]; rate[r]; size[b]
  if (!(name in known)) { known[name]; line[++n_lines] = name }
  time[n, r, b, name] = $5 > 0 ? -1 : $4 * 1
  if ($5 > 0) wrong[++n_wrong] = n " nodes, " b " bytes: " name
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
# Ours first.
function before(a, b,   p, q) { p = a ~ /^smpi /; q = b ~ /^smpi /; return p != q ? p < q : a < b }
function sort_lines(   i, j, t) {
  for (i = 2; i <= n_lines; i++) {
    t = line[i]
    for (j = i - 1; j > 0 && before(t, line[j]); j--) line[j + 1] = line[j]
    line[j + 1] = t
  }
}
function bytes_name(b) { return b >= 1e6 ? sprintf("%.4g MB", b / 1e6) : sprintf("%.4g KB", b / 1e3) }
function bound(n, b) { return 2 * (n - 1) / n * b / (link * 1e9) }
function sums_name(r) { return r > 0 ? sprintf("sums at %g GB/s", r) : "sums not charged" }
# The fastest of ours or of the peers, into best_name.
function best(n, r, b, of_peers,   i, t, least) {
  least = 0; best_name = ""
  for (i = 1; i <= n_lines; i++) {
    t = time[n, r, b, line[i]]
    if ((line[i] ~ /^smpi /) == of_peers && t > 0 && (!least || t < least)) { least = t; best_name = line[i] }
  }
  return least
}
function table(n, r,   i, s, t, text) {
  printf "\n%d nodes, %s: microseconds (times the bound)\n  %-30s", n, sums_name(r), ""
  for (s = 1; s <= n_sizes; s++) printf " %17s", bytes_name(sizes[s])
  printf "\n  %-30s", "bound"
  for (s = 1; s <= n_sizes; s++) printf " %17.1f", bound(n, sizes[s]) * 1e6
  print ""
  for (i = 1; i <= n_lines; i++) {
    text = ""
    for (s = 1; s <= n_sizes; s++) {
      t = time[n, r, sizes[s], line[i]]
      text = text sprintf(" %17s", t == "" ? "-" : t < 0 ? "WRONG" : sprintf("%.1f (%.3f)", t * 1e6, \
        t / bound(n, sizes[s])))
    }
    if (text ~ /[0-9W]/) printf "  %-30s%s\n", line[i], text
  }
}
function verdict(goal, have, limit, below, detail) {
  if (!have) { printf "%-9s %s: not measured\n", "-", goal; return }
  printf "%-9s %s: %.3f %s\n", (below ? have <= limit : have >= limit) ? "met" : "NOT MET", goal, have, detail
}
function ratio(a, b) { return a > 0 && b > 0 ? a / b : 0 }
function goals(n,   r, i, s, b, own, own_name, peer, where) {
  for (i = 1; i <= n_rates; i++) {
    r = rates[i]
    for (s = 1; s <= n_sizes; s++) {
      b = sizes[s]; where = n " nodes, " bytes_name(b) ", " sums_name(r) ": "
      own = best(n, r, b, 0); own_name = best_name
      peer = best(n, r, b, 1)
      if (b <= 65536)
        verdict(where "best of ours <= 1.15 best peer", ratio(own, peer), 1.15, 1, \
          "(" own_name "; " best_name ")")
      if (b >= 1e8 && r == 0)
        verdict(where "best of ours <= 1.01 bound", ratio(own, bound(n, b)), 1.01, 1, "(" own_name ")")
      if (b >= 1e8 && r > 0)
        verdict(where "best of ours >= 1.25 times faster than best peer", ratio(peer, own), 1.25, 0, \
          "(" own_name "; " best_name ")")
    }
  }
}
END {
  sort_lines()
  n_nodes = in_order(node, nodes); n_sizes = in_order(size, sizes); n_rates = in_order(rate, rates)
  for (k = 1; k <= n_nodes; k++)
    for (i = 1; i <= n_rates; i++) table(nodes[k], rates[i])
  print ""
  for (k = 1; k <= n_nodes; k++) goals(nodes[k])
  for (i = 1; i <= n_wrong; i++) print "WRONG SUM: " wrong[i]
  exit n_wrong > 0
}
