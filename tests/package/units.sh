#!/bin/sh
# units.sh BUILD - the service manager understands our units, and they start what was installed beside them.
# SPDX-License-Identifier: Apache-2.0
set -e
command -v systemd-analyze >/dev/null || { echo "no systemd-analyze on this machine"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$1" --component units --prefix "$work/usr" >"$work/log" || { cat "$work/log"; exit 1; }
for unit in "$work"/usr/lib/systemd/system/*; do
    case $unit in
    *@.service)
        grep -q "^ExecStart=$work/usr/bin/$(basename "$unit" @.service) " "$unit" ||
            { echo "$unit does not start the program of its prefix"; exit 1; } ;;
    esac
    case $unit in
    *@.service) # wait for what comes late, for ever; a mistake in rmds.cnf (code 1) wants somebody to mend it
        for line in Restart=always RestartSec=1 StartLimitIntervalSec=0 RestartPreventExitStatus=1 PartOf=openrmds.target; do
            grep -qx "$line" "$unit" || { echo "$unit lacks $line"; exit 1; }
        done ;;
    esac
    # Programs and manual pages need not be installed where the tests run.
    sed -e 's#^ExecStart=[^ ]*#ExecStart=/bin/true#' -e '/^Documentation=/d' "$unit" \
        >"$work/$(basename "$unit")"
done
systemd-analyze verify --man=no "$work"/*@.service "$work"/openrmds.target 2>&1 | grep "$work" && exit 1
echo "units are understood"
