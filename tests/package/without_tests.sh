#!/bin/sh
# without_tests.sh SOURCE - packages are built without the tests: CMake makes a build of all that they need, and every rule
# of it knows what it is made from. Nothing is compiled.
# SPDX-License-Identifier: Apache-2.0
set -e
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# As packaging/debian/rules, the RPM spec and `tools/rmds package tar` do it.
cmake -S "$1" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DRMDS_LTO=ON -DRMDS_TESTS=OFF -DRMDS_WERROR=OFF \
    >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
for target in product install; do
    ninja -C "$work/build" -n "$target" >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
done
for program in rrcpd src_dist p2ps sink_driven_src rmdstestclient rmdsmon rmdsctl rmdscnf rmdsaccess; do
    ninja -C "$work/build" -t query "bin/$program" >"$work/log" 2>&1 || { echo "$program is not built"; exit 1; }
done
echo "a build without tests is whole"
