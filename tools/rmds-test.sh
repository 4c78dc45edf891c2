# rmds-test.sh - the stages of `tools/rmds test`; sourced by tools/rmds.
# help: test [PATTERN] [--long]  everything that proves it works; ends with "N passed, M failed, K skipped"
# usage: tools/rmds test [PATTERN] [--long]
#
#   PATTERN       only the tests of the release build whose name matches this regular expression
#   --long        also the long ones, and a minute of each fuzzer: hours
# SPDX-License-Identifier: Apache-2.0
#
# A test joins a stage by its ctest labels:
#   (none)   release and asan        threads  also under ThreadSanitizer
#   long     only with --long        interop  not repeated under asan
#   noasan   not under asan (it measures, or its subject is a script or a text)
#   asan-long  under asan only with --long (others have the same code under asan)
#   release-long  in the release build only with --long (unit tests, which run under asan), or when PATTERN names it
# rmds_test_takes of cmake/rmds.cmake says how much of a core it uses: many only wait.
# Exit status 77 of a test is a skip; the last line it printed is the reason.
# A system test that fails is run once more, alone, unless a sanitizer or MD_ASSERT found something: see CONTRIBUTING.md.

passed=0 failed=0 skipped=0
skips=() failures=() unsteady=()
ahead_folder='' ahead_pid='' ahead_cpu=0

# count_ctest STAGE REPORT [REPORT-OF-THE-SECOND-TIME]: add up what ctest wrote as JUnit.
count_ctest() {
    local kind name reason
    while IFS=$'\t' read -r kind name reason; do
        case $kind in
        passed) passed=$((passed + 1)) ;;
        skipped)
            skipped=$((skipped + 1))
            skips+=("$name ($1): $reason")
            ;;
        unsteady)
            passed=$((passed + 1))
            unsteady+=("$name ($1): $reason; passed alone; all of it: ${2%/*}/unsteady.log")
            ;;
        *)
            failed=$((failed + 1))
            failures+=("$name ($1): $reason")
            ;;
        esac
    done < <(python3 "$root/tests/junit.py" "$2" ${3:+--again "$3"})
}

