#!/bin/bash
# run.sh - prove that relaysim finds each deliberate defect.
# SPDX-License-Identifier: Apache-2.0
#
# usage: run.sh LIBRARIES [NAME...]   the folder lib/ of a build; names without .patch; none = all
#        run.sh --apply               only see whether each patch still fits
#
# Each patch is applied to a copy of src/relay and src/forward, built with the simulator and run in the scenario that it names.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)

if [ "${1:-}" = --apply ]; then
    misfits=0
    for patch in "$here"/*.patch; do
        patch -d "$root" -p1 -s -F0 --dry-run <"$patch" || { echo "$(basename "$patch" .patch) does not apply"; misfits=1; }
    done
    exit $misfits
fi

libraries=$1
shift
work=$(mktemp -d "${TMPDIR:-/tmp}/relaysim-defects.XXXXXX")
trap 'rm -rf "$work"' EXIT
missed=0
if [ $# -eq 0 ]; then
    set -- $(cd "$here" && ls ./*.patch | sed 's|^\./||; s|\.patch$||')
fi
for name in "$@"; do
    rm -rf "$work/src" && mkdir "$work/src" && cp -r "$root/src/relay" "$root/src/forward" "$work/src/"
    if ! patch -s -F0 -p1 -d "$work" <"$here/$name.patch"; then
        echo "$name: the patch does not apply"; missed=$((missed + 1)); continue
    fi
    if ! ${CC:-cc} -std=c17 -O2 -w -D_GNU_SOURCE -I "$root/include" -I "$root/src/attach" -I "$root/tests/sim" -I "$root/tests/sim/relay" \
        -o "$work/broken" "$root"/tests/sim/relay/*.c "$root/tests/sim/simnet.c" "$root/src/attach/node_far.c" \
        "$work"/src/relay/*.c "$work"/src/forward/*.c "$libraries"/librmds_{rrmp,rrcp,seal,base}.a -lcrypto -lxxhash -lpthread -lm; then
        echo "$name: does not build"; missed=$((missed + 1)); continue
    fi
    scenario=$(sed -n 's/^scenario: //p' "$here/$name.patch")
    found=$(timeout 900 "$work/broken" --seeds "${SEEDS:-0..23}" --scenario "$scenario" 2>&1 | grep '^seed' | head -1)
    if [ -n "$found" ]; then
        echo "$name: found: ${found%%;*}"
    else
        echo "$name: NOT FOUND"; missed=$((missed + 1))
    fi
done
[ $missed -eq 0 ] && echo "all $# defects found" || echo "$missed of $# defects not found"
exit $((missed > 0))
