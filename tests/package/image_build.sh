#!/usr/bin/env bash
# image_build.sh SOURCE [BASE] - the recipe of the image builds, from a debootstrap root in place of a registry's image, and what comes
# out runs the three hosts of compose.yaml. BASE: a debootstrap root that is there already.
# SPDX-License-Identifier: Apache-2.0
set -u
source=$1
skip() { echo "$*"; exit 77; }
for tool in buildah debootstrap; do command -v $tool >/dev/null || skip "no $tool on this machine"; done
[ "$(id -u)" = 0 ] || skip "debootstrap wants root"
work=$(mktemp -d)
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot CONTAINERS_STORAGE_CONF=$work/storage.conf
cat >"$work/storage.conf" <<END
[storage]
driver = "vfs"
graphroot = "$work/storage"
runroot = "$work/run"
END
trap 'buildah rm -a >/dev/null 2>&1; rm -rf --one-file-system "$work"' EXIT
fail() {
    echo "FAILED: $*"
    tail -n 30 "$work/log"
    exit 1
}
from=${2:-$work/base}
[ -n "${2:-}" ] || timeout 900 debootstrap --variant=minbase bookworm "$from" >"$work/log" 2>&1 || skip "debootstrap cannot make bookworm here"
base=$(buildah from scratch) && buildah add -q "$base" "$from" / >"$work/log" 2>&1 &&
    buildah commit -q "$base" localhost/base >"$work/log" 2>&1 || skip "buildah cannot make an image here: $(tail -n 1 "$work/log")"
RMDS_IMAGE_BASE=localhost/base "$source/tools/rmds" package image >"$work/log" 2>&1 || fail "the recipe does not build"
image=$(buildah from localhost/openrmds) || fail "there is no image openrmds"
buildah inspect --type image localhost/openrmds >"$work/log"
python3 - "$work/log" <<'END' || fail "the image's settings are not those of the recipe"
import json, sys
config = json.load(open(sys.argv[1]))["Docker"]["config"]
assert config["User"] == "10001:10001" and config["Cmd"] == ["/usr/bin/p2ps", "-fg"], config
assert config.get("Healthcheck", {}).get("Test") == ["CMD", "/usr/bin/rmdsmon", "-once"] or "Healthcheck" not in config, config
END
"$source/tests/package/image_chain.py" "$source" --image "$(buildah mount "$image")"
