#!/bin/sh
# check.sh - the two examples talk to each other: login, image, updates.
# SPDX-License-Identifier: Apache-2.0
#
#   docs/examples/check.sh DIR-OF-THE-PROGRAMS
set -u

dir=$(mktemp -d "${TMPDIR:-/tmp}/rmds-examples.XXXXXX") || exit 1
"$1/example_provider" 0 >"$dir/provider" &
provider=$!
consumer=
trap 'kill $provider $consumer 2>/dev/null; rm -rf "$dir"' EXIT

port=
for _ in $(seq 900); do
    port=$(sed -n 's/^port //p' "$dir/provider")
    [ -n "$port" ] && break
    sleep 0.1
done
[ -n "$port" ] || { echo "the provider does not listen"; exit 1; }
: >"$dir/consumer"
"$1/example_consumer" 127.0.0.1 "$port" me EXAMPLE TRI.N >"$dir/consumer" &
consumer=$!
for _ in $(seq 900); do
    [ "$(grep -c "TRI.N UPDATE  BID 100\.[0-9]* *ASK 100\.[0-9]*$" "$dir/consumer")" -ge 2 ] && break
    sleep 0.1
done
cat "$dir/consumer"
for line in '^login: OPEN/OK/NONE "All is well"$' '^service EXAMPLE has id 1$' '^TRI.N: OPEN/OK/NONE "All is well"$' \
    '^TRI.N REFRESH  BID 100\.[0-9]* *ASK 100\.[0-9]*$' '^TRI.N UPDATE  BID 100\.[0-9]* *ASK 100\.[0-9]*$'; do
    grep -q "$line" "$dir/consumer" || { echo "no line: $line"; exit 1; }
done
