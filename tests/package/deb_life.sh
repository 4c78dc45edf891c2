#!/usr/bin/env bash
# deb_life.sh SOURCE [FOLDER] - the Debian packages are what lintian wants, and live through upgrade, use, removal and purge.
# SPDX-License-Identifier: Apache-2.0
#
# In a fresh Debian of this release (debootstrap), in namespaces for mounts and processes: nothing of this host is
# touched. Some minutes. FOLDER: packages that are built already.
set -u
source=$1
skip() { echo "$*"; exit 77; }
for tool in dpkg-buildpackage dh lintian debootstrap; do
    command -v $tool >/dev/null || skip "no $tool on this machine"
done
[ "$(id -u)" = 0 ] || skip "debootstrap wants root"
unshare -m -p -f true || skip "no namespaces here"
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
fail() {
    echo "FAILED: $*"
    tail -n 30 "$work/log" 2>/dev/null
    exit 1
}
step() { echo "== $*"; }

# inside COMMAND...: in the fresh Debian; nobody there to answer a question of dpkg.
inside() {
    unshare -m -p -f --kill-child sh -c 'mount -t proc proc "$0/proc" && mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm" &&
        exec chroot "$0" "$@"' "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C \
        "$@" >"$work/log" 2>&1 </dev/null
}
apt() { inside apt-get -q -y --no-install-recommends "$@"; }
cnf=$root/etc/rmds/rmds.cnf

