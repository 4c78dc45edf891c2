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
"$1/example_consumer" 127.0.0.1 "$port" me 1 TRI.N >"$dir/consumer" &
consumer=$!
for _ in $(seq 900); do
    [ "$(grep -c UPDATE "$dir/consumer")" -ge 2 ] && break
    sleep 0.1
done
cat "$dir/consumer"
grep -q "LOGIN REFRESH" "$dir/consumer" && grep -q "MARKET_PRICE REFRESH" "$dir/consumer" &&
    [ "$(grep -c UPDATE "$dir/consumer")" -ge 2 ]
