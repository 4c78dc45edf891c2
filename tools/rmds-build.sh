# rmds-build.sh - `tools/rmds build`; sourced by tools/rmds.
# help: build [PRESET [TARGET]...]  compile the programs into build/bin; with PRESET all of it, tests too
# usage: tools/rmds build [PRESET [TARGET]...]
#
# Without PRESET only what is installed and run: no test is compiled, no package for tests is needed.
# TARGET is a target of CMake, as p2ps; chain is what demo and up start.
# SPDX-License-Identifier: Apache-2.0

preset_folder() {
    [ "$1" = release ] && echo "$root/build" || echo "$root/build-$1"
}

# presets: "  NAME   what it is" for each of CMakePresets.json.
presets() {
    sed -nE '/"configurePresets"/,/^  \]/{
        s/.*"name": "([^"]*)".*/\1/p
        s/.*"displayName": "([^"]*)".*/\1/p
    }' "$root/CMakePresets.json" | paste -d '\t' - - | awk -F '\t' '{ printf "  %-12s %s\n", $1, $2 }'
}

# show_progress NAME LOG: ninja's lines from standard input go to LOG. On a terminal its [n/all] is repainted in
# one line; elsewhere there is a line for each tenth, four a minute at most.
show_progress() {
    local line part all words width tenth=0 said=$SECONDS start=$SECONDS
    width=$(tput cols 2>/dev/null) || width=80
    while IFS= read -r line; do
        printf '%s\n' "$line" >&3
        [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ (.*) ]] || continue
        part=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]} words=${BASH_REMATCH[3]##* }
        if [ -t 1 ]; then
            line=$(printf '[..]  %-20s %d of %d, %d s  %s' "$1" "$part" "$all" $((SECONDS - start)) "$words")
            printf '\r%s\e[K' "${line:0:$((width - 1))}"
        elif [ $((10 * part / all)) -gt $tenth ] && [ $((SECONDS - said)) -ge 15 ]; then
            tenth=$((10 * part / all)) said=$SECONDS
            say .. "$1" "$part of $all, $((SECONDS - start)) s"
        fi
    done 3>"$2"
    [ ! -t 1 ] || printf '\r\e[K'
}

# configure PRESET tests|programs LOG: the build folder is there, with the tests in it if they are wanted. Where
# cmocka is missing the programs are built without them.
configure() {
    local folder wish=''
    folder=$(preset_folder "$1")
    if [ "$2" = tests ]; then
        grep -qs '^RMDS_TESTS:BOOL=OFF' "$folder/CMakeCache.txt" && wish=-DRMDS_TESTS=ON
    elif [ ! -f "$folder/CMakeCache.txt" ] && ! pkg-config --exists cmocka; then
        wish=-DRMDS_TESTS=OFF
    fi
    [ -z "$wish" ] && [ -f "$folder/build.ninja" ] &&
        [ ! "$root/CMakePresets.json" -nt "$folder/build.ninja" ] && return
    # shellcheck disable=SC2086
    (cd "$root" && cmake --preset "$1" $wish) >"$3" 2>&1
}

# configure_build PRESET [TARGET...]: quiet when all is well; the compiler's words when not.
configure_build() {
    local preset=$1 folder log kind=tests
    shift
    folder=$(preset_folder "$preset")
    log=$folder/log/build.log
    case $* in product | chain) kind=programs ;; esac
    mkdir -p "$folder/log"
    if command -v ccache >/dev/null; then
        export CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
    fi
    configure "$preset" $kind "$log" || {
        tail -n 30 "$log"
        return 1
    }
    NINJA_STATUS='[%f/%t] ' cmake --build "$folder" ${1:+--target "$@"} 2>&1 | show_progress "build $preset" "$log"
    [ "${PIPESTATUS[0]}" = 0 ] || {
        grep -E -A12 'error|FAILED|Error' "$log" | head -n 60
        return 1
    }
}

# tiers_of PRESET: the packages that building all of it takes.
tiers_of() {
    case $1 in
    clang | fuzz) echo run unit clang ;;
    *) echo run unit ;;
    esac
}

# build_targets PRESET [TARGET...]: packages, then the targets, and how long it took.
build_targets() {
    local preset=$1 start folder
    shift
    folder=$(preset_folder "$preset")
    # shellcheck disable=SC2046
    case $* in
    product | chain) setup_for run ;;
    *) setup_for $(tiers_of "$preset") ;;
    esac || return 1
    start=$SECONDS
    say .. build "$preset${*:+: $*}"
    if configure_build "$preset" "$@"; then
        say ok build "$preset, $((SECONDS - start)) s, programs in $folder/bin"
    else
        say no build "$preset; all of it: $folder/log/build.log"
        return 1
    fi
}

verb_build() {
    local preset=${1:-} names
    if [ -z "$preset" ]; then
        build_targets release product
        return
    fi
    names=$(presets | awk '{ print $1 }')
    if ! grep -qxF -e "$preset" <<<"$names"; then
        # shellcheck disable=SC2086
        echo "rmds build: there is no preset \"$preset\"$(near "$preset" $names) tools/rmds build --help lists all" >&2
        return 2
    fi
    [ "$*" != release ] || set -- release all unit_tests
    build_targets "$@"
}
