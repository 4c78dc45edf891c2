#!/bin/bash
# tools_loopback.sh - sink_driven_src and rmdstestclient over loopback: right when all is well, and
# never silent when it is not. Usage: tools_loopback.sh SOURCE_DIR BIN_DIR
# SPDX-License-Identifier: Apache-2.0
set -u
source_dir=$1
bin=$2
dir=$(mktemp -d "${TMPDIR:-/tmp}/tools_loopback.XXXXXX")
sds_pid=
failures=0

finish() {
    [ -n "$sds_pid" ] && kill -CONT "$sds_pid" 2>/dev/null && kill "$sds_pid"
    [ -n "$tc_pid" ] && kill "$tc_pid" 2>/dev/null
    wait
    rm -rf "$dir"
}
trap finish EXIT
consumer_words=()
. "$source_dir/tests/system/consumer.sh"

fail() {
    echo "FAILED: $*"
    sed 's/^/    /' "$dir/tc.out" | tail -8
    sed 's/^/    sds: /' "$dir/sds.out" | tail -3
    failures=$((failures + 1))
}

# start_sds OPTION...: commands go to file descriptor 5; the port is in $port.
start_sds() {
    rm -f "$dir/commands"
    mkfifo "$dir/commands"
    : >"$dir/sds.out"
    "$bin/sink_driven_src" -S RDFD -N 0 -L 127.0.0.1 -c "$@" <"$dir/commands" >"$dir/sds.out" 2>"$dir/sds.err" &
    sds_pid=$!
    exec 5>"$dir/commands"
    port=
    for _ in $(seq 1800); do
        port=$(sed -n 's/.*listening on port //p' "$dir/sds.out")
        [ -n "$port" ] && return 0
        kill -0 "$sds_pid" 2>/dev/null || break
        sleep 0.05
    done
    cat "$dir/sds.err"
    fail "sink_driven_src $* does not start"
    return 1
}

stop_sds() {
    echo q >&5
    exec 5>&-
    wait "$sds_pid"
    sds_pid=
}

"$bin/sink_driven_src" -mklist 500 IT >"$dir/list"

echo "all is well"
start_sds -seqdata -U 20000 -tps 1000 -tsa || exit 1
expect 0 "0 gaps, 0 lost, 0 duplicates, 0 out of order, 0 wrong" -f "$dir/list" -seqcheck -tt -secs 1
expect 0 "1000 of 1000 items open on 2 connections" -f "$dir/list" -conns 2 -seqcheck -secs 1
expect 0 "500 of 500 items open on 3 connections" -f "$dir/list" -conns 3 -split -e
expect 0 "500 of 500 items" -f "$dir/list" -batch 100 -e -o 50
expect 0 "2 of 2 items" -il A,B -snap -e
expect 0 "REFRESH A MARKET_PRICE" -il A -d 3 -l 3 -e
expect 0 " BID +22 " -il A -d 3 -l 3 -e
expect 0 "5 posts, [1-5] acknowledged, 0 refused|[0-9]+ posts, [0-9]+ acknowledged, 0 refused" -il A -post 100 -secs 1
expect_in_time -secs 0 "^# summary count=[1-9]" -il A -lmfile /dev/stdout
expect_in_time -secs 0 "\"samples\": [1-9]" -il A -tt -json -
expect_in_time -secs 0 "^20[0-9-]*T[0-9:]*Z,[0-9]+,[0-9]+,0,1,0," -il A -I 0.5

echo "failover to the second host"
expect 0 "1 of 1 items" -h "127.0.0.1:1,127.0.0.1:$port" -il A -e

echo "refusals"
expect_in_time -timeout 4 "0 of 1 items open|updates in" -S NONE -il A -e
stop_sds
expect_in_time -timeout 3 "refused" -il A -e
expect_in_time -timeout 3 "refused \\(2 times in a row\\)" -il A -e
said "refused \\(3 times" && fail "what fails each second is said each second"

echo "without times nothing was measured"
start_sds -seqdata -U 1000 || exit 1
expect 0 "latency \(all\): nothing was measured" -il A -tt -secs 0.2 -lmfile "$dir/result"
grep -q "^# summary count=0 discarded=0: nothing was measured" "$dir/result" || fail "the latency file tells of figures"

