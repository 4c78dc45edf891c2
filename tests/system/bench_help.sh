#!/bin/sh
# bench_help.sh ROOT - every benchmark says what it can do and why not, and builds nothing for that.
# SPDX-License-Identifier: Apache-2.0
bad=0
for script in "$1"/tools/rmds.d/bench/*; do
    name=$(basename "$script")
    text=$(PYTHONDONTWRITEBYTECODE=1 "$1/tools/rmds" bench "$name" --help 2>&1)
    code=$?
    if [ $code != 0 ] || ! echo "$text" | head -n 1 |
        grep -qE "^usage: (tools/rmds bench )?$name "; then
        bad=1
        echo "bench $name --help: exit code $code; it said:"
        echo "$text" | tail -n 5
    fi
done
# refused PATTERN NAME OPTION...: exit code 2, and a reason that is no traceback. Without the door, which builds.
refused() {
    pattern=$1
    shift
    text=$(PYTHONDONTWRITEBYTECODE=1 "$root/tools/rmds.d/bench/$@" 2>&1)
    code=$?
    if [ $code != 2 ] || ! echo "$text" | grep -q -e "$pattern" || echo "$text" | grep -q Traceback; then
        bad=1
        echo "bench $*: exit code $code; it said:"
        echo "$text" | tail -n 5
    fi
}
root=$1
for rates in 1000,fast 0 inf nan 1e300 1000, -5; do
    refused "numbers of messages per second" rrcp "--rates=$rates"
    for name in latency fanout tuning; do
        refused "numbers of updates per second" $name "--rates=$rates"
    done
done
for name in producer component stacked points; do # they share what reads it
    refused "numbers of updates per second" $name --rates=nan
done
refused "sizes of 40 to 1400 bytes" lbm --sizes 9
refused "only loss measures none" rrcp --rates 1000 --only loss
refused "there is no rate to choose" rssl --rates 1000
refused "there is no rate to choose" rwf --rates 1000
# Without an adapter, before anything is built.
if ! ls /sys/class/infiniband/* >/dev/null 2>&1; then
    refused "verbs: this host has no RDMA device" rrcp --transport verbs
    refused "verbs: this host has no RDMA device" latency --transport verbs
    refused "rsocket: this host has no RDMA device" latency --transport rsocket
fi
refused "verbs is expected, not rsocket" rrcp --transport rsocket
refused "interface needs --transport" latency --interface lo
exit $bad
