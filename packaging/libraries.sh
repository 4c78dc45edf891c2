#!/bin/sh
# libraries.sh PROGRAM... - the files of all shared libraries that they load, the loader among them, one a line.
# SPDX-License-Identifier: Apache-2.0
set -e
for program in "$@"; do
    ldd "$program" || exit 1
done | awk '/=> \// { print $3 } /^[[:space:]]*\// { print $1 } /not found/ { print "libraries.sh: " $0 >"/dev/stderr"; bad = 1 }
    END { exit bad }' >"${TMPDIR:-/tmp}/libraries.$$" || { rm -f "${TMPDIR:-/tmp}/libraries.$$"; exit 1; }
sort -u "${TMPDIR:-/tmp}/libraries.$$"
rm -f "${TMPDIR:-/tmp}/libraries.$$"
