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

# The same connection on a port that is nobody's is known by its request, in both directions; without its request by -d.
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
python3 - "$here/../rwfdump/tests/plain.pcap" "$dir" <<'END' || exit 1
import struct
import sys

data = open(sys.argv[1], "rb").read()
moved, late, at, number = data[:24], data[:24], 24, 0
while at < len(data):
    size = 16 + struct.unpack_from("<I", data, at + 8)[0]
    record, number = data[at:at + size], number + 1
    ports = (15000 if p == 14002 else p for p in struct.unpack_from(">HH", record, 16 + 34))
    record = record[:50] + struct.pack(">HH", *ports) + record[54:]
    moved += record
    late += record if number > 4 else b""
    at += size
open(sys.argv[2] + "/moved.pcap", "wb").write(moved)
open(sys.argv[2] + "/late.pcap", "wb").write(late)
END
# kinds CAPTURE OPTION...
kinds() {
    capture=$1
    shift
    tshark -X "lua_script:$here/rssl.lua" "$@" -r "$dir/$capture.pcap" -Y rssl -T fields -e rssl.kind \
        -e rssl.msg.stream 2>"$dir/errors" || { cat "$dir/errors"; echo failed; }
}
first=$(tshark -X "lua_script:$here/rssl.lua" -r "$here/../rwfdump/tests/plain.pcap" -Y rssl -T fields -e rssl.kind \
    -e rssl.msg.stream 2>/dev/null)
[ "$(kinds moved)" = "$first" ] || { echo "on another port:"; kinds moved; exit 1; }
[ -z "$(kinds late)" ] || { echo "taken without its request:"; kinds late; exit 1; }
kinds late -d tcp.port==15000,rssl | grep -q "^ack, none" || { echo "-d does not help"; exit 1; }
