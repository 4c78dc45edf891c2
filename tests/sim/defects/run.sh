#!/bin/bash
# run.sh - prove that the simulator finds each deliberate defect of the engine within 500 seeds.
# SPDX-License-Identifier: Apache-2.0
#
# usage: run.sh [NAME...]      names without .patch; none = all; SEEDS=A..B and SCENARIO=NAME narrow it
#
# Each patch is applied to a copy of the engine, built with the simulator and run until a seed
# fails, all of one scenario and over one transport if the patch names them: with one seed in 38 a defect
# that needs it would be found by luck. Prints one line each; exit status 1 if any defect was not found.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/rrcpsim-defects.XXXXXX")
trap 'rm -rf "$work"' EXIT
seeds=${SEEDS:-0..499}

mkdir -p "$work/src" "$work/inc"
cp -r "$root/src/rrcp" "$work/src/"
cp -r "$root/tests/sim" "$work/sim"
for module in backbone base rrcp seal attach; do ln -s "$root/include/$module" "$work/inc/$module"; done
# Objects that no patch touches.
(cd "$work" && for file in "$root"/src/base/{assert,err}.c "$root"/src/seal/{openssl,multibuffer,seal}.c "$root"/src/attach/{inbound,reader}.c \
    sim/{simnet,sim,check,limits,users,forger,hostile,mesh,sealed,scenario,figures,rrcpsim}.c; do
    ${CC:-cc} -std=c17 -O2 -D_GNU_SOURCE -I inc -I sim -I "$root/src/attach" -c "$file" -o "$(basename "$file" .c).o" || exit 1
done) || exit 1

missed=0
if [ $# -eq 0 ]; then
    set -- $(cd "$here" && ls ./*.patch | sed 's|^\./||; s|\.patch$||')
fi
for name in "$@"; do
    rm -rf "$work/tree" && mkdir -p "$work/tree/src" && cp -r "$root/src/rrcp" "$work/tree/src/"
    if ! patch -s -p1 -d "$work/tree" <"$here/$name.patch"; then
        echo "$name: the patch does not apply"; missed=$((missed + 1)); continue
    fi
    if ! (cd "$work" && ${CC:-cc} -std=c17 -O2 -w -D_GNU_SOURCE -I inc -I tree/src/rrcp \
            -o broken ./*.o tree/src/rrcp/*.c -lcrypto -lm); then
        echo "$name: does not build"; missed=$((missed + 1)); continue
    fi
    scenario=${SCENARIO:-$(sed -n 's/^scenario: //p' "$here/$name.patch")}
    kind=$(sed -n 's/^personality: //p' "$here/$name.patch")
    found=$(timeout 900 "$work/broken" --seeds "$seeds" ${scenario:+--scenario "$scenario"} ${kind:+--personality "$kind"} --stop 2>&1 |
        grep -v passed | tail -1)
    if [ -n "$found" ]; then
        echo "$name: found: ${found%% (replay*}"
    else
        echo "$name: NOT FOUND"; missed=$((missed + 1))
    fi
done
[ $missed -eq 0 ] && echo "all $# defects found" || echo "$missed of $# defects not found"
exit $((missed > 0))