# repeat_failed FOLDER REPORT AGAIN: run failed system tests once more, alone: a machine that stood still is told from a
# defect. Not those whose output shows a finding of a sanitizer or a broken promise, and none where many failed.
# False: a failed test is left.
repeat_failed() {
    local names
    mapfile -t names < <(python3 "$root/tests/junit.py" --bare "$2")
    [ ${#names[@]} -gt 0 ] && [ ${#names[@]} -le 5 ] || return 1
    python3 "$root/tests/junit.py" --failures "$2" >"$1/log/unsteady.log"
    (cd "$1" && IFS='|' && ctest -j 1 --resource-spec-file log/cores.json --output-on-failure --no-tests=ignore \
        --output-junit "$3" -L '^(system|interop)$' -R "^(${names[*]})$") >>"$1/log/unsteady.log" 2>&1
    [ -f "$3" ] && ! grep -q '^failed' < <(python3 "$root/tests/junit.py" "$2" --again "$3" 2>/dev/null)
}

# cpu_used NAME: into this variable, the seconds of CPU of all children that this shell has waited for.
cpu_used() {
    local file=$RMDS_TMP/times.$BASHPID
    times >"$file"
    printf -v "$1" %s \
        "$(awk 'NR == 2 { split($1 $2, t, /[ms]/); printf "%d", 60 * t[1] + t[2] + 60 * t[3] + t[4] }' "$file")"
}

# reaped_cpu: what was done ahead counts in its stages, and once more for this shell when all of it has ended.
reaped_cpu() {
    if [ -n "$ahead_pid" ] && [ -s "$ahead_folder/all.cpu" ] && ! kill -0 "$ahead_pid" 2>/dev/null; then
        cat "$ahead_folder/all.cpu"
        rm "$ahead_folder/all.cpu"
    else
        echo 0
    fi
}

stage() { # STAGE COMMAND...: run, time, say
    local name=$1 start=$SECONDS was=$failed begin end
    shift
    say .. "$name" ""
    ahead_cpu=0
    cpu_used begin
    "$@"
    local status=$?
    cpu_used end
    stage_note="${stage_note:+$stage_note, }$((end - begin + ahead_cpu - $(reaped_cpu))) s of CPU"
    if [ $status -ne 0 ] && [ "$failed" = "$was" ]; then
        failed=$((failed + 1))
        failures+=("$name")
    fi
    if [ "$failed" = "$was" ]; then
        say ok "$name" "$((SECONDS - start)) s, $stage_note"
    else
        say no "$name" "$((SECONDS - start)) s, $stage_note"
    fi
    stage_note=''
}

# The cores of this machine in tenths, which tests share out among them (see rmds_test_takes), and a fifth more: those
# that only wait go beside those that work.
cores_file() {
    cat <<END
{ "version": { "major": 1, "minor": 0 },
  "local": [ { "cores": [ { "id": "0", "slots": $((12 * $(nproc))) } ] } ] }
END
}

# Daemons write to logs of their own, which no test prints: what a sanitizer finds in any process is a file.
# The search for leaks of a process that is killed at its end finds threads without registers, and nothing else.
sanitizer_found() { # FOLDER PRESET
    local file found=1
    for file in "$1"/log/sanitizer.*; do
        [ -f "$file" ] && grep -qv 'Unable to get registers from thread [0-9]*\.$' "$file" || continue
        found=0 failed=$((failed + 1))
        failures+=("$(grep -m 1 -E 'ERROR|WARNING|runtime error' "$file" || head -n 1 "$file") ($2): $file")
        head -n 30 "$file"
    done
    return $found
}

run_ctest() { # PRESET ARGUMENT...
    local preset=$1 folder report again
    shift
    folder=$(preset_folder "$preset")
    report=$folder/log/ctest.xml again=$folder/log/again.xml
    rm -f "$report" "$again" "$folder"/log/sanitizer.*
    cores_file >"$folder/log/cores.json"
    (cd "$folder" && ctest -j $((4 * $(nproc))) --resource-spec-file log/cores.json --output-on-failure \
        --no-tests=ignore --output-junit "$report" "$@") >"$folder/log/ctest.log" 2>&1
    local status=$? before=$((passed + failed + skipped))
    sanitizer_found "$folder" "$preset" && status=1 ||
        [ $status = 0 ] || [ ! -f "$report" ] || ! repeat_failed "$folder" "$report" "$again" || status=0
    [ -f "$report" ] && count_ctest "$preset" "$report" "$again"
    stage_note="$((passed + failed + skipped - before)) tests"
    if [ $status -ne 0 ]; then
        if [ -f "$report" ]; then
            python3 "$root/tests/junit.py" --failures "$report"
        else
            tail -n 20 "$folder/log/ctest.log"
        fi
        return 1
    fi
}

stage_release() {
    configure_build release || return 1
    [ -z "$pattern$long" ] || configure_build release unit_tests || return 1
    [ -n "$pattern" ] || start_ahead
    run_ctest release "${ctest_labels[@]}"
}

# Most tests wait more than they work. What needs nothing but a core is done beside them, at the lowest priority, one
# after the other in the order of the stages: builds and the two slow judges. Its stage collects what came of it.
start_ahead() {
    ahead_folder=$RMDS_TMP/ahead
    mkdir "$ahead_folder"
    set -m # a process group of its own, which stop_ahead can end as a whole
    work_ahead </dev/null >/dev/null 2>&1 &
    ahead_pid=$!
    set +m
    trap 'stop_ahead; rm -rf "$RMDS_TMP"' EXIT
    trap 'exit 130' INT TERM HUP
}

stop_ahead() {
    kill -0 "$ahead_pid" 2>/dev/null || return 0
    kill -- "-$ahead_pid" 2>/dev/null
    wait "$ahead_pid" 2>/dev/null
}

work_ahead() {
    trap - EXIT INT TERM HUP
    renice -n 19 -p "$BASHPID" >/dev/null 2>&1
    ahead asan configure_build asan
    ahead tsan configure_build tsan tsan_tests
    [ -z "$long" ] || ahead fuzz configure_build fuzz fuzzers
    ahead clang judge_by_clang
    ahead clang-tidy judge_by_clang_tidy
    ahead format judge_format
    ahead tidy judge_tidy
    local all
    cpu_used all
    echo "$all" >"$ahead_folder/all.cpu"
}

ahead() { # NAME COMMAND...: what it printed, and how it ended, become files
    local name=$1 begin end status
    shift
    kill -0 $$ 2>/dev/null || exit # who asked for it was killed
    cpu_used begin
    "$@" >"$ahead_folder/$name" 2>&1
    status=$?
    cpu_used end
    echo $((end - begin)) >"$ahead_folder/$name.cpu"
    echo $status >"$ahead_folder/$name.status"
}

# collect NAME COMMAND...: what COMMAND came to beside the tests; it runs here where nothing ran beside them.
collect() {
    local name=$1
    shift
    while kill -0 "$ahead_pid" 2>/dev/null && [ ! -s "$ahead_folder/$name.status" ]; do
        sleep 0.5
    done
    if [ ! -s "$ahead_folder/$name.status" ]; then
        "$@"
        return
    fi
    cat "$ahead_folder/$name"
    ahead_cpu=$(cat "$ahead_folder/$name.cpu")
    return "$(cat "$ahead_folder/$name.status")"
}

stage_asan() {
    collect asan configure_build asan || return 1
    local file=$root/build-asan/log/sanitizer
    ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:abort_on_error=0:log_exe_name=1:log_path=$file \
        UBSAN_OPTIONS=print_stacktrace=1:log_exe_name=1:log_path=$file \
        run_ctest asan -LE "^(${long_label}interop|noasan)$"
}

# ThreadSanitizer of gcc 12 cannot live with much address randomisation.
stage_tsan() {
    local wrap=()
    collect tsan configure_build tsan tsan_tests || return 1
    setarch "$(uname -m)" -R true 2>/dev/null && wrap=(setarch "$(uname -m)" -R)
    TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 \
        run_ctest_wrapped "${wrap[@]}"
}

run_ctest_wrapped() {
    local command=ctest
    if [ $# -gt 0 ]; then
        ctest() { command "${wrapper[@]}" ctest "$@"; }
        wrapper=("$@")
    fi
    run_ctest tsan -L '^(threads|tsan)$' "${ctest_labels[@]}"
    local status=$?
    [ $# -gt 0 ] && unset -f ctest
    return $status
}

# Without --long the tests NAME_replay run changed inputs under ASan, too, but do not follow the branches of the code.
fuzz_one() { # FUZZER: a search from its corpus
    local name corpus work
    name=$(basename "$1")
    corpus=$root/tests/corpus/$name
    work=$RMDS_TMP/fuzz/$name
    mkdir -p "$work/new"
    (cd "$work" && ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1 \
        "$1" -max_total_time="$fuzz_seconds" -timeout=60 -rss_limit_mb=2048 \
        -print_final_stats=1 new $([ -d "$corpus" ] && echo "$corpus") >log 2>&1)
    echo $? >"$work/status"
}

stage_fuzz() {
    local fuzzer bad=0 count=0
    collect fuzz configure_build fuzz fuzzers || return 1
    for fuzzer in "$root"/build-fuzz/fuzz/*; do
        [ -x "$fuzzer" ] && [ -f "$fuzzer" ] || continue
        fuzz_one "$fuzzer" &
        count=$((count + 1))
        [ $((count % $(nproc))) = 0 ] && wait
    done
    wait
    for fuzzer in "$RMDS_TMP"/fuzz/*; do
        [ -d "$fuzzer" ] || continue
        if [ "$(cat "$fuzzer/status")" = 0 ]; then
            passed=$((passed + 1))
        else
            bad=1 failed=$((failed + 1))
            failures+=("$(basename "$fuzzer") (fuzz)")
            mkdir -p "$root/build-fuzz/log"
            cp "$fuzzer"/log "$root/build-fuzz/log/$(basename "$fuzzer").log"
            cp "$fuzzer"/crash-* "$fuzzer"/timeout-* "$fuzzer"/oom-* "$fuzzer"/leak-* \
                "$root/build-fuzz/log/" 2>/dev/null
            tail -n 30 "$fuzzer/log"
        fi
    done
    stage_note="$count fuzzers, $fuzz_seconds s each"
    return $bad
}

# Our own code: tests/bench/limits holds prototypes as they were measured.
# The limit prototypes are measuring sticks that came as they are.
sources() {
    (git -C "$root" ls-files '*.c' '*.h' 2>/dev/null || (cd "$root" && find src include srcdist \
        p2ps rrcpd tools tests -name '*.[ch]')) | grep -v '^tests/bench/limits/'
}

judge_format() {
    (cd "$root" && sources | xargs -r -P "$(nproc)" -n 200 clang-format --dry-run -Werror)
}

judge_tidy() {
    python3 "$root/tests/tidy.py"
}

# Versions of clang-format break lines differently: the tree is formatted by that of Debian 12.
stage_format() {
    local version
    version=$(clang-format --version | grep -oE 'version [0-9]+')
    if [ "$version" != "version 14" ]; then
        stage_note="not judged: this is clang-format ${version#version }, the tree is formatted by 14"
        return 0
    fi
    collect format judge_format >"$RMDS_TMP/format" 2>&1 && {
        passed=$((passed + 1))
        return 0
    }
    grep -F 'error:' "$RMDS_TMP/format" | cut -d: -f1 | sort -u | head -n 20 |
        sed 's/^/      not formatted: /'
    return 1
}

# The files of the product that the last commit or the working tree changed; all of them with --long.
changed_sources() {
    if [ -n "$long" ] || ! git -C "$root" rev-parse -q --verify HEAD~1 >/dev/null 2>&1; then
        sources
    else
        git -C "$root" diff --name-only --diff-filter=d HEAD~1
        git -C "$root" ls-files -o --exclude-standard
    fi | grep -E '^(src|srcdist|p2ps|rrcpd|tools)/.*\.c$' | sort -u
}

# gcc compiled everything above; the fuzz build knows how clang is called for the same files, so it is configured, and
# compiled with --long alone. Of the files of the product clang-tidy says what clang says, too.
judge_by_clang() {
    local log=$root/build-fuzz/log/build.log
    mkdir -p "${log%/*}"
    configure fuzz tests "$log" || {
        tail -n 30 "$log"
        return 1
    }
    product_sources >"$RMDS_TMP/product"
    python3 "$root/tests/clang_judges.py" "$root/build-fuzz" warnings "$RMDS_TMP/product"
}

stage_clang() {
    collect clang judge_by_clang && passed=$((passed + 1))
}

# Every file by every check but the static analyzer, which takes nine tenths of the time: that one
# judges what the last commit changed.
product_sources() {
    (cd "$root" && sources | grep -E '^(src|srcdist|p2ps|rrcpd|tools)/.*\.c$')
}

# clang must understand the options: the database of the fuzz build, which clang made.
judge_by_clang_tidy() {
    product_sources >"$RMDS_TMP/product"
    changed_sources >"$RMDS_TMP/changed"
    python3 "$root/tests/clang_judges.py" "$root/build-fuzz" tidy "$RMDS_TMP/product" "$RMDS_TMP/changed"
}

stage_clang_tidy() {
    stage_note="$(product_sources | wc -l) files, $(cd "$root" && changed_sources | wc -l) of them by the analyzer"
    collect clang-tidy judge_by_clang_tidy >"$RMDS_TMP/tidy" && {
        passed=$((passed + 1))
        return 0
    }
    grep -E 'error|warning' "$RMDS_TMP/tidy" | head -n 40
    return 1
}

stage_tidy() {
    if ! command -v pyflakes3 >/dev/null; then
        skipped=$((skipped + 1))
        skips+=("lint of Python (tidy): no pyflakes3")
    fi
    collect tidy judge_tidy && passed=$((passed + 1))
}

# The python3 of a version manager may be a script that looks for the real one each time, and that one may load
# packages of its own before it begins: both take longer than many tests. They get the system's, which setup has
# installed what they need for.
python_itself() {
    local found
    found=$(command -v python3) && [ "$(head -c 2 "$found" | tr -d '\0')" = '#!' ] || return 0
    while IFS= read -r found; do
        [ "$(head -c 2 "$found" | tr -d '\0')" != '#!' ] || continue
        "$found" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || continue
        PATH=$(dirname "$found"):$PATH
        return
    done < <(type -ap python3)
}

verb_test() {
    local pattern='' long='' argument start=$SECONDS
    for argument in "$@"; do
        case $argument in
        --long) long=1 ;;
        *) pattern=$argument ;;
        esac
    done
    local long_label='long|asan-long|' ctest_labels=(-LE '^(long|release-long)$') fuzz_seconds=${RMDS_FUZZ_SECONDS:-60}
    [ -n "$long" ] && long_label='' ctest_labels=()
    install_hook "$root"
    setup_for run unit clang test || return 1
    python_itself
    if [ -n "$pattern" ]; then
        [ -n "$long" ] || ctest_labels=(-LE '^long$')
        ctest_labels+=(-R "$pattern")
        stage "release" stage_release
    else
        stage "release" stage_release
        stage "asan+ubsan" stage_asan
        stage "tsan" stage_tsan
        [ -z "$long" ] || stage "fuzz" stage_fuzz
        stage "format" stage_format
        stage "clang" stage_clang
        stage "clang-tidy" stage_clang_tidy
        stage "tidy" stage_tidy
    fi
    [ -n "$pattern" ] || say .. "minutes of tests" "$(python3 "$root/tests/junit.py" --times \
        "$root"/build{,-asan,-tsan}/log/ctest.xml)"
    # A skip is for what could not be had; it is never proof.
    local line needless=0
    for line in ${skips[@]+"${skips[@]}"}; do
        [[ $line == *" cannot be had from "* ]] || needless=$((needless + 1))
    done
    if [ $needless -gt 0 ] && [ -z "$pattern$long" ] &&
        [ -z "$(missing_of unit clang test)" ]; then
        failed=$((failed + 1))
        failures+=("$needless skipped although all they need is installed")
    fi
    for line in ${skips[@]+"${skips[@]}"}; do say -- skipped "$line"; done
    for line in ${unsteady[@]+"${unsteady[@]}"}; do say -- unsteady "$line"; done
    for line in ${failures[@]+"${failures[@]}"}; do say no failed "$line"; done
    echo "total time $((SECONDS - start)) s"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ $failed = 0 ]
}
