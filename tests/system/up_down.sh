#!/bin/sh
# up_down.sh SOURCE BUILD - a system comes up, is seen, loses a program and is seen to, and leaves
# nothing behind.
# SPDX-License-Identifier: Apache-2.0
set -e
source=$1
export RMDS_BIN="$2/bin"
[ -x "$RMDS_BIN/rrcpd" ] || { echo "this build has no rrcpd"; exit 77; }
work=$(mktemp -d)
export RMDS_STATE="$work/state"
run() { python3 "$source/tools/rmds-run.py" "$@"; }
trap 'run down "$work/a.cnf" >/dev/null 2>&1; run down "$work/b.cnf" >/dev/null 2>&1; rm -rf "$work"' EXIT
for system in a b; do # two systems on one host never meet
    port=$((20000 + $$ % 10000))
    [ $system = b ] && port=$((port + 1))
    printf '*rmds*startList : rrcpd.net1.1, rrcpd.net1.2\n*rrcp*interface : lo\n*rrcp*multicastPort : %s\n' \
        $port >"$work/$system.cnf"
    run up "$work/$system.cnf"
done
run status "$work/a.cnf"
run status "$work/b.cnf"
run up "$work/a.cnf" 2>/dev/null && { echo "it came up twice"; exit 1; }
# A program that hangs is alive, and yet no system that works: SIGSTOP takes its heartbeat.
until_status() { # CONF EXIT-CODE LINE
    for _ in $(seq 900); do
        code=0
        said=$(run status "$1") || code=$?
        [ $code -eq "$2" ] && printf '%s\n' "$said" | grep -q "$3" && return
        sleep 0.1
    done
    echo "status $1: not '$3' with exit code $2, but $code: $said"
    exit 1
}
pid=$(run status "$work/b.cnf" | sed -n 's/.*rrcpd.net1.1 .*pid \([0-9]*\).*/\1/p')
kill -STOP "$pid"
until_status "$work/b.cnf" 1 "rrcpd.net1.1 *pid $pid hangs"
run status "$work/b.cnf" | grep -q '^\[ok\] *rrcpd.net1.2 ' || { echo "the other one hangs, too"; exit 1; }
run status "$work/a.cnf"
kill -CONT "$pid"
until_status "$work/b.cnf" 0 "^\[ok\] *rrcpd.net1.1 *pid $pid\$"
pid=$(run status "$work/a.cnf" | sed -n 's/.*rrcpd.net1.2 .*pid \([0-9]*\).*/\1/p')
kill -9 "$pid"
sleep 0.2
run status "$work/a.cnf" | grep -q 'rrcpd.net1.2 *gone' || { echo "a killed program is not missed"; exit 1; }
if run status "$work/a.cnf" >/dev/null; then echo "status says all is well"; exit 1; fi
run down "$work/a.cnf"
run up "$work/a.cnf" # what kill -9 left does not stop a restart
run down "$work/a.cnf"
run status "$work/b.cnf"
run down "$work/b.cnf"
[ -z "$(ls -A "$work/state" 2>/dev/null)" ] || { echo "left behind: $(ls -AR "$work/state")"; exit 1; }
echo '*rmds*startList : nothing.1' >"$work/c.cnf"
run up "$work/c.cnf" && exit 1
[ -z "$(ls -A "$work/state" 2>/dev/null)" ] || { echo "a system that did not start is left"; exit 1; }
echo "up, status and down keep their word"
