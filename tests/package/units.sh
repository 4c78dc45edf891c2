#!/bin/sh
# units.sh BUILD - the service manager understands our units, and they start what was installed beside them.
# SPDX-License-Identifier: Apache-2.0
set -e
command -v systemd-analyze >/dev/null || { echo "no systemd-analyze on this machine"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$1" --component units --prefix "$work/usr" >"$work/log" || { cat "$work/log"; exit 1; }
for unit in "$work"/usr/lib/systemd/system/*; do
    [ -f "$unit" ] || continue
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
    case $unit in
    *@.service) # a user for each daemon, in the group of the attach socket; a folder that is its own
        daemon=$(basename "$unit" @.service)
        user=rmds-$(echo "$daemon" | tr _ -)
        for line in "User=$user" "Group=$user" SupplementaryGroups=rmds RuntimeDirectoryMode=0750 LimitMEMLOCK=infinity NoNewPrivileges=yes; do
            grep -qx "$line" "$unit" || { echo "$unit lacks $line"; exit 1; }
        done
        grep -q "^RuntimeDirectory=rmds/$daemon\.%i" "$unit" || { echo "$unit has no folder of its own"; exit 1; }
        grep -q "^u $user " "$work/usr/lib/sysusers.d/openrmds.conf" && grep -q "^m $user *rmds$" "$work/usr/lib/sysusers.d/openrmds.conf" ||
            { echo "nobody makes $user"; exit 1; }
        [ "$daemon" = rrcpd ] || ! grep -q CAP_NET_ADMIN "$unit" || { echo "$unit has CAP_NET_ADMIN"; exit 1; } ;;
    esac
    # Programs and manual pages need not be installed where the tests run.
    sed -e 's#^ExecStart=[^ ]*#ExecStart=/bin/true#' -e '/^Documentation=/d' "$unit" \
        >"$work/$(basename "$unit")"
done
systemd-analyze verify --man=no "$work"/*@.service "$work"/openrmds.target 2>&1 | grep "$work" && exit 1
echo "units are understood"
