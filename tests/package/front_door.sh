#!/usr/bin/env bash
# front_door.sh SOURCE RELEASE [BASE] - on a fresh RELEASE of Debian or Ubuntu a copy of the source and one command are
# enough: tools/rmds demo installs what it needs by the names of that release, builds, shows prices; the second time it
# builds nothing. BASE: a root of debootstrap that is there already.
# SPDX-License-Identifier: Apache-2.0
set -u
source=$1 release=$2
skip() { echo "$*"; exit 77; }
command -v debootstrap >/dev/null || skip "no debootstrap on this machine"
[ "$(id -u)" = 0 ] || skip "debootstrap wants root"
git -C "$source" rev-parse --verify -q HEAD >/dev/null || skip "$source is no clone"
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root log=$work/log
fail() {
    echo "FAILED on $release: $*"
    tail -n 40 "$log"
    exit 1
}

if [ -n "${3:-}" ]; then
    cp -a "$3" "$root"
else
    # A key ring that this release of the host does not have is no subject of this test.
    words=(--variant=minbase)
    case $release in
    noble) words+=(--no-check-gpg --components=main,universe "$release" "$root" http://archive.ubuntu.com/ubuntu gutsy) ;; # a name that debootstrap of Debian 12 lacks
    *) words+=("$release" "$root") ;;
    esac
    timeout 1200 debootstrap "${words[@]}" >"$log" 2>&1 || skip "debootstrap cannot make $release here"
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
mkdir -p "$root/home/me/openrmds" "$root/dev/shm"
git -C "$source" ls-files -z | tar -C "$source" --null -T - -cf - | tar -C "$root/home/me/openrmds" -xf - || fail "no copy"

# The demo makes a network of its own; the packages come through that of the host.
inside() {
    unshare -m -p -f --kill-child sh -c 'mount -t proc proc "$0/proc" && mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm" &&
        exec chroot "$0" "$@"' "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 ${http_proxy:+http_proxy="$http_proxy"} \
        sh -c 'cd /home/me/openrmds && "$@"' sh "$@" >"$log" 2>&1 </dev/null
}
inside apt-get -q update || skip "no packages of $release here"
for time in first second; do
    start=$SECONDS
    inside tools/rmds demo || fail "the demo, the $time time"
    sed -nE 's/^\[ok\]  (packages|build) /\0/p' "$log"
    for words in 'undetected losses: 0$' 'everything stopped +nothing left behind$' '^ +DEMO1\.O +[0-9.]+ +[0-9.]+ '; do
        grep -qE "$words" "$log" || fail "the $time demo shows no '$words'"
    done
    echo "$release: tools/rmds demo, the $time time: $((SECONDS - start)) s"
done
grep -q 'apt-get install' "$log" && fail "the second demo installs again"
exit 0
