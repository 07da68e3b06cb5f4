# shellcheck shell=bash
# Network namespaces as hosts: N of them on one bridge, every link shaped both ways.  Sourced by
# bench/netns.
#
# An instance number I keeps runs apart that go on at the same time: namespaces tcIn0 … tcIn15, the
# bridge tcIbr, the addresses 198.18.I.0/24 (198.18.0.0/15 is the range that RFC 2544 sets aside for
# benchmarks).  Whoever holds the lock of I owns all of that; what a dead run has left is removed by
# the next that takes the lock.
#
# lib/janitor tears down.  It waits, in a session of its own, for the end of a pipe whose other end
# this script holds: it comes when the script ends, in whichever way, a SIGKILL included.

net_locks=${TC_NETNS_LOCKS-/run/lock}
net_instance='' net_hosts=0

# net_refuse: say why namespaces can't be made here, and fail; silent where they can.
net_refuse() {
  local tool probe=tcprobe$$
  for tool in ip tc unshare flock setsid timeout; do
    command -v "$tool" >/dev/null 2>&1 || {
      echo "$tool is not installed (Debian: iproute2, util-linux, coreutils)"; return 1; }
  done
  test "$(id -u)" = 0 || { echo "only root may make network namespaces: run it as root or by sudo"; return 1; }
  ip netns add "$probe" >/dev/null 2>&1 || {
    echo "this system permits no network namespaces (a container without CAP_SYS_ADMIN?)"; return 1; }
  if ! ip -n "$probe" link add tcprobe type veth peer name tcprobe1 >/dev/null 2>&1 ||
    ! tc -n "$probe" qdisc add dev tcprobe root tbf rate 1mbit burst 10kb latency 20ms >/dev/null 2>&1; then
    ip netns del "$probe"
    echo "the kernel has no veth links or no tbf shaping (modules veth, sch_tbf)"; return 1
  fi
  ip netns del "$probe"
}

# net_remove I: everything of instance I, running programs included.
net_remove() {
  local ns pids dev
  for ns in $(ip netns list 2>/dev/null | awk '{ print $1 }' | grep "^tc$1n[0-9]*\$"); do
    pids=$(ip netns pids "$ns" 2>/dev/null)
    # shellcheck disable=SC2086 # several words
    test -z "$pids" || kill -KILL $pids 2>/dev/null
    ip netns del "$ns" 2>/dev/null
  done
  # A link goes with its namespace, but only once the last process there is gone.
  for dev in $(ip -o link show 2>/dev/null | sed -n "s/^[0-9]*: \(tc$1\(v[0-9]*\|br\)\)[@:].*/\1/p"); do
    ip link del "$dev" 2>/dev/null
  done
  return 0
}

# net_left: the instances of which something exists.
net_left() {
  { ip netns list 2>/dev/null | sed -n 's/^tc\([0-9]*\)n[0-9]*\( .*\)\?$/\1/p'
    ip -o link show type bridge 2>/dev/null | sed -n 's/^[0-9]*: tc\([0-9]*\)br:.*/\1/p'; } | sort -nu
}

# net_clean: remove what runs have left that are no more.
net_clean() {
  local i lock
  for i in $(net_left); do
    exec {lock}>"$net_locks/tricolor-netns.$i" || return 1
    if flock -n "$lock"; then
      net_remove "$i"; echo "removed the namespaces of instance $i"
    else
      echo "instance $i is in use: left alone"
    fi
    exec {lock}>&-
  done
}

net_host() { echo "tc${net_instance}n$1"; }

# net_command COMMAND...: become it, in a subshell, without the script's lock and pipe: whoever keeps
# the pipe open keeps the janitor waiting.
net_command() { exec "$@" {net_lock}>&- {net_pipe}>&-; }

# net_up HOSTS RATE BURST LATENCY CONGESTION: fails with a message.  $work is removed with it.
net_up() {
  local hosts=$1 rate=$2 burst=$3 latency=$4 congestion=$5 i host why
  for ((i = 0; i < 100; i++)); do
    exec {net_lock}>"$net_locks/tricolor-netns.$i" || return 1
    flock -n "$net_lock" && break
    exec {net_lock}>&-
  done
  test "$i" -lt 100 || { echo "100 instances are in use" >&2; return 1; }
  net_instance=$i net_hosts=$hosts
  net_remove "$i"
  # The janitor keeps the lock until it has torn down.
  exec {net_pipe}> >(exec setsid bash "$here/lib/janitor" "$i" "$work")
  why=$(
    exec 2>&1
    set -e
    ip link add "tc${i}br" type bridge
    ip link set "tc${i}br" up
    ip addr add "198.18.$i.254/24" dev "tc${i}br"
    for ((h = 0; h < hosts; h++)); do
      host=$(net_host $h)
      ip netns add "$host"
      ip link add "tc${i}v$h" type veth peer name eth0 netns "$host"
      ip link set "tc${i}v$h" master "tc${i}br" up
      ip -n "$host" link set lo up
      ip -n "$host" addr add "198.18.$i.$((h + 1))/24" dev eth0
      ip -n "$host" link set eth0 up
      tc -n "$host" qdisc add dev eth0 root tbf rate "$rate" burst "$burst" latency "$latency"
      tc qdisc add dev "tc${i}v$h" root tbf rate "$rate" burst "$burst" latency "$latency"
      # By the route: a sysctl here is refused where the administrator has restricted the choice.
      ip -n "$host" route replace "198.18.$i.0/24" dev eth0 congctl "$congestion"
    done
  ) || { echo "cannot set up $hosts hosts: $why" >&2; return 1; }
}

# net_down: let the janitor tear down, and wait for it.
net_down() {
  test -n "$net_instance" || return 0
  local lock
  exec {net_pipe}>&- {net_lock}>&-
  exec {lock}>"$net_locks/tricolor-netns.$net_instance" && flock -w 30 "$lock"
  exec {lock}>&-
  net_instance=''
}
