#!/bin/sh
# bench_help.sh ROOT - every benchmark says what it can do, and builds nothing for that.
# SPDX-License-Identifier: Apache-2.0
bad=0
for script in "$1"/tools/rmds.d/bench/*; do
    name=$(basename "$script")
    text=$(PYTHONDONTWRITEBYTECODE=1 "$1/tools/rmds" bench "$name" --help 2>&1)
    code=$?
    if [ $code != 0 ] || ! echo "$text" | head -n 1 |
        grep -qE "^usage: (tools/rmds bench )?$name "; then
        bad=1
        echo "bench $name --help: exit code $code; it said:"
        echo "$text" | tail -n 5
    fi
done
exit $bad
