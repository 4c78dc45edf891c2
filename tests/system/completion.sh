#!/bin/bash
# completion.sh SOURCE BUILD bash|zsh - the shell completes programs and verbs by what their help says.
# SPDX-License-Identifier: Apache-2.0
cd "$1" || exit 1
export PATH=$2/bin:$PATH
bad=0

# expect WORD... = COMPLETION...: the last WORD is under the cursor; all COMPLETIONs are offered.
expect() {
    local words=() wanted found word
    while [ "$1" != = ]; do words+=("$1"); shift; done
    shift
    found=$(complete_in_"$shell" "${words[@]}")
    for wanted in "$@"; do
        if [[ $wanted == !* ]]; then
            [[ " $(echo $found) " != *" ${wanted#!} "* ]] && continue
        else
            [[ " $(echo $found) " == *" $wanted "* ]] && continue
        fi
        bad=1
        echo "$shell, ${words[*]}: no $wanted in:" $found
    done
}

complete_in_bash() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _openrmds
    printf '%s\n' "${COMPREPLY[@]}"
}

# What zsh would offer: compadd is asked, and what it is given is printed.
complete_in_zsh() {
    zsh -f -c '
        fpath+=($PWD/tools/completion)
        words=("$@") CURRENT=$# PREFIX=${@[-1]} SUFFIX=
        compadd() { local at=${@[(i)--]}; print -rl -- ${(M)${@[at+1,-1]}:#$PREFIX*} }
        _describe() { local -a list; [[ $1 == -o ]] && shift; list=(${(P)2}); print -rl -- ${(M)${list%%:*}:#$PREFIX*} }
        _files() { [[ $1 == -/ ]] && print -rl -- $PREFIX*(-/N) || print -rl -- $PREFIX*(N) }
        _message() { : }
        _call_program() { shift; eval "$@" }
        autoload +X -Uz _openrmds && _openrmds' zsh "$@"
}

shell=$3
if [ "$shell" = zsh ]; then
    command -v zsh >/dev/null || { echo "no zsh here"; exit 77; }
else
    . tools/completion/openrmds.bash
fi

expect rrcpd -inst = -instance
expect rrcpd --check = --checkconfig
expect p2ps -loglevel W = WARNING '!ERROR'
expect src_dist -c conf/dem = conf/demo.cnf
expect rmdsctl '' = list trace kick drain reload status
expect rmdsctl -ru = -run
expect rmdscnf '' = check get list '!markdown'
expect rmdscnf reference '' = markdown scdoc cnf
expect rmdscnf metrics '' = markdown alerts dashboard
expect rrcpperf s = sub '!pub'
expect rwfdump -out = -output
expect rwfdump --out = --output
expect rmdstestclient -d '' = 0 1 2 3
expect rmdstestclient -seq = -seqcheck
expect sink_driven_src -seqd = -seqdata
expect rmdsfault '' = list show check run serve tell
expect rmdsfault -scen = -scenarios
expect tools/rmds '' = setup build test bench chaos demo up down
expect tools/rmds build d = debug '!demo'
expect tools/rmds test --l = --long
expect tools/rmds bench l = latency
expect tools/rmds bench latency --ro = --rounds
expect tools/rmds bench isolation --only p = p2ps '!consumer'
if command -v rmdsmon >/dev/null; then
    expect rmdsmon -print M = MOUNTS MEMORY '!ITEMS'
    expect rmdsmon -run sr = src
fi
if [ "$shell" = zsh ]; then
    found=$(zsh -f -c 'fpath+=($PWD/tools/completion); autoload -Uz compinit && compinit -D -u; print $_comps[p2ps] $_comps[rmds]')
    [ "$found" = "_openrmds _openrmds" ] || { echo "compinit takes p2ps and rmds for: $found"; bad=1; }
fi
# Every program that is installed has its completion.
for program in $(sed -nE 's/^foreach\(program (.*)\)/\1/p' cmake/package/CMakeLists.txt); do
    grep -qw "$program" tools/completion/openrmds.bash && head -n 1 tools/completion/_openrmds | grep -qw "$program" ||
        { echo "$program is not completed"; bad=1; }
done
exit $bad
