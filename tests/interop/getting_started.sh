#!/bin/sh
# getting_started.sh - the consumer of docs/getting-started.md, run by the command that stands there, sees prices.
# SPDX-License-Identifier: Apache-2.0
#
#   chain.py BIN_DIR -- getting_started.sh BUILD_DIR
#
# The page's port and item are those of tools/rmds up; chain.py serves the same port in its namespace.
set -eu
build_dir=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
"$root/tests/interop/build.sh" "$build_dir" || exit $?
sed -n '/^```java$/,/^```$/p' "$root/docs/getting-started.md" | sed '/^```/d' >Hello.java
sed -n "s/^    \(java -cp .* Hello\.java\)$/\1/p" "$root/docs/getting-started.md" >command
ln -s "$build_dir/interop/lib" lib # as the page's mvn fetches them, when its pom.xml names the same version
version() { tr -d '\n' <"$1" | grep -oE '<artifactId>ema</artifactId> *<version>[^<]+' | sed 's/> *</></'; }
[ "$(version "$root/docs/getting-started.md")" = "$(version "$root/tests/interop/pom.xml")" ] ||
    { echo "the page wants $(version "$root/docs/getting-started.md"), the tests have $(version "$root/tests/interop/pom.xml")"; exit 1; }
"$CHAIN_BIN/sink_driven_src" -S RDFD -N "$CHAIN_PROVIDER_PORT" -L 127.0.0.1 -Q "$root/conf/sample.xml" -q GOOG.O -K -U 1000 \
    >publisher.log 2>&1 </dev/null &
publisher=$!
trap 'kill "$publisher" 2>/dev/null || :; wait' EXIT
timeout 90 "$CHAIN_BIN/rmdstestclient" -S RDFD -h localhost -p "$CHAIN_P2PS_PORT" -il DEMO1.O -e >client.log 2>&1 </dev/null ||
    { cat client.log publisher.log; exit 1; }
timeout 90 sh ./command >hello.log 2>&1 </dev/null || { cat hello.log; exit 1; }
for what in 'image of DEMO1.O: BID [0-9]' 'update of DEMO1.O: \(BID\|ASK\) [0-9]'; do
    grep -q "^$what" hello.log || { echo "no line: $what"; head -n 40 hello.log; exit 1; }
done
echo "$(grep -c '^update' hello.log) lines of updates"
