# rmds-bench.sh - `tools/rmds bench`; sourced by tools/rmds.
# help: bench [NAME] [OPTION]...  measure; without NAME the list of what can be measured
# usage: tools/rmds bench [NAME] [OPTION]...
#
# The report of a benchmark goes to build/reports.
# SPDX-License-Identifier: Apache-2.0
#
# A benchmark is a script of tools/rmds.d/bench/, or a program NAME_bench or bench_NAME of a layer. A script names
# other programs that it runs in a line "# needs: TARGET...".

bench_programs() {
    rmds_is_installed && return
    grep -rhoE 'rmds_bench\(\w+' "$root"/src/*/CMakeLists.txt "$root"/tools/*/CMakeLists.txt | sed 's/.*(//'
}

bench_names() {
    {
        ls "$root/tools/rmds.d/bench"
        bench_programs | sed -E 's/_bench$//; s/^bench_//'
    } | sort -u
}

# bench_file NAME: the file whose head says what it is.
bench_file() {
    local file
    for file in "$root/tools/rmds.d/bench/$1" "$root/tests/bench/${1}_bench.c" "$root/tests/bench/bench_$1.c"; do
        [ -f "$file" ] && echo "$file" && return
    done
}

bench_list() {
    local name
    for name in $(bench_names); do
        printf '  %-12s %s\n' "$name" "$(summary_of "$(bench_file "$name")")"
    done
}

bench_help() {
    local file
    file=$(bench_file "$1")
    case $file in
    *.c) text_of "$file" ;;
    *) PYTHONDONTWRITEBYTECODE=1 "$file" --help ;;
    esac
}

verb_bench() {
    local name=${1:-} file program argument
    if [ $# = 0 ]; then
        verb_help bench
        return
    fi
    shift
    file=$(bench_file "$name")
    if [[ $name == */* ]] || [ -z "$file" ]; then
        # shellcheck disable=SC2046
        echo "rmds bench: there is no benchmark \"$name\"$(near "$name" $(bench_names))" \
            "tools/rmds bench --help lists all" >&2
        return 2
    fi
    for argument in "$@"; do
        [ "$argument" = -- ] && break
        if is_help "$argument"; then
            bench_help "$name"
            return
        fi
    done
    # Before minutes of building: are the options right?
    case $file in
    *.c) check_arguments "bench $name" "$file" "$@" || return 2 ;;
    *) RMDS_PARSE_ONLY=1 PYTHONDONTWRITEBYTECODE=1 "$file" "$@" || return ;;
    esac
    # Only what it runs: the programs, and its own where it has one.
    # shellcheck disable=SC2046
    rmds_is_installed ||
        build_targets release product $(bench_programs | grep -xE "${name}_bench|bench_$name") \
            $(sed -n 's/^# needs: //p' "$file") >&2 || return 1
    for program in "$root/tools/rmds.d/bench/$name" "$RMDS_BUILD/bench/${name}_bench" \
        "$RMDS_BUILD/bench/bench_$name"; do
        if [ -x "$program" ]; then
            rm -rf "$RMDS_TMP"
            exec "$program" "$@" # killed as a whole: what runs under its name is the benchmark itself
        fi
    done
}
