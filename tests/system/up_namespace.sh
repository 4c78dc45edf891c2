#!/bin/sh
# up_namespace.sh SOURCE BUILD - `@namespace` in startList: the program runs in that network namespace.
# SPDX-License-Identifier: Apache-2.0
set -e
source=$1
export RMDS_BIN="$2/bin"
[ -x "$RMDS_BIN/rrcpd" ] || { echo "this build has no rrcpd"; exit 77; }
if [ -z "$RMDS_NAMESPACE_TEST" ]; then
    space=-mn
    [ "$(id -u)" -eq 0 ] || space=-rmn
    unshare $space true 2>/dev/null || { echo "no namespaces of our own"; exit 77; }
    RMDS_NAMESPACE_TEST=1 exec unshare $space "$0" "$@"
fi
# The names of namespaces stand in /run/netns: with a /run of our own they are nobody else's.
{ mount -t tmpfs none /run && mkdir -p /var/run && ip netns add far && ip netns exec far true; } 2>/dev/null ||
    { echo "no named network namespace may be made here"; exit 77; }
ip link set lo up
ip netns exec far ip link set lo up
work=$(mktemp -d)
export RMDS_STATE="$work/state"
run() { python3 "$source/tools/rmds-run.py" "$@"; }
trap 'run down "$work/a.cnf" >/dev/null 2>&1; rm -rf "$work"' EXIT
printf '*rmds*startList : rrcpd.net1.1, rrcpd.net1.2@far\n*rrcp*interface : lo\n' >"$work/a.cnf"
run up "$work/a.cnf"
run status "$work/a.cnf"
network_of() { # PROGRAM
    pid=$(run status "$work/a.cnf" | sed -n "s/.*$1 .*pid \([0-9]*\).*/\1/p")
    [ "$(cat "/proc/$pid/comm")" = rrcpd ] || { echo "$1 is not the daemon itself" >&2; exit 1; }
    readlink "/proc/$pid/ns/net"
}
[ "$(network_of rrcpd.net1.1)" = "$(readlink /proc/self/ns/net)" ] || { echo "the near one is away"; exit 1; }
[ "$(network_of rrcpd.net1.2@far)" = "$(ip netns exec far readlink /proc/self/ns/net)" ] ||
    { echo "rrcpd.net1.2@far is not in its namespace"; exit 1; }
run down "$work/a.cnf"
[ -z "$(ip netns pids far)" ] || { echo "left in the namespace: $(ip netns pids far)"; exit 1; }
[ -z "$(ls -A "$work/state" 2>/dev/null)" ] || { echo "left behind: $(ls -AR "$work/state")"; exit 1; }
printf '*rmds*startList : rrcpd.net1.1@nowhere\n*rrcp*interface : lo\n' >"$work/a.cnf"
if run up "$work/a.cnf" >"$work/said"; then echo "up in a namespace that is not there"; exit 1; fi
grep -q nowhere "$work/said" || { cat "$work/said"; exit 1; }
echo "each program runs in its namespace"
