#!/bin/sh
# deb.sh SOURCE BUILD - the Debian package can be built and holds what it should.
# SPDX-License-Identifier: Apache-2.0
set -e
build=$2
command -v dpkg-deb >/dev/null || { echo "no dpkg-deb: not Debian"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$build" && cpack -G DEB -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip -B "$work") >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
deb=$(ls "$work"/*.deb)
dpkg-deb -c "$deb" | awk '{ print $6 }' >"$work/files"
for file in ./usr/bin/rmdscnf ./usr/lib/systemd/system/p2ps@.service ./usr/lib/sysusers.d/openrmds.conf; do
    grep -qx "$file" "$work/files" || { echo "$file is not in the package"; exit 1; }
done
for program in rrcpd src_dist p2ps; do
    [ ! -x "$build/bin/$program" ] || grep -qx "./usr/bin/$program" "$work/files" ||
        { echo "$program is not in the package"; exit 1; }
done
if grep -vE '^\./(usr(/|$)|$)' "$work/files"; then
    echo "files outside /usr"
    exit 1
fi
dpkg-deb -f "$deb" Package Version Depends
