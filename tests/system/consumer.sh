# consumer.sh - rmdstestclient in the hands of a script; to be sourced. The script has $bin, $dir, $port, fail() and
# consumer_words, options that each of its consumers gets.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
tc_pid=
trap : PIPE # a client that has ended by itself is judged by what it said

# wait_for COMMAND...: until it is true; the limit is only there so that a failure ends.
wait_for() {
    local end=$((SECONDS + 90))
    until "$@"; do
        [ $SECONDS -lt $end ] || { fail "in 90 s not: $*"; return 1; }
        sleep 0.05
    done
}

said() { grep -qE -- "$1" "$dir/tc.out"; }

# judge CODE PATTERN RC OPTION...
judge() {
    local code=$1 pattern=$2 rc=$3
    shift 3
    [ "$rc" -eq "$code" ] || fail "rmdstestclient $*: exit code $rc, wanted $code"
    said "$pattern" || fail "rmdstestclient $*: no line like '$pattern'"
}

run_tc() {
    "$bin/rmdstestclient" -S RDFD -h 127.0.0.1 -p "$port" "${consumer_words[@]}" "$@" </dev/null >"$dir/tc.out" 2>&1
}

# expect CODE PATTERN OPTION...: what rmdstestclient ends with and says.
expect() {
    local code=$1 pattern=$2
    shift 2
    run_tc "$@"
    judge "$code" "$pattern" $? "$@"
}

# expect_in_time OPTION CODE PATTERN OPTION...: what may need a longer run (-secs, -timeout) on a slow machine. A longer
# -secs may bring the line, but no other exit code.
expect_in_time() {
    local limit=$1 code=$2 pattern=$3 seconds rc
    shift 3
    for seconds in 1 5 30 90; do
        run_tc "$@" "$limit" $seconds
        rc=$?
        [ $rc -eq "$code" ] && said "$pattern" && break
        [ $rc -eq "$code" ] || [ "$limit" = -timeout ] || break
        [ $rc -le 5 ] || break # it did not end by itself
    done
    judge "$code" "$pattern" $rc "$@"
}

# start_tc OPTION...: a consumer that runs until it is ended; commands go to file descriptor 6.
start_tc() {
    rm -f "$dir/tc.commands"
    mkfifo "$dir/tc.commands"
    : >"$dir/tc.out"
    "$bin/rmdstestclient" -S RDFD -h 127.0.0.1 -p "$port" "${consumer_words[@]}" "$@" <"$dir/tc.commands" \
        >"$dir/tc.out" 2>&1 &
    tc_pid=$!
    exec 6>"$dir/tc.commands"
}

# end_tc CODE WHAT
end_tc() {
    local rc
    (echo q >&6) 2>/dev/null # in a process of its own: it may have ended by itself
    exec 6>&-
    wait "$tc_pid"
    rc=$?
    tc_pid=
    [ $rc -eq "$1" ] || fail "$2: exit code $rc, wanted $1"
}
