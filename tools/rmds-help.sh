# rmds-help.sh - what the verbs and the benchmarks say of themselves; sourced by tools/rmds.
# SPDX-License-Identifier: Apache-2.0
#
# The head of a script is its help, and nothing of the script runs to show it:
#     # help: down [CONF]             stop it; nothing is left behind      <- its line in tools/rmds --help
#     # usage: tools/rmds down [CONF] [--all]                              <- from here to the end of the comment
#     #                                                                       the text of tools/rmds down --help
#     #   --all    every system that is up
# The options named there are those that the door lets through. A C program of tests/bench has the same
# in its first comment. A Python benchmark prints its help itself.

builtin_verbs=()
for verb in setup build test bench; do
    [ ! -f "$root/tools/rmds-$verb.sh" ] || builtin_verbs+=("$verb")
done

is_help() {
    case $1 in -h | -help | --help) return 0 ;; esac
    return 1
}

verb_names() {
    local script
    printf '%s\n' "${builtin_verbs[@]}"
    for script in "$root"/tools/rmds.d/*; do
        [ -f "$script" ] && [ -x "$script" ] && echo "${script##*/}"
    done
}

verb_file() {
    case " ${builtin_verbs[*]} " in
    *" $1 "*) echo "$root/tools/rmds-$1.sh" ;;
    *) echo "$root/tools/rmds.d/$1" ;;
    esac
}

# usage_of FILE: the text of its head from "usage:" on; if it has none, what its line of help says.
usage_of() {
    awk '/^# help: / && !line { line = $0; sub(/^# help: /, "usage: tools/rmds ", line); sub(/   *.*/, "", line) }
         !on && /^(#| \*) usage: / { on = 1 }
         on && (!/^(#| \*)/ || /^ \*\// || /SPDX-License/) { exit }
         on { sub(/^(#| \*) ?/, ""); print }
         END {
             name = FILENAME; sub(/.*\//, "", name)
             if (name ~ /\.c$/) { gsub(/\.c$|_bench|bench_/, "", name); line = "usage: tools/rmds bench " name }
             if (!on) print line
         }' "$1"
}

# summary_of FILE: one line that says what it is.
summary_of() {
    sed -nE -e '1,12{ s/^# help: .* {2,}//p; t q' -e 's/^# [a-z_]+ - (.*)\./\1/p; t q' \
        -e 's:^/\* \w+\.c - (.*)\. \*/$:\1:p; t q' -e '}' -e 'b' -e ':q' -e q "$1"
}

# text_of FILE: its help.
text_of() {
    local block
    block=$(usage_of "$1")
    printf '%s\n\n%s\n' "$(head -n 1 <<<"$block")" "$(summary_of "$1")"
    [[ $block != *$'\n'* ]] || tail -n +2 <<<"$block"
    printf '\n  -h, --help    this text\n'
}

verb_help() {
    text_of "$(verb_file "$1")"
    case $1 in
    build) printf '\nPRESET, in a folder build-PRESET:\n%s\n' "$(presets)" ;;
    bench) printf '\nNAME, "tools/rmds bench NAME --help" says more:\n%s\n' "$(bench_list)" ;;
    esac
}

usage() {
    local verb
    printf 'rmds - the front door of openrmds\n\nusage: tools/rmds VERB [argument]...\n\n'
    for verb in $(verb_names); do
        sed -nE 's/^# help: //p' "$(verb_file "$verb")"
    done | awk -F '   *' '{ printf "  %-27s %s\n", $1, $2 }'
    printf '  %-27s %s\n' "VERB --help" "what VERB does, and its options" "--version" "version and commit"
    echo
    rmds_is_installed || echo "Every verb does first what it depends on: a clean clone and one command are enough."
}

# near WORD CANDIDATE...: "; did you mean X?" where one is near.
near() {
    python3 -c 'import difflib, sys
found = difflib.get_close_matches(sys.argv[1], sys.argv[2:], 1, 0.6)
print(f"; did you mean {found[0]}?" if found else ";", end="")' "$@" 2>/dev/null || printf ';'
}

# option_lines FILE: "-q --quick" or "-s --seed N" for each option of its head.
option_lines() {
    usage_of "$1" | sed -nE 's/^ {2,}(-.*)/\1/p' | sed -E 's/ {2,}.*//; s/,? +/ /g'
    usage_of "$1" | head -n 1 | grep -oE '\[-[^]]*' | sed 's/^\[//; s/|.*//'
}

# option_takes FILE OPTION: 0: there is one, and it takes an argument; 1: it takes none; 2: there is none.
option_takes() {
    local line
    while read -r line; do
        case " $line " in
        *" $2 "* | *" ${2/#--/-} "* | *" -$2 "*) # one dash or two
            [[ " $line" =~ \ [^-] ]] && return 0 || return 1
            ;;
        esac
    done < <(option_lines "$1")
    return 2
}

unknown_option() { # WHO FILE OPTION
    # shellcheck disable=SC2046
    echo "rmds $1: there is no option $3$(near "${3%%=*}" $(option_lines "$2" | grep -oE -e '-\S+'))" \
        "tools/rmds $1 --help lists all" >&2
}

# check_arguments WHO FILE ARGUMENT...: False, and a reason on standard error, if the head of the file knows
# one of them not.
check_arguments() {
    local who=$1 file=$2 synopsis room=0 given=0
    shift 2
    synopsis=$(usage_of "$file" | head -n 1)
    synopsis=$(sed -E "s/^usage: tools.rmds $who ?//; s/\[-[^]]*\]//g" <<<"$synopsis")
    [[ $synopsis == *...* ]] && room=1000 || room=$(wc -w <<<"$synopsis")
    while [ $# -gt 0 ]; do
        case $1 in
        --) return 0 ;;
        -?[0-9]*) # -n50
            option_takes "$file" "${1:0:2}" || { unknown_option "$who" "$file" "$1"; return 1; }
            ;;
        -?*)
            option_takes "$file" "${1%%=*}"
            case $? in
            0) [[ $1 == *=* ]] || shift ;;
            2)
                unknown_option "$who" "$file" "$1"
                return 1
                ;;
            esac
            ;;
        *)
            given=$((given + 1))
            if [ $given -gt "$room" ]; then
                echo "rmds $who: \"$1\" is too much: $([ "$room" = 0 ] && echo "it takes no argument" ||
                    echo "it takes $synopsis");" "see tools/rmds $who --help" >&2
                return 1
            fi
            ;;
        esac
        [ $# -eq 0 ] || shift
    done
}
