#!/bin/sh
# rootfs.sh INSTALLED ROOT - all that the image holds: the programs installed under INSTALLED/usr, the libraries that they load,
# and the few files that they read. No shell, no package manager.
# SPDX-License-Identifier: Apache-2.0
set -e
here=$(dirname "$(readlink -f "$0")")
from=$1 root=$2
mkdir -p "$root/usr/bin" "$root/usr/share/openrmds" "$root/etc/rmds" "$root/run/rmds" "$root/var/log/rmds" "$root/tmp"
for program in rrcpd src_dist p2ps rmdsmon rmdsctl rmdscnf rmdsaccess sink_driven_src rmdstestclient rmdsfault rmdsrec rwfdump rrcpperf; do
    cp "$from/usr/bin/$program" "$root/usr/bin/"
done
[ -n "${RMDS_KEEP_SYMBOLS:-}" ] || strip "$root"/usr/bin/*
for file in RDMFieldDictionary enumtype.def sample.xml rmds.cnf; do
    cp "$from/usr/share/openrmds/$file" "$root/usr/share/openrmds/"
done
cp -R "$from/usr/share/openrmds/faults" "$root/usr/share/openrmds/"
cp "$here/rmds.cnf" "$root/etc/rmds/rmds.cnf"
# The loader finds them where it found them here.
for library in $(sh "$here/../libraries.sh" "$root"/usr/bin/*); do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
done
# What rmdsmon needs to know of a terminal.
for terminal in x/xterm x/xterm-256color s/screen s/screen-256color t/tmux-256color l/linux v/vt100; do
    for folder in /usr/share/terminfo /lib/terminfo; do
        [ ! -f "$folder/$terminal" ] || { mkdir -p "$root$folder/${terminal%/*}" && cp -L "$folder/$terminal" "$root$folder/$terminal"; }
    done
done
# Certificates of public authorities, for a provider behind TLS; a site mounts its own.
[ ! -f /etc/ssl/certs/ca-certificates.crt ] ||
    { mkdir -p "$root/etc/ssl/certs" && cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"; }
printf 'root:x:0:0:root:/:/\nrmds:x:10001:10001:openrmds daemons:/tmp:/\n' >"$root/etc/passwd"
printf 'root:x:0:\nrmds:x:10001:\n' >"$root/etc/group"
printf 'hosts: files dns\n' >"$root/etc/nsswitch.conf"
chmod 1777 "$root/tmp"
chown 10001:10001 "$root/run/rmds" "$root/var/log/rmds" 2>/dev/null || chmod 1777 "$root/run/rmds" "$root/var/log/rmds"
