# rmds-lib.sh - what the scripts of the front door share; to be sourced.
# SPDX-License-Identifier: Apache-2.0
#
# RMDS_ROOT is the tree, RMDS_BUILD its release build. A script in tools/rmds.d/ starts with
#     . "$(dirname "$(readlink -f "$0")")/../rmds-lib.sh"
# and may call rmds_build to have packages and the release build in place.

RMDS_ROOT=${RMDS_ROOT:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
RMDS_BUILD=${RMDS_BUILD:-$RMDS_ROOT/build}

if [ -t 1 ] && [ "${TERM:-dumb}" != dumb ] && [ -z "${NO_COLOR:-}" ]; then
    rmds_green=$'\e[32m' rmds_red=$'\e[31m' rmds_plain=$'\e[0m'
else
    rmds_green='' rmds_red='' rmds_plain=''
fi

# say ok|no|..|-- SUBJECT TEXT...: one line of progress. "--" is a skip.
say() {
    local mark=$1 subject=$2 colour=''
    shift 2
    case $mark in
    ok) colour=$rmds_green ;;
    no) colour=$rmds_red ;;
    esac
    printf '%s[%s]%s  %-20s %s\n' "$colour" "$mark" "$rmds_plain" "$subject" "$*"
}

rmds_build() {
    "$RMDS_ROOT/tools/rmds" build
}
