#!/bin/bash
# chain.sh - publisher, src_dist, two rrcpd, p2ps and consumers: what goes in comes out, in order and
# unchanged, and what is lost on the way is told. Usage: chain.sh SOURCE_DIR BUILD_DIR [CONF]
# SPDX-License-Identifier: Apache-2.0
set -u
source_dir=$1
bin=$2/bin
conf=${3:-reference-latency.cnf}
for program in rrcpd src_dist p2ps sink_driven_src rmdstestclient; do
    [ -x "$bin/$program" ] || { echo "this build has no $program"; exit 77; }
done
if [ -z "${RMDS_CHAIN_NET:-}" ]; then
    [ "$(id -u)" = 0 ] && space=-n || space=-rn
    unshare $space true 2>/dev/null || { echo "no network namespace of our own"; exit 77; }
    RMDS_CHAIN_NET=1 exec unshare $space "$0" "$@"
fi
ip link set lo up multicast on
ip route add 224.0.0.0/4 dev lo 2>/dev/null
dir=$(mktemp -d "${TMPDIR:-/tmp}/chain.XXXXXX")
export RMDS_BIN=$bin RMDS_STATE=$dir/state
sds_pid=
failures=0

runner() { python3 "$source_dir/tools/rmds-run.py" "$@"; }

finish() {
    [ -n "$sds_pid" ] && kill "$sds_pid" 2>/dev/null
    runner down "$dir/c.cnf" >/dev/null 2>&1
    wait
    rm -rf "$dir"
}
trap finish EXIT

fail() {
    echo "FAILED: $*"
    tail -8 "$dir/tc.out" | sed 's/^/    /'
    failures=$((failures + 1))
}

start_sds() {
    rm -f "$dir/commands"
    mkfifo "$dir/commands"
    "$bin/sink_driven_src" -S RDFD -c -seqdata -tps 1000 "$@" <"$dir/commands" >"$dir/sds.out" 2>&1 &
    sds_pid=$!
    exec 5>"$dir/commands"
}

stop_sds() {
    echo q >&5
    exec 5>&-
    wait "$sds_pid"
    sds_pid=
}

pid_of() { runner status "$dir/c.cnf" | sed -n "s/.* $1 .*pid \\([0-9]*\\).*/\\1/p"; }

# survives NAME: a program is killed under a consumer, then the whole system started anew; the data go on.
survives() {
    local rc
    "$bin/rmdstestclient" -S RDFD -h 127.0.0.1 -p 14202 -f "$dir/short" -seqcheck -l 2 -secs 12 </dev/null \
        >"$dir/tc.out" 2>&1 &
    local tc_pid=$!
    for _ in $(seq 100); do grep -q "100 of 100 items" "$dir/tc.out" && break; sleep 0.1; done
    kill -9 "$(pid_of "$1")"
    sleep 0.5
    runner down "$dir/c.cnf" >/dev/null
    runner up "$dir/c.cnf" >/dev/null
    wait $tc_pid
    rc=$?
    [ $rc -eq 0 ] || fail "$1 killed: exit code $rc, wanted 0"
    grep -qE "SUSPECT|is down|connection 0 to" "$dir/tc.out" || fail "$1 killed: nobody was told"
    grep -qE " updates in 1[0-9]" "$dir/tc.out" || fail "$1 killed: no summary"
}

# expect CODE PATTERN OPTION...
expect() {
    local code=$1 pattern=$2 rc
    shift 2
    "$bin/rmdstestclient" -S RDFD -h 127.0.0.1 -p 14202 "$@" </dev/null >"$dir/tc.out" 2>&1
    rc=$?
    [ $rc -eq "$code" ] || fail "rmdstestclient $*: exit code $rc, wanted $code"
    grep -qE -- "$pattern" "$dir/tc.out" || fail "rmdstestclient $*: no line like '$pattern'"
}

clean="0 gaps, 0 lost, 0 duplicates, 0 out of order, 0 wrong, 0 before their image; 0 resyncs"
"$bin/sink_driven_src" -mklist 1000 IT >"$dir/list"
head -100 "$dir/list" >"$dir/short"
cp "$source_dir/conf/$conf" "$dir/c.cnf"
cat >>"$dir/c.cnf" <<'END'
*p2ps*rsslPort : 14202
*src_dist*transmissionBus*serverPort : 14003
*p2ps*workers : 2
END
runner up "$dir/c.cnf" || exit 1

echo "an interactive provider"
start_sds -N 14102 -U 10000 -tsa
expect 0 "$clean" -f "$dir/list" -seqcheck -tt -secs 2
expect 0 "5000 of 5000 items open on 5 connections" -f "$dir/list" -conns 5 -seqcheck -secs 2
expect 0 "$clean" -f "$dir/list" -conns 3 -split -batch 200 -seqcheck -secs 1
expect 0 "$clean" -f "$dir/short" -view 22,25,32 -seqcheck -secs 1
expect 0 "100 of 100 items" -f "$dir/short" -snap -seqcheck -X -timeout 10
expect 0 "[1-9][0-9]* posts, [1-9][0-9]* acknowledged, 0 refused" -f "$dir/short" -post 50 -secs 2
expect 0 "TRDPRC_1 +6 " -il IT1 -d 3 -l 3 -X

echo "the last update of every item arrives, too"
: >"$dir/tc.out"
"$bin/rmdstestclient" -S RDFD -h 127.0.0.1 -p 14202 -f "$dir/list" -conns 3 -seqcheck -secs 1 -drain 20 \
    -counts "$dir/counts" </dev/null >"$dir/tc.out" 2>&1 &
tc_pid=$!
for _ in $(seq 200); do grep -q "measured" "$dir/tc.out" && break; sleep 0.1; done
printf 'ul 0\nur 0\ncounts %s\n' "$dir/counts" >&5
wait $tc_pid
rc=$?
[ $rc -eq 0 ] || fail "beside the publisher's counts: exit code $rc, wanted 0"
grep -q "; 0 items behind the publisher at the end" "$dir/tc.out" || fail "nothing was compared at the end"
echo "ur 10000" >&5

echo "the provider goes and comes back"
"$bin/rmdstestclient" -S RDFD -h 127.0.0.1 -p 14202 -f "$dir/short" -seqcheck -l 2 -secs 10 -json "$dir/r.json" \
    </dev/null >"$dir/tc.out" 2>&1 &
tc_pid=$!
for _ in $(seq 100); do grep -q "100 of 100 items" "$dir/tc.out" && break; sleep 0.1; done
stop_sds
for _ in $(seq 100); do grep -q "STATUS .*SUSPECT\|service RDFD is down" "$dir/tc.out" && break; sleep 0.1; done
start_sds -N 14102 -U 10000
wait $tc_pid
rc=$?
[ $rc -eq 0 ] || fail "a provider's restart: exit code $rc, wanted 0"
grep -q "SUSPECT\|is down" "$dir/tc.out" || fail "nobody was told that the provider is gone"
grep -qE "[1-9][0-9]* resyncs|0 gaps, 0 lost" "$dir/tc.out" || fail "no data after the provider's return"
stop_sds

echo "src_dist is killed, then everything started anew"
start_sds -N 14102 -U 10000
survives src_dist.1
stop_sds

echo "a non-interactive provider"
start_sds -host 127.0.0.1:14003 -f "$dir/list" -U 10000 -tsa
expect 0 "$clean" -f "$dir/list" -seqcheck -tt -secs 2 -timeout 30
stop_sds

[ $failures -eq 0 ] && echo "all good"
exit $((failures > 0))
