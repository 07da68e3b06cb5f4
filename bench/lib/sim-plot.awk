# Rows of bench/sim-allreduce -> a script of gnuplot: bandwidth over size, a panel for every number of
# nodes and rate of sums.   link: GB/s; kind: png or svg; out: the picture's file.
BEGIN { FS = "\t" }
NF == 7 && $5 == 0 && $4 > 0 {
  name = $6 == "own" ? $7 : "smpi " $7
  if (!($1 in node)) { node[$1]; nodes[++n_nodes] = $1 }
  if (!($2 in rate)) { rate[$2]; rates[++n_rates] = $2 }
  if (!(name in known)) { known[name]; line[++n_lines] = name }
  size[$3]; time[$1, $2, $3, name] = $4
}
function sort_numbers(a, n,   i, j, t) {
  for (i = 2; i <= n; i++) {
    t = a[i]
    for (j = i - 1; j > 0 && a[j] + 0 > t + 0; j--) a[j + 1] = a[j]
    a[j + 1] = t
  }
}
function panel(n, r,   i, s, text, list) {
  for (i = 1; i <= n_lines; i++) {
    text = ""
    for (s = 1; s <= n_sizes; s++)
      if ((n, r, sizes[s], line[i]) in time)
        text = text sprintf("%s %g\n", sizes[s], sizes[s] / time[n, r, sizes[s], line[i]] * 1e-9)
    if (text == "") continue
    printf "$d%d << E\n%sE\n", ++blocks, text
    list = list sprintf(", $d%d using 1:2 with linespoints linecolor %d pointtype %d linewidth %s dashtype %d title \"%s\"", \
      blocks, i, i, line[i] ~ /^smpi/ ? "1" : "2", line[i] ~ /^smpi/ ? 2 : 1, line[i])
  }
  printf "set title \"%d nodes, %s\"\n", n, (r > 0 ? sprintf("sums at %g GB/s", r) : "sums not charged")
  printf "set yrange [0:%g]\n", 2 * n * link / (2 * (n - 1))
  printf "plot %g with lines linecolor \"black\" dashtype 3 title \"bound\"%s\n", n * link / (2 * (n - 1)), list
}

function before(a, b,   p, q) { p = a ~ /^smpi /; q = b ~ /^smpi /; return p != q ? p < q : a < b }
function sort_lines(   i, j, t) {
  for (i = 2; i <= n_lines; i++) {
    t = line[i]
    for (j = i - 1; j > 0 && before(t, line[j]); j--) line[j + 1] = line[j]
    line[j + 1] = t
  }
}
END {
  sort_lines()
  for (s in size) sizes[++n_sizes] = s
  sort_numbers(sizes, n_sizes); sort_numbers(nodes, n_nodes); sort_numbers(rates, n_rates)
  columns = n_nodes; width = 460 * columns; height = 420 * n_rates + 40
  if (kind == "png") printf "set terminal pngcairo size %d,%d font \",11\" noenhanced\n", width, height
  else printf "set terminal svg size %d,%d font \"Helvetica,12\" noenhanced background \"white\"\n", width, height
  printf "set output \"%s\"\n", out
  printf "set multiplot layout %d,%d title \"Allreduce on a simulated fat tree, links of %g GB/s each way\"\n", \
    n_rates, columns, link
  print "set logscale x; set grid; set key left top samplen 2 font \",9\""
  print "set xlabel \"size of the vector, bytes\"; set ylabel \"size / time, GB/s\""
  printf "set xtics (%s) rotate by 30 right\n", tics()
  for (j = 1; j <= n_rates; j++)
    for (i = 1; i <= n_nodes; i++) panel(nodes[i], rates[j])
  print "unset multiplot"
}
function tics(   s, text) {
  for (s = 1; s <= n_sizes; s++)
    text = text (s > 1 ? ", " : "") sprintf("\"%s\" %s", sizes[s] + 0 >= 1e6 ? sprintf("%.3g MB", sizes[s] / 1e6) \
      : sprintf("%.3g KB", sizes[s] / 1e3), sizes[s])
  return text
}
