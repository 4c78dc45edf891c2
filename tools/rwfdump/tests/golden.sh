#!/bin/sh
# golden.sh - compares what rwfdump prints with the files beside this script.
# SPDX-License-Identifier: Apache-2.0
#
#   golden.sh RWFDUMP SOURCE_DIR [--update]
#
# With --update the files are written anew; look at the difference before you commit it.
set -u
rwfdump=$1
source=$2
update=${3:-}
here=$(cd "$(dirname "$0")" && pwd) || exit 1
got=$(mktemp -d) || exit 1
trap 'rm -rf "$got"' EXIT
failed=0

# check NAME STATUS ARGUMENT...: the output is NAME, the exit status STATUS.
check() {
    name=$1
    status=$2
    shift 2
    "$rwfdump" -d "$source/conf/RDMFieldDictionary" -e "$source/conf/enumtype.def" "$@" \
        >"$got/$name" 2>"$got/errors"
    rc=$?
    if [ "$rc" != "$status" ]; then
        echo "FAIL: $name: exit status $rc, not $status"
        cat "$got/errors"
        failed=1
    fi
    [ "$update" = --update ] && cp "$got/$name" "$here/$name"
    if ! diff -u "$here/$name" "$got/$name"; then
        echo "FAIL: $name differs"
        failed=1
    fi
}

cd "$here" || exit 1
check snapshot.txt 0 snapshot.hex
check snapshot.json 0 -o json snapshot.hex
check snapshot.xml 0 -o xml snapshot.hex
check colour.txt 0 --color=always -n 1 snapshot.hex
check bytes.txt 0 -x -n 2 snapshot.hex
check plain.txt 0 plain.pcap
check zlib.txt 0 -P -n 2 zlib.pcapng
check lz4.json 0 -o json -n 3 lz4.pcap
check port.txt 0 -p 9 plain.pcap
check containers.txt 0 -i hex -t map containers.hex
check pages.txt 0 pages.hex
check pages.json 0 -o json pages.hex
check records.txt 1 records.hex
check broken.txt 1 broken.hex
check broken.json 1 -o json broken.hex
check broken.xml 1 -o xml broken.hex

# A raw message, and a raw direction of a connection, from standard input.
printf '\000\011\004\006\000\000\000\005\000\004\001\010\000\001\000\026\003\012\020\201' \
    >"$got/raw.bin"
check raw.txt 0 "$got/raw.bin"
printf '\000\027\002\000\011\004\006\000\000\000\005\000\004\001\010\000\001\000\026\003\012\020\201' \
    >"$got/stream.bin"
check stream.txt 0 -i rssl "$got/stream.bin"

# All that one end sent, with its handshake, named and guessed; without it; cut off; and no stream at all.
for what in "plain 40000 client" "plain 14002 server" "lz4 14002 lz4_server"; do
    # shellcheck disable=SC2086
    set -- $what
    python3 direction.py "$1.pcap" "$2" "$got/$3.bin" || failed=1
    check "$3.txt" 0 "$got/$3.bin"
    check "$3.txt" 0 -i rssl "$got/$3.bin"
done
# Both compressions offered by a client and the answer not known: what comes of either is the same.
python3 direction.py lz4.pcap 40000 "$got/lz4_client.bin" || failed=1
check client_lz4.txt 0 "$got/lz4_client.bin"
for how in zlib lz4 other; do
    python3 compressed.py "$got/lz4_client.bin" $how "$got/$how.bin" || failed=1
done
check client_lz4.txt 0 "$got/zlib.bin"
check client_lz4.txt 0 "$got/lz4.bin"
tail -c +"$((1 + $(od -An -tu1 -j1 -N1 "$got/server.bin")))" "$got/server.bin" >"$got/frames.bin"
check frames.txt 0 "$got/frames.bin"

# said STATUS PATTERN ARGUMENT...: no message, one sentence on standard error
said() {
    status=$1
    pattern=$2
    shift 2
    "$rwfdump" "$@" >"$got/out" 2>"$got/errors"
    rc=$?
    { [ "$rc" = "$status" ] && [ ! -s "$got/out" ] && [ "$(wc -l <"$got/errors")" = 1 ] &&
        grep -q "$pattern" "$got/errors"; } ||
        { echo "FAIL: $*: status $rc"; cat "$got/out" "$got/errors"; failed=1; }
}
printf '\377\376\001\000\000\003\004\005\006\007\010\011' >"$got/junk.bin"
said 1 'not the bytes that one end' -i rssl "$got/junk.bin"
said 1 'neither a capture nor hex' "$got/junk.bin"
head -c 20 "$got/client.bin" >"$got/cut.bin"
said 1 'not the bytes that one end' -i rssl "$got/cut.bin"
said 1 'neither a capture nor hex' "$got/cut.bin"
head -c 20 "$got/stream.bin" >"$got/cut.bin"
said 1 'the last frame is cut off' -i rssl "$got/cut.bin"
printf '\000\015\001\002\010\000\000\005busy\000' >"$got/nak.bin"
said 0 'refused the connection' "$got/nak.bin"
said 1 'neither zlib nor LZ4' "$got/other.bin"

# Lines of one end alone.
hex() { od -An -v -tx1 "$1" | tr -d ' \n'; }
echo "C $(hex "$got/client.bin")" >"$got/client.hex"
said 1 'connecting -> listening: .* answer to the connection request is missing' "$got/client.hex"
{ cat "$got/client.hex"; python3 -c 'print(("C 03eb02" + "00" * 1000 + "\n") * 1100, end="")'; } >"$got/long.hex"
said 1 'answer to the connection request is missing' "$got/long.hex"
echo "S $(hex "$got/server.bin")" >"$got/server.hex"
said 1 'listening -> connecting: there is no connection request' "$got/server.hex"
cat "$got/client.hex" "$got/server.hex" >"$got/both.hex"
check both.txt 0 "$got/both.hex"

"$rwfdump" -i nonsense >"$got/out" 2>&1 && failed=1
grep -q 'one of: guess hex raw rssl pcap' "$got/out" || { echo "FAIL: -i nonsense"; failed=1; }
"$rwfdump" /nonexistent >"$got/out" 2>&1
[ $? = 2 ] || { echo "FAIL: a missing file is status 2"; failed=1; }
head -c 2000 plain.pcap >"$got/cut.pcap"
"$rwfdump" "$got/cut.pcap" >/dev/null 2>"$got/out"
[ $? = 2 ] && grep -q 'cut off' "$got/out" || { echo "FAIL: a cut capture"; failed=1; }
[ "$failed" = 0 ] && echo "golden output: all the same"
exit "$failed"
