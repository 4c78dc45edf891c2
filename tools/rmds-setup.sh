# rmds-setup.sh - `tools/rmds setup`: the packages of the distribution; sourced by tools/rmds.
# help: setup [--test]          install what is missing (apt-get, through sudo when not root), and the commit-msg hook
# usage: tools/rmds setup [--test]
#
#   --test        also what only the tests need: public Java libraries, a browser, tshark
# SPDX-License-Identifier: Apache-2.0

core_packages=(
    build-essential cmake ninja-build pkg-config git ca-certificates
    libevent-dev libnuma-dev libcmocka-dev libxxhash-dev libexpat1-dev
    libssl-dev zlib1g-dev liblz4-dev libncurses-dev libibverbs-dev librdmacm-dev
    clang clang-format clang-tidy libclang-rt-14-dev libx11-dev ccache
    scdoc python3 iproute2 procps util-linux openssl file
)
test_packages=(default-jdk-headless maven chromium systemd tshark)

missing_packages() {
    dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
        sed -n 's/^installed //p' | sort >"$RMDS_TMP/installed"
    printf '%s\n' "$@" | sort | comm -23 - "$RMDS_TMP/installed"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "not root, and there is no sudo" >&2
        return 1
    fi
}

install_packages() {
    local log=$RMDS_TMP/apt.log
    {
        [ -n "${RMDS_APT_UPDATED:-}" ] || as_root apt-get -q update
    } >>"$log" 2>&1
    RMDS_APT_UPDATED=1
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
        install "$@" >>"$log" 2>&1
}

verb_setup() {
    local want_test='' missing
    [ "${1:-}" = --test ] && want_test=1
    if ! command -v dpkg-query >/dev/null; then
        say no packages "this is not Debian; install the equivalents of: ${core_packages[*]}"
        return 1
    fi
    missing=$(missing_packages "${core_packages[@]}")
    if [ -z "$missing" ]; then
        say ok packages "all present"
    else
        say .. packages "apt-get install" $missing
        # shellcheck disable=SC2086
        if ! install_packages $missing; then
            tail -n 15 "$RMDS_TMP/apt.log"
            say no packages "could not be installed; by hand: sudo apt-get install $(echo $missing)"
            return 1
        fi
        say ok packages "installed"
    fi
    [ -n "$want_test" ] || return 0
    missing=$(missing_packages "${test_packages[@]}")
    [ -z "$missing" ] && return 0
    # Only tests against foreign programs need these: without them those tests are skipped.
    say .. "test packages" "apt-get install" $missing
    # shellcheck disable=SC2086
    if install_packages $missing; then
        say ok "test packages" "installed"
    else
        say no "test packages" "could not be installed; the tests that need $(echo $missing) are skipped"
    fi
    return 0
}

verb_setup_once() {
    [ -n "${RMDS_SETUP_DONE:-}" ] && return 0
    verb_setup "$@" && export RMDS_SETUP_DONE=1
}
