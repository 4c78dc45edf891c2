# openrmds.bash - bash completes the programs of openrmds and tools/rmds, from what their help says.
# SPDX-License-Identifier: Apache-2.0
#
# Installed for each program; in a clone: source tools/completion/openrmds.bash
# Nothing is listed here twice: the words come from "PROGRAM --help", which does nothing else.

# _openrmds_options: from help on standard input, a line "NAME<tab>ARGUMENT<tab>TEXT" for each option.
_openrmds_options() {
    awk '/^ +-/ {
        sub(/^ +/, ""); at = match($0, /  +/)
        left = at ? substr($0, 1, at - 1) : $0
        text = at ? substr($0, at + RLENGTH) : ""
        n = split(left, word, /,? +/); argument = ""
        for (i = 1; i <= n; i++) if (word[i] !~ /^-/) { argument = word[i]; break }
        for (i = 1; i <= n; i++) if (word[i] ~ /^-[^,]/) print word[i] "\t" argument "\t" text
    }'
}

# _openrmds_words PREVIOUS: the bare words that help names: "pub|sub|ping" where the usage has them behind the
# previous word, else "  check   ...".
_openrmds_words() {
    local help found
    help=$(cat)
    found=$(sed -nE "s/^(usage:| {6}).*\<$1 \[?([a-z]+(\|[a-z]+)+).*/\2/p" <<<"$help" | tr '|' '\n')
    [ -n "$found" ] && echo "$found" || sed -nE 's/^  ([a-z][a-z0-9_]*)( \[.*| [A-Z].*)? {2,}.*/\1/p' <<<"$help"
}

# _openrmds_values ARGUMENT TEXT CURRENT: what may stand behind an option.
_openrmds_values() {
    local words='' low
    case $1 in
    *FILE*) compgen -f -- "$3"; return ;;
    *FOLDER* | *DIR*) compgen -d -- "$3"; return ;;
    HOST*) compgen -A hostname -- "$3"; return ;;
    [0-9]..[0-9]) for ((low = ${1%%.*}; low <= ${1##*.}; low++)); do words+=" $low"; done ;;
    '{'*'}') words=${1//[\{\},]/ } ;;
    *[a-z]'|'[a-z]*) words=${1//|/ } ;;
    *) # choices that the text is made of: "ERROR, WARNING, NOTICE"
        [[ $2 =~ ^([A-Z]+,?\ ){2,}[A-Z]+ ]] && words=${BASH_REMATCH[0]//,/} ;;
    esac
    compgen -W "$words" -- "$3"
}

# _openrmds_help: the help that fits the words before the cursor.
_openrmds_help() {
    local program=${COMP_WORDS[0]/#\~/$HOME} at words=()
    if [ "${program##*/}" = rmds ]; then
        for ((at = 1; at < COMP_CWORD && at < 3; at++)); do
            [[ ${COMP_WORDS[at]} == -* ]] && break
            words+=("${COMP_WORDS[at]}")
            [ "${COMP_WORDS[1]}" = bench ] || break
        done
    fi
    "$program" "${words[@]}" --help 2>/dev/null
}

_openrmds() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} help options name argument text
    COMPREPLY=()
    help=$(_openrmds_help)
    options=$(_openrmds_options <<<"$help")
    while IFS=$'\t' read -r name argument text; do
        if [ -n "$argument" ] && [ "${name#-}" = "${previous#-}" -o "-$name" = "$previous" ]; then
            mapfile -t COMPREPLY < <(_openrmds_values "$argument" "$text" "$current")
            return
        fi
    done <<<"$options"
    # shellcheck disable=SC2001
    case $current in
    --*) mapfile -t COMPREPLY < <(compgen -W "$(cut -f 1 <<<"$options" | sed 's/^-*/--/')" -- "$current") ;;
    -*)
        mapfile -t COMPREPLY < <(compgen -W "$(cut -f 1 <<<"$options")" -- "$current")
        # The programs take one dash for two.
        [ ${#COMPREPLY[@]} -gt 0 ] || [[ ${COMP_WORDS[0]} == *rmds ]] ||
            mapfile -t COMPREPLY < <(compgen -W "$(cut -f 1 <<<"$options" | sed 's/^--/-/')" -- "$current")
        ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$(_openrmds_words "${previous##*/}" <<<"$help")" -- "$current") ;;
    esac
    [ ${#COMPREPLY[@]} -gt 0 ] || [[ $current == -* ]] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}

complete -o filenames -F _openrmds rrcpd src_dist p2ps sink_driven_src rmdstestclient rmdsmon p2psmon src_distmon \
    rrcpmon adsmon adhmon rmdscnf rmdsaccess rmdsctl rmdsfault rmdsrec rmdsreplay rwfdump rrcpperf rmds
