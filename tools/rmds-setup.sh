# rmds-setup.sh - `tools/rmds setup`: the packages of the distribution; sourced by tools/rmds.
# help: setup [--test]          install what building and running need, and the commit-msg hook
# usage: tools/rmds setup [--test]
#
# By apt-get, through sudo when not root; what is there already is left alone. Every other verb does this
# for itself, only as far as it needs.
#
#   --test        also what only the tests need: clang, Java, a browser, tshark, promtool
# SPDX-License-Identifier: Apache-2.0
#
# Names differ between releases: of "a|b" the first that the release has is taken, @ is the version of its
# clang, and what ends in "?" may be missing.

packages_of() { # TIER...
    local tier
    for tier in "$@"; do
        case $tier in
        run) # compile the programs and run them: build, up, demo
            echo gcc libc6-dev cmake ninja-build "pkg-config|pkgconf" python3 iproute2 procps util-linux \
                libevent-dev libnuma-dev libxxhash-dev libssl-dev libcrypt-dev zlib1g-dev liblz4-dev libzstd-dev \
                "libncurses-dev|libncursesw5-dev" "libipsec-mb-dev?" "scdoc?" # the former for x86-64 only
            ;;
        deb) echo dpkg-dev debhelper dh-python lintian scdoc ;; # tools/rmds package deb
        rpm) echo rpm scdoc ;;
        unit) echo libcmocka-dev ;; # compile the tests and benchmarks
        clang) echo clang "libclang-rt-@-dev|libclang-common-@-dev" ;;
        test) # what single tests need: without it they are skipped
            echo "git? ccache? g++? clang-format? clang-tidy? openssl? file? libx11-dev? ca-certificates?" \
                "libibverbs-dev? librdmacm-dev? default-jdk-headless|default-jdk? maven? systemd? tshark?" \
                "qemu-system-x86? busybox-static? kmod? ibverbs-providers?" \
                "chromium? zsh? pyflakes3? prometheus?" # chromium-browser of Ubuntu is a snap: it does not see the files of a test
            ;;
        esac
    done | tr ' ' '\n' | sed "s/@/$(clang_version)/g"
}

# clang_version: 14 where the package clang of this release is clang 14; "none" where nobody knows yet.
clang_version() {
    local found
    found=$({
        dpkg-query -W -f='${Depends}\n' clang
        apt-cache depends clang
    } 2>/dev/null | grep -oE 'clang-[0-9]+' | head -n 1)
    echo "${found:+${found#clang-}}" | grep . || echo none
}

# missing_of TIER...: the words of which no alternative is installed.
missing_of() {
    local installed word name
    installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p')
    packages_of "$@" | while read -r word; do
        for name in $(tr '|?' '  ' <<<"$word"); do
            grep -qxF -e "$name" <<<"$installed" && continue 2
            [ "$name" != prometheus ] || ! has_promtool || continue 2
        done
        echo "$word"
    done
}

# available_of WORD: the first alternative that this release has.
available_of() {
    local name
    for name in $(tr '|?' '  ' <<<"$1"); do
        [ -n "$(LC_ALL=C apt-cache policy "$name" 2>/dev/null | grep -E '^ +Candidate: [^(]')" ] && echo "$name" && return
    done
    return 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "not root, and there is no sudo"
        return 1
    fi
}

# The package prometheus starts a server, now and at each boot. The tests want promtool alone: it is taken out of it.
local_bin=${RMDS_LOCAL_BIN:-/usr/local/bin}
has_promtool() { [ -x "$local_bin/promtool" ] || command -v promtool >/dev/null; }
take_promtool() {
    local folder=$RMDS_TMP/promtool
    has_promtool && return
    mkdir -p "$folder" && cd "$folder" && apt-get -q download prometheus &&
        dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool &&
        as_root install -D -m 755 usr/bin/promtool "$local_bin/promtool"
}

install_packages() {
    local names=() name status=0
    for name; do
        [ "$name" = prometheus ] || names+=("$name")
    done
    [ ${#names[@]} = 0 ] || as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "${names[@]}" \
        >>"$RMDS_TMP/apt.log" 2>&1 || status=1
    [ ${#names[@]} = $# ] || (take_promtool) >>"$RMDS_TMP/apt.log" 2>&1 || status=1
    return $status
}

# setup_packages SUBJECT TIER...: install what is missing. False if something is needed and cannot be had.
setup_packages() {
    local subject=$1 start=$SECONDS word name missing names=() without=() failed=()
    shift
    missing=$(missing_of "$@")
    [ -n "$missing" ] || return 0
    if [ -z "${RMDS_APT_UPDATED:-}" ]; then
        as_root apt-get -q update >>"$RMDS_TMP/apt.log" 2>&1
        RMDS_APT_UPDATED=1
        missing=$(missing_of "$@") # now the version of clang is known
    fi
    for word in $missing; do
        if name=$(available_of "$word"); then
            names+=("$name")
        elif [[ $word == *\? ]]; then
            without+=("${word%\?}")
        else
            failed+=("$word")
        fi
    done
    if [ ${#names[@]} -gt 0 ]; then
        say .. "$subject" "apt-get install ${names[*]/#prometheus/promtool (no more) of prometheus}"
        # One package that cannot be installed must not keep the others away.
        install_packages "${names[@]}" || for name in "${names[@]}"; do install_packages "$name"; done
    fi
    for word in $(missing_of "$@"); do
        if [[ $word == *\? ]]; then
            [[ " ${without[*]} " == *" ${word%\?} "* ]] || without+=("${word%\?}")
        else
            [[ " ${failed[*]} " == *" $word "* ]] || failed+=("$word")
        fi
    done
    [ ${#without[@]} = 0 ] || say -- "$subject" "not to be had here: ${without[*]}; what needs them is skipped"
    if [ ${#failed[@]} -gt 0 ]; then
        [ ! -f "$RMDS_TMP/apt.log" ] || tail -n 15 "$RMDS_TMP/apt.log"
        say no "$subject" "not installed: ${failed[*]}; by hand: sudo apt-get update, sudo apt-get install ${failed[*]}"
        return 1
    fi
    [ ${#names[@]} = 0 ] || say ok "$subject" "installed, $((SECONDS - start)) s"
}

# setup_for TIER...: once for each tier, however many verbs call each other.
setup_for() {
    local tier subject
    for tier in "$@"; do
        [[ " ${RMDS_SETUP_DONE:-} " == *" $tier "* ]] && continue
        if ! command -v dpkg-query apt-get apt-cache >/dev/null; then
            [ "$tier" != run ] || say -- packages "this is no Debian: install the equivalents of" $(packages_of run)
        else
            case $tier in run) subject=packages ;; *) subject="$tier packages" ;; esac
            setup_packages "$subject" "$tier" || return 1
        fi
        export RMDS_SETUP_DONE="${RMDS_SETUP_DONE:-} $tier"
    done
}

verb_setup() {
    local tiers=(run) missing
    [ "${1:-}" != --test ] || tiers+=(unit clang test)
    install_hook "$root"
    missing=$(missing_of "${tiers[@]}" 2>/dev/null)
    setup_for "${tiers[@]}" || return 1
    [ -n "$missing" ] || say ok packages "all present"
}