echo "a publisher that is gone at the end"
start_tc -il A
wait_for said "1 of 1 items"
stop_sds
wait_for said "connection 0 to"
end_tc 3 "without its publisher"
said "not logged in at the end" || fail "it is not said that it is not logged in"

echo "the publisher's statistics are the same CSV, and what is not reached is said beside"
start_sds -seqdata -U 100000000 -tps 1000 -I 0.1 || exit 1
start_tc -f "$dir/list" -slow 1000
wait_for said "500 of 500 items"
number='[0-9]+(\.[0-9])?'
wait_for grep -qE "^20[0-9-]*T[0-9:]*Z,[1-9][0-9]*,[0-9]+,0,500,0,[1-9][0-9]*(,$number){3},[1-9][0-9]*,0$" \
    "$dir/sds.out"
wait_for grep -q "NOT REACHED" "$dir/sds.err"
end_tc 0 "beside statistics"
stop_sds
grep -qx "time,upd/s,refresh,status,items_open,items_pending,bytes/s,lat_mean_us,lat_max_us,cpu%,rss_kB,errors" \
    "$dir/sds.out" || fail "no header in the publisher's statistics"

echo "the order of options and their dashes do not matter"
start_sds --seqdata --U=1000 --ts --UL 100 '--tsn' '*' || exit 1
expect_in_time --secs 0 "latency \(all\): [1-9]" -f "$dir/list" --tt
expect 0 "500 of 500" -f "$dir/list" --tt --secs=0.1
stop_sds

echo "the published command lines"
start_sds -Q "$source_dir/conf/sample.xml" -q GOOG.O -K -tcpnodel -ts -tsn RTRSY.O -UL 10 -tps 500 || exit 1
echo "ur 5000" >&5
{ echo RTRSY.O; cat "$dir/list"; } >"$dir/rdf.500kitems"
expect_in_time -secs 0 "latency \(all\): [1-9]" -md 6 decodeFormat 3 -l 1 -o 500 -u rmds -tt -lmfile "$dir/result" \
    -f "$dir/rdf.500kitems" -ct rssl -rf 12
grep -q "^# rmds-latency 1 host=.* service=RDFD item=RTRSY.O clock" "$dir/result" ||
    fail "the latency file does not name the item that carried the times"
grep -q "^# summary count=[1-9]" "$dir/result" || fail "the latency file has no summary"
said "as the published reports print it, at [0-9]+ updates/s, in us:" || fail "no latency as reports print it"
value() { sed -n "s/^    $1 *\\([0-9.]*\\)$/\\1/p" "$dir/tc.out"; }
figures="mean $(value Mean) us, stddev $(value "Standard Deviation"), min $(value Minimum), .* max $(value Maximum), "
said "\(10 samples a second\): $(value "Number of Points"), $figures" ||
    fail "the figures that reports print are not those of the samples"
expect 0 "2 of 2 items" -il RTRSY.O,X -u USER -pw PW -I 1 -X -d 3 -rtt -tss -ct rssl -e
said " BID +22 +[0-9]" || fail "-X does not print data"
expect 0 "^UPDATE +X " -il X -X -et 0.03
expect 0 "2 of 2 items" -items A,B -t -vfids 22,25 -X -e -md MarketPrice
said " ASK +25 +[0-9]" || fail "-X does not print what -vfids chooses"
expect 0 "4 of 4 items" -il A,B -vnames ASK,BID -e -conns 2
expect 4 "the dictionary has no field \"BIDD\"" -il A -vnames BID,BIDD -e
expect 1 "the dictionary has no field \"BIDD\"" -il A -vnames BIDD -dict "$source_dir/conf" -e
expect 1 "-vfids is a list of at most 256 field ids.*: BID; -vnames takes names" -il A -vfids BID -e
expect 0 "^SENT    REQUEST MARKET_PRICE stream 5 A, [0-9]+ bytes" -il A -ss -e
said "^SENT    REQUEST LOGIN stream 1, " || fail "-ss does not print the login"
expect_in_time -secs 0 "^time,upd/s" -il A -st 1
printf '6|A\n# no item\n6|B\n\n6|C\n' >"$dir/domains"
expect 0 "3 of 3 items" -ef "$dir/domains" -e
echo 'VOD.L' >"$dir/domains"
expect 2 "domains:1: expected DOMAIN\|ITEM, as 6\|VOD.L" -ef "$dir/domains" -e
run_tc -il A -X -l "$dir/console" -e || fail "-l FILE"
grep -qE " BID +22 +[0-9]" "$dir/console" || fail "-l FILE does not take what -X prints"
! said BID || fail "-l FILE leaves something on the console"
expect 1 "-l is 0 to 3, or a file" -il A -l 4
expect 2 "cannot write" -il A -l "$dir/no-folder/file"
(cd "$dir" && mkdir -p made && cd made && run_tc -f rdf.2kitems -e) || fail "a missing rdf.2kitems"
said "rdf.2kitems was not there: made, with 2000 items" && said "2000 of 2000 items" || fail "rdf.2kitems is not made"
[ "$(head -2 "$dir/made/rdf.2kitems" | tr '\n' ' ')" = "RTRSY.O GOOG.O " ] || fail "what was made begins otherwise"
echo ONLY >"$dir/made/rdf.2kitems"
expect 0 "1 of 1 items" -f "$dir/made/rdf.2kitems" -e
expect 2 "cannot read .*other.2kitems" -f "$dir/made/other.2kitems" -e
expect 2 "cannot read .*rdf.2000kitemsx" -f "$dir/made/rdf.2000kitemsx" -e
for name in RMDSTestClient testclient; do
    "$bin/$name" -S RDFD -h 127.0.0.1 -p "$port" -il A -e </dev/null >"$dir/tc.out" 2>&1
    judge 0 "1 of 1 items" $? "called $name"
