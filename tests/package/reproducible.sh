#!/usr/bin/env bash
# reproducible.sh SOURCE - two builds of one tree, in other folders and at other times, are the same bytes.
# SPDX-License-Identifier: Apache-2.0
#
# Programs and librmds, as release: with LTO, without a cache of the compiler.
set -u
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*"
    tail -n 20 "$work/log" 2>/dev/null
    exit 1
}

build() { # FOLDER
    mkdir -p "$1"
    (cd "$source" && git ls-files -z --cached --others --exclude-standard | tar -c --null --files-from=- --ignore-failed-read) \
        2>/dev/null | tar -x -C "$1" || fail "no copy in $1"
    CCACHE_DISABLE=1 CMAKE_C_COMPILER_LAUNCHER='' cmake -S "$1" -B "$1/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DRMDS_LTO=ON \
        -DRMDS_TESTS=OFF >"$work/log" 2>&1 || fail "cmake in $1"
    cmake --build "$1/build" --target product >"$work/log" 2>&1 || fail "build in $1"
    (cd "$1/build" && find . -path ./CMakeFiles -prune -o -type f \( -path './bin/*' -o -name 'librmds.so*' \) -print | LC_ALL=C sort |
        xargs sha256sum) >"$2"
    [ -s "$2" ] || fail "nothing was built in $1"
    rm -rf "$1"
}

build "$work/one" "$work/first"
sleep 1 # a time in the bytes would be another one
TZ=Asia/Tokyo LC_ALL=C.UTF-8 build "$work/a longer name/of a folder/two" "$work/second"
diff "$work/first" "$work/second" || fail "these differ"
echo "$(wc -l <"$work/first") files are the same bytes"
