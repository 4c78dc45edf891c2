#!/usr/bin/env bash
# tar_elsewhere.sh SOURCE [FILE [BASE]] - programs and libraries in one file run on another release of Debian, where none of the libraries
# is installed: the chain, names of hosts, TLS. FILE: what was packed already. BASE: a root of debootstrap that is
# there already.
# SPDX-License-Identifier: Apache-2.0
set -u
source=$1
skip() { echo "$*"; exit 77; }
command -v debootstrap >/dev/null || skip "no debootstrap on this machine"
[ "$(id -u)" = 0 ] || skip "debootstrap wants root"
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
fail() {
    echo "FAILED: $*"
    tail -n 30 "$work/log"
    exit 1
}
file=${2:-}
if [ -z "$file" ]; then
    "$source/tools/rmds" package tar --out "$work" >"$work/log" 2>&1 || fail "it cannot be made"
    file=$(ls "$work"/openrmds-*.tar.gz)
fi
# Another release than this one, and not an older one.
other=trixie
[ "$(. /etc/os-release && echo "$VERSION_CODENAME")" != trixie ] || skip "this is $other: no newer release is known here"
if [ -n "${3:-}" ]; then
    cp -a "$3" "$root"
else
    timeout 900 debootstrap --variant=minbase --include=python3,iproute2,procps,openssl "$other" "$root" >"$work/log" 2>&1 ||
        skip "debootstrap cannot make $other here"
fi
mkdir -p "$root/opt" "$root/source" "$root/dev/shm"
tar -xzf "$file" -C "$root/opt" || fail "$file"
home=/opt/$(ls "$root/opt")
inside() {
    unshare -m -n -p -f --kill-child sh -c 'mount -t proc proc "$0/proc" && mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm" &&
        mount --bind -o ro "$SOURCE" "$0/source" && ip link set lo up && exec chroot "$0" "$@"' "$root" env -i \
        PATH="$home/bin:/usr/sbin:/usr/bin:/sbin:/bin" LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 RMDS_BIN="$home/bin" "$@" \
        >"$work/log" 2>&1 </dev/null
}
export SOURCE=$source
# shellcheck disable=SC2016
inside sh -c 'for program in "$0"/bin/*; do [ -L "$program" ] || ldd "$program" || exit 1; done' "$home" || fail "ldd"
grep -F 'not found' "$work/log" && fail "a library is missing"
grep '=>' "$work/log" | grep -vF "=> $home/" | grep -vE '^\s*(libc|libm|libresolv|libpthread|librt|libdl)\.so' &&
    fail "a library is taken from the system"
inside rmds demo || fail "rmds demo"
grep -q 'undetected losses: 0' "$work/log" || fail "the demo does not say what it says"
# docs/tls.md to the letter: certificates, keys, names.
inside python3 /source/tests/system/tls_chain.py || fail "TLS"
echo "the chain, names and TLS on $other"
