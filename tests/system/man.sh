#!/bin/sh
# man.sh SOURCE BUILD - every program has a manual page, and the page every option of its -help.
# SPDX-License-Identifier: Apache-2.0
cd "$1/docs/man" || exit 1
bin=$2/bin bad=0
for program in rrcpd src_dist p2ps sink_driven_src rmdstestclient rmdsmon rmdscnf rmdsaccess rmdsctl rmdsfault rmdsrec rwfdump rrcpperf; do
    [ -x "$bin/$program" ] || continue
    page=$(ls "$program".[0-9].scd 2>/dev/null) || { echo "$program has no manual page"; bad=1; continue; }
    cat "$page" daemon-options.inc | tr -d '\\' >"${TMPDIR:-/tmp}/man.$$"
    for option in $("$bin/$program" --help | sed -nE 's/^  (-[^ ,]+)(, (--[^ ]+))?.*/\1 \3/p; s/^ {6}(--[^ ]+).*/\1/p'); do
        grep -qF -- "*$option*" "${TMPDIR:-/tmp}/man.$$" ||
            { echo "$page does not tell of $option"; bad=1; }
    done
    rm -f "${TMPDIR:-/tmp}/man.$$"
done
exit $bad