done
for name in Sink_Driven_Src testserver; do
    [ "$("$bin/$name" -mklist 1 X)" = X0 ] || fail "$name is not sink_driven_src"
done
stop_sds

echo "lost updates show"
start_sds -seqdata -U 20000 -drop 1000 || exit 1
expect_in_time -secs 5 "[1-9][0-9]* gaps, [1-9][0-9]* lost, 0 duplicates" -f "$dir/list" -seqcheck
stop_sds

echo "doubled updates show"
start_sds -seqdata -U 20000 -dup 1000 || exit 1
expect_in_time -secs 5 "0 gaps, 0 lost, [1-9][0-9]* duplicates" -f "$dir/list" -seqcheck
stop_sds

echo "other data than the convention's show"
start_sds -Q "$source_dir/conf/sample.xml" -q GOOG.O -K -U 1000 || exit 1
expect_in_time -secs 5 "[1-9][0-9]* wrong" -f "$dir/list" -seqcheck
stop_sds

echo "a sample without -K ends"
start_sds -Q "$source_dir/conf/sample.xml" -q GOOG.O -U 1000 || exit 1
expect 0 "8 updates in" -il A -secs 3
stop_sds

echo "a rate that is not reached shows on both sides"
start_sds -seqdata -U 100000000 -tsa -due || exit 1
expect 0 "NOT REACHED" -f "$dir/list" -secs 1 -tt -want 100000000 -slow 1000
echo st >&5
stop_sds
grep -q "NOT REACHED\|[1-9][0-9]* given up\|late [1-9]" "$dir/sds.out" || fail "the publisher hides that it is late"

# stop_for SECONDS COMMAND...: the publisher stands still under a consumer that measures, until it shows.
stop_for() {
    start_tc -f "$dir/list" -tt -json "$dir/r.json"
    wait_for said "500 of 500 items"
    kill -STOP "$sds_pid"
    sleep "$1"
    kill -CONT "$sds_pid"
    shift
    wait_for "$@"
    end_tc 0 "beside a publisher that stood still"
}

# figure NAME: of the latencies in r.json
figure() { sed -n "s/.*\"latency\": .*\"$1\": \([0-9]*\).*/\1/p" "$dir/r.json"; }

# late_ms: the most that the publisher says it was late
late_ms() { sed -n 's/.* late \([0-9]*\)\.[0-9] ms.*/\1/p' "$dir/sds.out" | sort -n | tail -1; }

# Whether the publisher says that it was late, or that it gave something up.
says_late() {
    local ms
    echo st >&5
    ms=$(late_ms)
    [ "${ms:-0}" -ge 400 ]
}
says_given_up() { echo st >&5; grep -q " [1-9][0-9]* given up" "$dir/sds.out"; }

# Whether the consumer has seen a latency like that: the ninth column of its statistics.
has_seen_late() {
    echo st >&6
    awk -F, '/^20/ && $9 >= 400000 { n++ } END { exit n == 0 }' "$dir/tc.out"
}

