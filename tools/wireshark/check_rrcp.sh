#!/bin/sh
# check_rrcp.sh - tshark with the dissector reads one packet of each type, and finds broken ones.
# SPDX-License-Identifier: Apache-2.0
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
command -v tshark >/dev/null 2>&1 || { echo "SKIP: no tshark in the path"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0

python3 "$here/rrcp_capture.py" "$dir/c.pcap" || exit 1
# Starting tshark takes longer than all the rest: once, with all fields, one line for each packet.
fields="_ws.col.Protocol _ws.col.Info rmds_rrcp.network.name rmds_rrcp.chunk.payload rmds_rrcp.rrmp.type
    rmds_rrcp.rrmp.seq rmds_rrcp.trail rmds_rrcp.counter rmds_rrcp.chunk.total rmds_rrcp.incarnation
    rmds_rrcp.chunk.destination rmds_rrcp.tlv rmds_rrcp.value rmds_rrcp.broken rmds_rrcp.retrans rmds_rrcp.auth"
# shellcheck disable=SC2086
tshark -X "lua_script:$here/rrcp.lua" -r "$dir/c.pcap" -T fields $(printf -- '-e %s ' $fields) \
    >"$dir/fields" 2>"$dir/errors" || bad=1
cut -f 1,2 "$dir/fields" >"$dir/info"
# field PACKET FIELD: what it is in the packet of that number
field() {
    at=$(printf '%s\n' $fields | grep -nxF "$2" | cut -d: -f1)
    sed -n "$1p" "$dir/fields" | cut -f "$at"
}
expect() { # WANTED GOT
    [ "$1" = "$2" ] || { echo "wanted \"$1\", got \"$2\""; bad=1; }
}

cat >"$dir/wanted" <<'END'
RRCP	DATA seq 7, 2 chunks
RRCP	DATA seq 7, 2 chunks, sent again
RRCP	DATA seq 9223372036854775813, 2 chunks
RRCP	UDATA seq 1 to 1111222233334444, 1 chunk
RRCP	UACK next 4, reset
RRCP	BEACON hosta.1.rrcpd, next 8, holds from 4
RRCP	NAK to 0123456789abcdef, attempt 1: 4 6..8
RRCP	NCF not held: 4
RRCP	BYE next 9
RRCP	SOLICIT of 1111222233334444
RRCP	STATUS next 20, highest 25, lost 3, repaired 4
RRCP	HSM 1 values
RRCP	DATA seq 7, 2 chunks
RRCP	NAK broken
END
head -14 "$dir/info" | sed 's/ \[[A-Z].*//' | diff "$dir/wanted" - || bad=1
sed -n 15,16p "$dir/info" | grep -q RRCP && { echo "took what is none of ours"; bad=1; }
# A batch of packets as one datagram; and one with a length that does not fit is not taken.
expect "DATA seq 8, 2 chunks; DATA seq 9, 2 chunks, sent again; BYE next 9" \
    "$(sed -n 17p "$dir/info" | cut -f 2 | sed 's/ \[[A-Z].*//')"
expect "" "$(field 17 rmds_rrcp.broken)"
sed -n 18p "$dir/info" | grep -q RRCP && { echo "took a batch that does not fit"; bad=1; }
expect "DATA encrypted" "$(sed -n 19p "$dir/info" | cut -f 2)"
expect net1 "$(field 9 rmds_rrcp.network.name)"
expect 221000030000004d72657374,6f6b "$(field 2 rmds_rrcp.chunk.payload)"
expect 34 "$(field 2 rmds_rrcp.rrmp.type)"
expect 77 "$(field 2 rmds_rrcp.rrmp.seq)"
expect 4 "$(field 2 rmds_rrcp.trail)"
expect 1 "$(field 2 rmds_rrcp.retrans)"
expect 5 "$(field 3 rmds_rrcp.counter)"
expect 1 "$(field 3 rmds_rrcp.auth)"
expect 1000 "$(field 4 rmds_rrcp.chunk.total)"
expect 2 "$(field 4 rmds_rrcp.incarnation)"
expect 0x1111222233334444 "$(field 4 rmds_rrcp.chunk.destination)"
expect "software version, 5 bytes" "$(field 6 rmds_rrcp.tlv)"
expect "7 = 1099511627776" "$(field 12 rmds_rrcp.value)"
for packet in 1 2 3 4 5 6 7 8 9 10 11 12; do
    expect "" "$(field $packet rmds_rrcp.broken)"
done
for packet in 13 14; do
    [ -n "$(field $packet rmds_rrcp.broken)" ] || { echo "packet $packet is broken, and it does not say so"; bad=1; }
done
# The same with Decode As, which takes all of the port.
tshark -X "lua_script:$here/rrcp.lua" -r "$dir/c.pcap" -d udp.port==9000,rmds_rrcp -Y 'frame.number > 16' -T fields \
    -e _ws.col.Info -e rmds_rrcp.broken >"$dir/decode_as" 2>>"$dir/errors" || bad=1
grep -q "^DATA seq 8, 2 chunks; DATA seq 9, 2 chunks, sent again; BYE next 9[[:space:]]*$" "$dir/decode_as" ||
    { echo "Decode As: not the batch"; cat "$dir/decode_as"; bad=1; }
grep -q "^DATA seq 10, 2 chunks; broken.*[^[:space:]]$" "$dir/decode_as" ||
    { echo "Decode As: not the packet before the broken one"; cat "$dir/decode_as"; bad=1; }
grep -i "lua.*error" "$dir/errors" "$dir/info" && bad=1
[ $bad = 0 ] && echo "all good"
exit $bad
