#!/bin/sh
# units.sh BUILD - the service manager understands our units.
# SPDX-License-Identifier: Apache-2.0
set -e
command -v systemd-analyze >/dev/null || { echo "no systemd-analyze on this machine"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for unit in "$1"/cmake/package/systemd/*@.service "$1"/cmake/package/systemd/openrmds.target; do
    # Programs and manual pages need not be installed where the tests run.
    sed -e 's#^ExecStart=[^ ]*#ExecStart=/bin/true#' -e '/^Documentation=/d' "$unit" \
        >"$work/$(basename "$unit")"
done
systemd-analyze verify --man=no "$work"/*@.service "$work"/openrmds.target 2>&1 | grep "$work" && exit 1
echo "units are understood"
