#!/usr/bin/env bash
# rpm.sh SOURCE [FOLDER] - the spec builds six RPM packages, and each has what it should. FOLDER: packages built already.
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
for name in openrmds openrmds-tools openrmds-verbs librmds0 librmds-devel openrmds-doc; do
    file=$(ls "$rpms/$name"-[0-9]*.rpm | grep -v '\.src\.rpm$')
    [ -f "$file" ] || fail "there is no package $name"
    rpm -K --nosignature "$file" >/dev/null || fail "$file is damaged"
    rpm -qpl "$file" >"$work/$name"
    [ -s "$work/$name" ] || fail "$name is empty"
done
grep -qx /usr/bin/p2ps "$work/openrmds" || fail "openrmds has no p2ps"
grep -qx /usr/bin/rmds "$work/openrmds-tools" || fail "openrmds-tools has no rmds"
[ "$(rpm -qp --configfiles "$rpms"/openrmds-[0-9]*.x86_64.rpm "$rpms"/openrmds-[0-9]*.aarch64.rpm 2>/dev/null)" = /etc/rmds/rmds.cnf ] ||
    fail "rmds.cnf is no configuration file"
# The units start what the package brings.
mkdir "$work/tree" && (cd "$work/tree" && rpm2archive - <"$(ls "$rpms"/openrmds-[0-9]*.rpm | grep -v '\.src\.rpm$')" | tar -xz) ||
    fail "it cannot be unpacked"
for unit in "$work"/tree/usr/lib/systemd/system/*@.service; do
    program=$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$unit")
    [ -x "$work/tree$program" ] || fail "$unit starts $program, which is not there"
done
"$work/tree/usr/bin/rmdscnf" check "$work/tree/etc/rmds/rmds.cnf" || fail "the first configuration has errors"
echo "six packages"
