#!/bin/sh
# build.sh - fetches the Java libraries once and compiles the interop programs.
# SPDX-License-Identifier: Apache-2.0
#
#   tests/interop/build.sh BUILD_DIR
#
# Leaves BUILD_DIR/interop/lib/*.jar and BUILD_DIR/interop/classes. The libraries are fetched with
# Maven when they are not there or the pom has changed; after that no network is needed, only
# javac. Several tests may call this at the same moment: one works, the others wait.
# Exit status: 0 ready, 77 cannot be done here (the reason on standard output), 1 does not compile.
set -u

[ $# -eq 1 ] || { echo "usage: build.sh BUILD_DIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd) || exit 1
mkdir -p "$1/interop" || exit 1
out=$(cd "$1/interop" && pwd) || exit 1

skip() {
    echo "SKIP: $*"
    exit 77
}

command -v javac >/dev/null 2>&1 || skip "no javac in the path (JDK 17 or later is needed)"
command -v flock >/dev/null 2>&1 || skip "no flock in the path (util-linux)"

exec 9>"$out/lock"
flock 9

pom_sum=$(cksum <"$here/pom.xml")
if [ "$(cat "$out/lib.stamp" 2>/dev/null)" != "$pom_sum" ]; then
    command -v mvn >/dev/null 2>&1 || skip "no mvn in the path, and the libraries are not here yet"
    rm -rf "$out/lib" "$out/classes.stamp"
    # What is in the local repository already is taken from there, without a look at the network.
    for offline in -o ""; do
        MAVEN_OPTS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC ${MAVEN_OPTS:-}" mvn $offline -B -q -f "$here/pom.xml" dependency:copy-dependencies \
            -DoutputDirectory="$out/lib" -DincludeScope=runtime >"$out/mvn.log" 2>&1 9>&- && break
        rm -rf "$out/lib"
    done
    [ -d "$out/lib" ] || skip "Maven could not get the libraries; see $out/mvn.log"
    echo "$pom_sum" >"$out/lib.stamp"
fi

source_sum=$(find "$here/src/main/java" "$here/java-bench" -name '*.java' -exec cksum {} + | sort | cksum)
if [ "$(cat "$out/classes.stamp" 2>/dev/null)" != "$source_sum" ]; then
    # Each start of javac takes as long as many a test: it is asked only when there is something to compile.
    javac -J-XX:TieredStopAtLevel=1 --release 17 -version >/dev/null 2>&1 || skip "javac is older than 17"
    rm -rf "$out/classes"
    find "$here/src/main/java" "$here/java-bench" -name '*.java' >"$out/sources"
    javac -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC --release 17 -Xlint:all,-processing -Werror -encoding UTF-8 -proc:none \
        -cp "$out/lib/*" -d "$out/classes" \
        "@$out/sources" 9>&- || exit 1
    echo "$source_sum" >"$out/classes.stamp"
fi
exit 0
