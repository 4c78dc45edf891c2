#!/bin/sh
# check.sh - tshark with the dissector reads a capture and finds what is in it.
# SPDX-License-Identifier: Apache-2.0
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
command -v tshark >/dev/null 2>&1 || { echo "SKIP: no tshark in the path"; exit 77; }

out=$(tshark -X "lua_script:$here/rssl.lua" -r "$here/../rwfdump/tests/plain.pcap" -Y rssl \
    -T fields -e rssl.kind -e rssl.msg.stream 2>&1) || { echo "$out"; exit 1; }
echo "$out"
for wanted in "request RIPC14" "ack, none" "key" "message"; do
    echo "$out" | grep -q "^$wanted" || { echo "not found: $wanted"; exit 1; }
done
case $out in *Lua*rror*) exit 1 ;; esac
