#!/usr/bin/env bash
# old_build.sh COMMIT FOLDER - p2ps, src_dist, rrcpd and rmdscnf of an older commit, in FOLDER, for RMDS_OLD_BIN of
# rolling_versions.py. They are built in a worktree of git that is gone afterwards.
# SPDX-License-Identifier: Apache-2.0
set -eu -o pipefail

[ $# = 2 ] || {
    sed -n 's/^# //p' "$0" | head -n 2 >&2
    exit 2
}
root=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
commit=$(git -C "$root" rev-parse --verify --quiet "$1^{commit}") || {
    echo "old_build.sh: there is no commit $1" >&2
    exit 1
}
mkdir -p "$2"
folder=$(cd "$2" && pwd)
tree=$(mktemp -d)
trap 'git -C "$root" worktree remove --force "$tree" 2>/dev/null; rm -rf "$tree"' EXIT
git -C "$root" worktree add --quiet --detach "$tree" "$commit"
(cd "$tree" && tools/rmds build)
for program in p2ps src_dist rrcpd rmdscnf; do
    install -m 755 "$tree/build/bin/$program" "$folder/"
done
"$folder/p2ps" -version | head -n 1
