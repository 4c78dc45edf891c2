#!/bin/sh
# run.sh - runs one interop program, building it first if need be.
# SPDX-License-Identifier: Apache-2.0
#
#   tests/interop/run.sh BUILD_DIR CLASS [ARGUMENT...]
#
# CLASS is without its package, e.g. Versions. JAVA_OPTS is passed on to java.
# Exit status: that of the program, or 77 when it cannot be built here.
set -u

[ $# -ge 2 ] || { echo "usage: run.sh BUILD_DIR CLASS [ARGUMENT...]" >&2; exit 2; }
build_dir=$1
class=$2
shift 2

"$(dirname "$0")/build.sh" "$build_dir" || exit $?
RMDS_SOURCE_DIR=$(cd "$(dirname "$0")/../.." && pwd) || exit 1 # where programs find conf/
export RMDS_SOURCE_DIR
# They run for seconds: the quick compiler and the plain collector take half the CPU of what a JVM chooses itself, and a
# heap that is large from the start need not be collected.
# shellcheck disable=SC2086 # JAVA_OPTS is a list of words
exec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms192m -Xmn128m -XX:-UsePerfData ${JAVA_OPTS:-} -cp "$build_dir/interop/classes:$build_dir/interop/lib/*" \
    "org.openrmds.interop.$class" "$@"
