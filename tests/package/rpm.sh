#!/usr/bin/env bash
# rpm.sh SOURCE [FOLDER] - the spec builds seven RPM packages, and each has what it should. FOLDER: packages built already.
# SPDX-License-Identifier: Apache-2.0
set -u
source=$1
command -v rpmbuild >/dev/null || { echo "no rpmbuild on this machine"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*"
    exit 1
}
rpms=${2:-$work/rpms}
[ -n "${2:-}" ] || "$source/tools/rmds" package rpm --out "$rpms" >"$work/log" 2>&1 || { cat "$work/log"; fail "they cannot be built"; }
for name in openrmds openrmds-tools openrmds-verbs librmds0 librmds-devel python3-openrmds openrmds-doc; do
    file=$(ls "$rpms/$name"-[0-9]*.rpm | grep -v '\.src\.rpm$')
    [ -f "$file" ] || fail "there is no package $name"
    rpm -K --nosignature "$file" >/dev/null || fail "$file is damaged"
    rpm -qpl "$file" >"$work/$name"
    [ -s "$work/$name" ] || fail "$name is empty"
done
grep -qx /usr/bin/p2ps "$work/openrmds" || fail "openrmds has no p2ps"
grep -qx /usr/bin/rmds "$work/openrmds-tools" || fail "openrmds-tools has no rmds"
for path in '/usr/lib/python3[^/]*/site-packages/openrmds/__init__.py' '/usr/share/openrmds/python/openrmds-.*\.whl'; do
    grep -qx "$path" "$work/python3-openrmds" || fail "python3-openrmds has no $path"
done
[ "$(rpm -qp --configfiles "$rpms"/openrmds-[0-9]*.x86_64.rpm "$rpms"/openrmds-[0-9]*.aarch64.rpm 2>/dev/null)" = /etc/rmds/rmds.cnf ] ||
    fail "rmds.cnf is no configuration file"
# The units start what their package brings, as a user whom openrmds makes, and a removal stops them.
rpm -qp --scripts "$(ls "$rpms"/openrmds-[0-9]*.rpm | grep -v '\.src\.rpm$')" >"$work/scripts"
for name in openrmds openrmds-tools; do
    file=$(ls "$rpms/$name"-[0-9]*.rpm | grep -v '\.src\.rpm$')
    mkdir "$work/only" && (cd "$work/only" && rpm2archive - <"$file" | tar -xz) || fail "$file cannot be unpacked"
    rpm -qp --scripts "$file" >"$work/own"
    for unit in "$work"/only/usr/lib/systemd/system/*@.service; do
        program=$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$unit")
        [ -x "$work/only$program" ] || fail "$unit starts $program, which is not there"
        user=$(sed -n 's/^User=rmds-//p' "$unit")
        grep -q "^for daemon in .*\<$user\>.*; do" "$work/scripts" || fail "nobody makes rmds-$user, the user of $unit"
        grep -q "systemctl stop .*'$(basename "$unit" .service)\*\.service'" "$work/own" || fail "a removal of $name does not stop $unit"
    done
    mkdir -p "$work/tree" && cp -r "$work/only/." "$work/tree" && rm -r "$work/only"
done
"$work/tree/usr/bin/rmdscnf" check "$work/tree/etc/rmds/rmds.cnf" || fail "the first configuration has errors"
echo "seven packages"
