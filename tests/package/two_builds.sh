#!/usr/bin/env bash
# two_builds.sh SOURCE - the same tree is the same packages, byte for byte: built in two folders with names of different
# lengths, in two time zones, with two umasks, by no cache of the compiler.
# SPDX-License-Identifier: Apache-2.0
set -u
source=$1
for tool in dpkg-buildpackage dh; do
    command -v $tool >/dev/null || { echo "no $tool on this machine"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
fail() {
    echo "FAILED: $*"
    exit 1
}
# The tree as it stands; git tells which files are of it.
files() {
    git -C "$source" ls-files -z 2>/dev/null | grep -qz . && git -C "$source" ls-files -z ||
        (cd "$source" && find . -path './build*' -prune -o -name __pycache__ -prune -o -type f -print0)
}
# build NAME UMASK ZONE: packages of a copy in $work/NAME to $work/NAME.out
build() {
    mkdir -p "$work/$1"
    files | tar -C "$source" --null --ignore-failed-read -T - -cf - | tar -C "$work/$1" -xf - || fail "no copy"
    echo "a commit" >"$work/$1/COMMIT"
    (umask "$2" && TZ=$3 CCACHE_DISABLE=1 SOURCE_DATE_EPOCH=1700000000 "$work/$1/tools/rmds" package deb --out "$work/$1.out") \
        >"$work/log" 2>&1 || { tail -n 30 "$work/log"; fail "the packages cannot be built"; }
}
build one 022 UTC
build another-of-a-longer-name 002 Pacific/Kiritimati
count=0
for deb in "$work"/one.out/*.deb; do
    name=$(basename "$deb")
    count=$((count + 1))
    cmp -s "$deb" "$work/another-of-a-longer-name.out/$name" && continue
    # Which files of it.
    dpkg-deb -R "$deb" "$work/a" && dpkg-deb -R "$work/another-of-a-longer-name.out/$name" "$work/b"
    diff -rq --no-dereference "$work/a" "$work/b"
    fail "$name is not the same bytes twice"
done
[ $count -ge 5 ] || fail "only $count packages were built"
echo "$count packages are the same bytes twice"