echo "a publisher that is late says so, and with -due it shows in the latency"
start_sds -seqdata -U 20000 -tps 100 -tsa -due || exit 1
stop_for 0.5 has_seen_late
wait_for says_late
stop_sds
[ "$(figure max_us)" -ge 400000 ] || fail "late by 500 ms, and the latency as due is $(figure max_us) us"
[ "$(figure p99_us)" -ge 100000 ] || fail "late by 500 of 2000 ms, and the 99th percentile is $(figure p99_us) us"

echo "with the published method it is not in the latency: the publisher says it"
start_sds -seqdata -U 20000 -tps 100 -tsa || exit 1
stop_for 0.5 says_late
stop_sds

echo "what is more than a second overdue is given up, and counted"
start_sds -seqdata -U 20000 -tps 100 -tsa || exit 1
stop_for 1.5 says_given_up
stop_sds

echo "a slow consumer shows in the latency"
start_sds -seqdata -U 20000 -tps 1000 -tsa || exit 1
expect_in_time -secs 0 "latency \(all\): [1-9]" -f "$dir/list" -tt -slow 50000 -json "$dir/r.json"
stop_sds
[ "$(figure p99_us)" -ge 25000 ] || fail "pauses of 50 ms, and the 99th percentile is $(figure p99_us) us"

echo "after the measurement nothing is under way any more"
start_sds -seqdata -U 20000 || exit 1
start_tc -f "$dir/list" -seqcheck -discard 4 -secs 1 -drain 90 -json "$dir/r.json"
wait_for said "measured"
sleep 4 # of which nothing is to be in the time, and not of the discarded 4 s either
echo "ur 0" >&5
wait_for said " updates in "
end_tc 0 "that drains"
stop_sds
figures=$(sed -n 's/.* \([0-9]*\) updates in \([0-9]*\)\..*/\1 \2/p' "$dir/tc.out")
total=$(sed -n 's/.*"updates_total": \([0-9]*\),.*/\1/p' "$dir/r.json")
[ "${figures% *}" -lt "$total" ] || fail "of $total updates ${figures% *} were measured: what came before or after, too"
[ "${figures#* }" -lt 4 ] || fail "measured for ${figures#* } s, wanted 1: what came before or after is in the time"
grep -q '"drained": true' "$dir/r.json" || fail "it did not drain"

# last_ones CODE PATTERN N: N updates of one item, of which every fifth is lost, and nothing behind them.
last_ones() {
    rm -f "$dir/counts"
    start_tc -il A -seqcheck -secs 0.3 -drain 90 -counts "$dir/counts"
    wait_for said "1 of 1 items"
    for _ in $(seq "$3"); do echo "it A update" >&5; done
    wait_for said "measured"
    echo "counts $dir/counts" >&5
    wait_for said " updates in "
    end_tc "$1" "$3 updates"
    said "$2" || fail "$3 updates: no line like '$2'"
}

echo "a last update that is lost shows, though nothing follows it"
start_sds -seqdata -drop 5 || exit 1
last_ones 0 "0 gaps, 0 lost, .* 0 items behind the publisher at the end" 4
last_ones 5 "0 gaps, 1 lost, .* 1 items behind the publisher at the end" 1
grep -q "A: ends at 4, 1 behind the publisher" "$dir/tc.out" || fail "it is not said which"
stop_sds
expect 1 "-counts needs -seqcheck and -drain" -il A -counts "$dir/counts"

echo "the other published form of the publisher's command line"
start_sds -I 1 -E sslauto -Q "$source_dir/conf/sample.xml" -K -U 1000 || exit 1
expect 0 "1 of 1 items" -il GOOG.O -e
stop_sds

echo "commands"
start_sds -seqdata || exit 1
start_tc -il A -l 2
wait_for said "1 of 1 items"
printf 'it A suspect\nit A refresh\nit A update\nsv RDFD down\nsv RDFD up\nit A close\n' >&5
wait_for said ": A: closed"
end_tc 4 "with a closed item"
grep -q "STATUS  A OPEN/SUSPECT" "$dir/tc.out" || fail "it A suspect"
grep -q "service RDFD is down" "$dir/tc.out" || fail "sv RDFD down"
grep -q "STATUS  A CLOSED/SUSPECT" "$dir/tc.out" || fail "it A close"
stop_sds

[ $failures -eq 0 ] && echo "all good"
exit $((failures > 0))
