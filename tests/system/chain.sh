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
    [ -n "$tc_pid" ] && kill "$tc_pid" 2>/dev/null
    runner down "$dir/c.cnf" >/dev/null 2>&1
    wait
    rm -rf "$dir"
}
trap finish EXIT
port=14202
consumer_words=(-timeout 90)
. "$source_dir/tests/system/consumer.sh"

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

# watch_tc OPTION...: one that tells of states and images, too.
watch_tc() { start_tc -l 2 "$@"; }

# stop_tc WHAT: it must be content.
stop_tc() {
    end_tc 0 "$1"
    said " updates in " || fail "$1: no summary"
}

# asked PATTERN: it was said; the question brings out what still waits to be written.
asked() {
    echo st >&6
    said "$1"
}

# ticks ITEMS: that many are open, and updates came since it was asked the last time.
ticks() {
    echo st >&6
    tail -1 "$dir/tc.out" | grep -qE "^20[0-9-]*T[0-9:]*Z,[1-9][0-9]*,[0-9]+,[0-9]+,$1,0,"
}

# tell COMMAND MARK: once it was heeded; no item is called so.
tell() {
    printf '%s\n' "$1" "cl $2" >&6
    wait_for said "no item $2 in the list"
}

# others_flow: other consumers get updates; a run in which the machine stood still proves nothing.
others_flow() {
    "$bin/rmdstestclient" -S RDFD -h 127.0.0.1 -p 14202 -timeout 90 -f "$dir/short" -conns 4 -secs 1 </dev/null \
        >"$dir/others.out" 2>&1
    grep -q " [1-9][0-9]* updates in " "$dir/others.out"
}

images() {
    echo st >&6
    [ "$(grep -c "^REFRESH" "$dir/tc.out")" -ge "$1" ]
}

# survives NAME: a program is killed under a consumer, then the whole system started anew; the data go on.
survives() {
    watch_tc -f "$dir/short" -seqcheck
    wait_for said "100 of 100 items"
    kill -9 "$(pid_of "$1")"
    wait_for asked "SUSPECT|is down|connection 0 to"
    runner down "$dir/c.cnf" >/dev/null
    wait_for said "connection 0 to"
    runner up "$dir/c.cnf" >/dev/null || fail "$1 killed: it does not start again"
    wait_for ticks 100
    stop_tc "$1 killed"
}

clean="0 gaps, 0 lost, 0 duplicates, 0 out of order, 0 wrong, 0 before their image; 0 resyncs"
"$bin/sink_driven_src" -mklist 1000 IT >"$dir/list"
head -100 "$dir/list" >"$dir/short"
cp "$source_dir/conf/$conf" "$dir/c.cnf"
cat >>"$dir/c.cnf" <<'END'
*p2ps*rsslPort : 14202
*src_dist*transmissionBus*serverPort : 14003
*p2ps*workers : 2
*rrcp*peerTimeout : 10000
*p2ps*instanceTimeout : 10000
END
runner up "$dir/c.cnf" || exit 1

echo "an interactive provider"
start_sds -N 14102 -U 10000 -tsa
expect 0 "$clean" -f "$dir/list" -seqcheck -tt -secs 2
expect 0 "5000 of 5000 items open on 5 connections" -f "$dir/list" -conns 5 -seqcheck -secs 2
expect 0 "$clean" -f "$dir/list" -conns 3 -split -batch 200 -seqcheck -secs 1
expect 0 "$clean" -f "$dir/short" -view 22,25,32 -seqcheck -secs 1
expect 0 "100 of 100 items" -f "$dir/short" -snap -seqcheck -e
expect_in_time -secs 0 "[1-9][0-9]* posts, [1-9][0-9]* acknowledged, 0 refused" -f "$dir/short" -post 50
expect 0 "TRDPRC_1 +6 " -il IT1 -d 3 -l 3 -e

echo "the last update of every item arrives, too"
watch_tc -f "$dir/list" -conns 3 -seqcheck -secs 1 -drain 90 -counts "$dir/counts"
wait_for said "measured"
printf 'ul 0\nur 0\ncounts %s\n' "$dir/counts" >&5
wait_for said " updates in "
stop_tc "beside the publisher's counts"
said "; 0 items behind the publisher at the end" || fail "nothing was compared at the end"
echo "ur 10000" >&5

echo "a consumer pauses and resumes"
watch_tc -f "$dir/short" -seqcheck
wait_for said "100 of 100 items"
printf '%s\n' "cl IT1" pa >&6
wait_for others_flow # so that nothing of the closed stream is under way when its id is taken again
echo "op IT1" >&6
wait_for images 101 # the last one answers what was asked after the pause
tell st paused
wait_for others_flow
tell st meanwhile
grep -B 1 "no item meanwhile" "$dir/tc.out" | grep -qE "^20[0-9-]*T[0-9:]*Z,0,0,0,100,0," ||
    fail "not quiet while paused"
echo re >&6
wait_for images 102 # of what changed meanwhile
wait_for ticks 100
stop_tc "a pause"
said "${clean%; *}; [1-9][0-9]* resyncs that told of [1-9]" || fail "after a pause it did not go on with an image"

echo "the provider goes and comes back"
watch_tc -f "$dir/short" -seqcheck
wait_for said "100 of 100 items"
stop_sds
wait_for asked "SUSPECT|service RDFD is down"
asked . # what it has from the old provider ends here
start_sds -N 14102 -U 10000
wait_for images 200
wait_for ticks 100
stop_tc "a provider's restart"
said "[1-9][0-9]* resyncs" || fail "no fresh images after the provider's return"
stop_sds

echo "src_dist is killed, then everything started anew"
start_sds -N 14102 -U 10000
survives src_dist.1
stop_sds

echo "a non-interactive provider, with a service of its own: RDFD is the route's"
start_sds -S SENT -host 127.0.0.1:14003 -f "$dir/list" -U 10000 -tsa
expect 0 "$clean" -S SENT -f "$dir/list" -seqcheck -tt -secs 2
stop_sds

[ $failures -eq 0 ] && echo "all good"
exit $((failures > 0))
