#!/bin/bash
# run.sh - prove that the simulator finds each deliberate defect of the engine within 500 seeds.
# SPDX-License-Identifier: Apache-2.0
#
# usage: run.sh [NAME...]      names without .patch; none = all; SEEDS=A..B and SCENARIO=NAME narrow it
#        run.sh --apply        only see whether each patch still fits the engine
#
# Each patch is applied to a copy of the engine, built with the simulator and run until a seed
# fails, all of one scenario and over one transport if the patch names them: with one seed in 38 a defect
# that needs it would be found by luck. Prints one line each; exit status 1 if any defect was not found.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
seeds=${SEEDS:-0..499}

if [ "${1:-}" = --apply ]; then
    misfits=0
    for patch in "$here"/*.patch; do
        patch -d "$root" -p1 -s -F0 --dry-run <"$patch" || { echo "$(basename "$patch" .patch) does not apply"; misfits=1; }
    done
    exit $misfits
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/rrcpsim-defects.XXXXXX")
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/src" "$work/inc" "$work/tree/src"
cp -r "$root/src/rrcp" "$work/src/"
cp -r "$root/tests/sim" "$work/sim"
for module in backbone base relay rrcp seal attach; do ln -s "$root/include/$module" "$work/inc/$module"; done
cc=${CC:-cc}
! command -v ccache >/dev/null || cc="ccache $cc"

# compile FOLDER FILE...: objects of the engine, as it stands in the tree, into the folder
compile() {
    local into=$1 file
    shift
    for file in "$@"; do
        (cd "$work" && $cc -std=c17 -O2 -w -D_GNU_SOURCE -I inc -I tree/src/rrcp -c "tree/src/rrcp/$file" -o "$into/${file%.c}.o") || return 1
    done
}

fresh_tree() { rm -rf "$work/tree/src/rrcp" && cp -r "$root/src/rrcp" "$work/tree/src/"; }

# Objects that no patch touches, and those of the engine without one.
(cd "$work" && for file in "$root"/src/base/{assert,err}.c "$root"/src/seal/{openssl,multibuffer,seal}.c "$root"/src/attach/{inbound,reader}.c \
    sim/{simnet,sim,check,limits,users,forger,hostile,mesh,sealed,scenario,figures,figures_mesh,rrcpsim}.c; do
    $cc -std=c17 -O2 -D_GNU_SOURCE -I inc -I sim -I "$root/src/attach" -c "$file" -o "$(basename "$file" .c).o" || exit 1
done) || exit 1
fresh_tree
mkdir "$work/good" && compile good $(cd "$root/src/rrcp" && ls ./*.c) || exit 1

missed=0
if [ $# -eq 0 ]; then
    set -- $(cd "$here" && ls ./*.patch | sed 's|^\./||; s|\.patch$||')
fi
for name in "$@"; do
    fresh_tree
    if ! patch -s -F0 -p1 -d "$work/tree" <"$here/$name.patch"; then
        echo "$name: the patch does not apply"; missed=$((missed + 1)); continue
    fi
    # Only what the patch touches is compiled; behind a header everything is.
    touched=$(sed -n 's|^+++ b/src/rrcp/||p' "$here/$name.patch")
    [[ $touched != *.h* ]] || touched=$(ls "$root/src/rrcp" | grep '[.]c$')
    rm -rf "$work/bad" && cp -r "$work/good" "$work/bad"
    if ! compile bad $touched || ! (cd "$work" && $cc -o broken ./*.o bad/*.o -lcrypto -lm); then
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