step "build"
if [ -n "${2:-}" ]; then
    mkdir "$work/debs" && cp "$2"/*"$(dpkg-parsechangelog -l "$source/packaging/debian/changelog" -S Version)"* "$2"/*.orig.tar.gz \
        "$work/debs/" || fail "$2 has no packages of this version"
else
    "$source/tools/rmds" package deb --out "$work/debs" >"$work/log" 2>&1 || fail "the packages cannot be built"
fi
step "lintian"
lintian --fail-on error,warning "$work"/debs/*.changes >"$work/log" 2>&1 || fail "lintian finds something"
grep -q . "$work/log" && cat "$work/log"
rm -f "$work"/debs/*-dbgsym_*

step "a fresh Debian"
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
timeout 900 debootstrap --variant=minbase "$codename" "$root" >"$work/log" 2>&1 || skip "debootstrap cannot make $codename here"
mkdir -p "$root/debs" "$root/dev/shm"
cp "$work"/debs/*.deb "$root/debs/"
apt update || fail "apt-get update"

# The single package of before: everything below /usr, and a script that copied the example to /etc.
step "the single package of before"
for deb in "$work"/debs/*.deb; do dpkg-deb -x "$deb" "$work/old"; done
rm -rf "$work/old/etc"
mkdir "$work/old/DEBIAN"
cat >"$work/old/DEBIAN/control" <<END
Package: openrmds
Version: 0.1.0
Architecture: all
Maintainer: nobody <nobody@example.com>
Description: as it was
END
printf '%s\n' '#!/bin/sh' 'set -e' '[ -e /etc/rmds/rmds.cnf ] || { mkdir -p /etc/rmds; cp /usr/share/openrmds/rmds.cnf /etc/rmds; }' \
    >"$work/old/DEBIAN/postinst"
chmod 0755 "$work/old/DEBIAN/postinst"
dpkg-deb --root-owner-group -b "$work/old" "$root/debs/old.deb" >"$work/log" 2>&1 || fail "dpkg-deb"

seven=$(cd "$root/debs" && ls -- *_*.deb | sed 's#^#/debs/#')
for case in untouched edited; do
    step "upgrade from it, rmds.cnf $case"
    inside dpkg -i /debs/old.deb || fail "the old package cannot be installed"
    cmp -s "$cnf" "$root/usr/share/openrmds/rmds.cnf" || fail "the old package makes no rmds.cnf"
    keep=()
    if [ $case = edited ]; then
        echo '*p2ps*rsslPort : 15000' >>"$cnf"
        keep=(-o Dpkg::Options::=--force-confold) # as an administrator answers: keep mine
    fi
    # shellcheck disable=SC2086
    apt "${keep[@]}" install $seven || fail "the seven cannot take the place of the one"
    if [ $case = edited ]; then
        grep -q '^\*p2ps\*rsslPort : 15000' "$cnf" || fail "the upgrade lost what was edited"
    else
        cmp -s "$cnf" "$source/packaging/rmds.cnf" || fail "an rmds.cnf that nobody edited is not the new one"
    fi
    inside dpkg --verify openrmds openrmds-tools openrmds-verbs librmds0 librmds-dev python3-openrmds openrmds-doc || fail "dpkg --verify"
    for user in rmds rmds-rrcpd rmds-src-dist rmds-p2ps rmds-rmdsrec; do
        inside getent passwd $user || fail "there is no user $user"
        inside sh -c "id -nG $user | tr ' ' '\n' | grep -qx rmds" || fail "$user is not in the group rmds"
    done
    if [ $case = untouched ]; then
        apt purge openrmds openrmds-tools openrmds-verbs librmds0 librmds-dev python3-openrmds openrmds-doc || fail "purge"
        [ ! -e "$cnf" ] || fail "a purge leaves rmds.cnf"
    fi
done

# upgrade_to VERSION LINE: the same packages with another version, and another line in the first configuration.
upgrade_to() {
    local deb name
    for deb in "$work"/debs/*.deb; do
        name=$(basename "$deb")
        rm -rf "$work/next"
        dpkg-deb -R "$deb" "$work/next"
        sed -i "s/0\.1\.0-0openrmds1/$1/" "$work/next/DEBIAN/control"
        [ ! -f "$work/next/etc/rmds/rmds.cnf" ] || echo "! $2" >>"$work/next/etc/rmds/rmds.cnf"
        dpkg-deb --root-owner-group -b "$work/next" "$root/debs/$name" >/dev/null
    done
}
step "upgrade to the next version"
upgrade_to 0.1.0-0openrmds2 "a line of the next version"
# shellcheck disable=SC2086
apt -o Dpkg::Options::=--force-confold install $seven || fail "upgrade to the next version"
grep -q '^\*p2ps\*rsslPort : 15000' "$cnf" || fail "the upgrade lost what was edited"
grep -q 'next version' "$cnf" && fail "the upgrade wrote into what was edited"
cp "$source/packaging/rmds.cnf" "$cnf" && echo '! a line of the next version' >>"$cnf"
upgrade_to 0.1.0-0openrmds3 "a line of the version after"
# shellcheck disable=SC2086
apt install $seven || fail "upgrade to the version after"
grep -q 'version after' "$cnf" || fail "a configuration that nobody edited does not follow the package"

step "use"
inside rmdscnf check /etc/rmds/rmds.cnf || fail "rmdscnf check"
inside p2ps -checkconfig || fail "p2ps -checkconfig"
for unit in rrcpd src_dist p2ps rmdsrec; do
    program=$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$root/usr/lib/systemd/system/$unit@.service")
    [ -x "$root$program" ] || fail "$unit@.service starts $program, which is not there"
done
# The whole chain, from packages alone: no source, no compiler.
[ ! -e "$root/usr/bin/cc" ] || fail "this Debian has a compiler: it proves nothing"
inside rmds demo || fail "rmds demo"
grep -q 'undetected losses: 0' "$work/log" || fail "the demo does not say what it says"

# Its module is there for the system's Python, compiled ahead, and finds its library.
# shellcheck disable=SC2016
inside /usr/bin/python3 -c '
import glob, importlib.metadata, openrmds
assert glob.glob(openrmds.__path__[0] + "/__pycache__/*.pyc"), "it is not compiled"
assert importlib.metadata.version("openrmds") in glob.glob("/usr/share/openrmds/python/*.whl")[0]
with openrmds.Backbone(run_dir="/nowhere") as backbone:
    backbone.batch(0)
    assert "/nowhere" in backbone.why(), backbone.why()' || fail "import openrmds"

step "removal and purge"
echo "1 $(printf '%064d' 0)" >"$root/etc/rmds/keys"
mkdir -p "$root/var/log/rmds"
# shellcheck disable=SC2046
apt remove openrmds openrmds-tools openrmds-verbs librmds0 librmds-dev python3-openrmds openrmds-doc || fail "remove"
[ -e "$cnf" ] || fail "a removal took the configuration away"
left=$(cd "$root" && find usr -ipath '*rmds*' ! -path 'usr/share/doc/*')
[ -z "$left" ] || fail "a removal leaves $left"
inside dpkg -P openrmds openrmds-tools openrmds-verbs librmds0 librmds-dev python3-openrmds openrmds-doc || fail "purge"
[ ! -e "$cnf" ] && [ ! -e "$root/var/log/rmds" ] || fail "a purge leaves the configuration or the logs"
[ -e "$root/etc/rmds/keys" ] || fail "a purge took a key away that is no file of the package"
echo "upgrade, use, removal and purge: as they should be"
