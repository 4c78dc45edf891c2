# rmds-build.sh - `tools/rmds build`; sourced by tools/rmds.
# help: build [PRESET]          build PRESET (release: programs in build/bin/)
# usage: tools/rmds build [PRESET]
# SPDX-License-Identifier: Apache-2.0

preset_folder() {
    [ "$1" = release ] && echo "$root/build" || echo "$root/build-$1"
}

# configure_build PRESET [TARGET...]: quiet when all is well; the compiler's words when not.
configure_build() {
    local preset=$1 folder log
    shift
    folder=$(preset_folder "$preset")
    log=$folder/log/build.log
    mkdir -p "$folder/log"
    if command -v ccache >/dev/null; then
        export CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
    fi
    if [ ! -f "$folder/build.ninja" ] || [ "$root/CMakePresets.json" -nt "$folder/build.ninja" ]; then
        (cd "$root" && cmake --preset "$preset") >"$log" 2>&1 || {
            tail -n 30 "$log"
            return 1
        }
    fi
    cmake --build "$folder" ${1:+--target "$@"} >"$log" 2>&1 || {
        grep -E -A12 'error|FAILED|Error' "$log" | head -n 60
        return 1
    }
}

verb_build() {
    local preset=${1:-release} start=$SECONDS names
    names=$(presets | awk '{ print $1 }')
    if ! grep -qxF -e "$preset" <<<"$names"; then
        # shellcheck disable=SC2086
        echo "rmds build: there is no preset \"$preset\"$(near "$preset" $names) tools/rmds build --help lists all" >&2
        return 2
    fi
    verb_setup_once || return 1
    say .. build "$preset"
    if configure_build "$preset"; then
        say ok build "$preset, $((SECONDS - start)) s, programs in $(preset_folder "$preset")/bin"
    else
        say no build "$preset; all of it: $(preset_folder "$preset")/log/build.log"
        return 1
    fi
}

# presets: "  NAME   what it is" for each of CMakePresets.json.
presets() {
    sed -nE '/"configurePresets"/,/^  \]/{
        s/.*"name": "([^"]*)".*/\1/p
        s/.*"displayName": "([^"]*)".*/\1/p
    }' "$root/CMakePresets.json" | paste -d '\t' - - | awk -F '\t' '{ printf "  %-12s %s\n", $1, $2 }'
}
