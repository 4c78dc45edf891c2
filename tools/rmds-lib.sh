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

# rmds_is_installed: True where this is a package's front door; its programs are there, and nothing can be built.
rmds_is_installed() {
    [ ! -f "$RMDS_ROOT/CMakeLists.txt" ]
}

rmds_build() {
    "$RMDS_ROOT/tools/rmds" build
}

# install_hook TREE: git calls TREE's tools/hooks/commit-msg from now on. A hook of the user's own stays,
# and so does a core.hooksPath; a tree without git has none. The hook serves all work trees of the clone.
install_hook() {
    local hook mark='# installed by tools/rmds setup'
    [ -e "$1/.git" ] && command -v git >/dev/null || return 0
    [ -z "$(git -C "$1" config core.hooksPath)" ] || return 0
    hook=$(git -C "$1" rev-parse --path-format=absolute --git-path hooks/commit-msg 2>/dev/null) || return 0
    [ -e "$hook" ] && ! grep -qF "$mark" "$hook" && return 0
    mkdir -p "$(dirname "$hook")" && cat >"$hook.new" <<END || return 0
#!/bin/sh
$mark
check=\$(git rev-parse --show-toplevel)/tools/hooks/commit-msg
[ ! -x "\$check" ] || exec "\$check" "\$@"
END
    chmod +x "$hook.new" && mv "$hook.new" "$hook"
}
