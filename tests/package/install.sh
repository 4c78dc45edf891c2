#!/bin/sh
# install.sh SOURCE BUILD - install to an empty folder, then build and run a program against it.
# SPDX-License-Identifier: Apache-2.0
set -e
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/usr" >"$work/log" || { cat "$work/log"; exit 1; }
[ -x "$work/usr/bin/rmdscnf" ]
"$work/usr/bin/rmdscnf" -version
python3 "$source/tests/package/hardened.py" "$work/usr/bin" \
    "$(sed -n 's/^CMAKE_BUILD_TYPE:[A-Z]*=//p' "$build/CMakeCache.txt")"
[ -f "$work/usr/share/bash-completion/completions/p2ps" ]
[ -f "$work/usr/share/zsh/site-functions/_openrmds" ]
ls "$work/usr"/lib/*/pkgconfig/openrmds.pc "$work/usr"/lib/pkgconfig/openrmds.pc 2>/dev/null |
    grep -q . || { echo "this build has no public library"; exit 77; }
folder=$(dirname "$(ls "$work/usr"/lib/*/pkgconfig/openrmds.pc "$work/usr"/lib/pkgconfig/openrmds.pc 2>/dev/null | head -n 1)")
export PKG_CONFIG_PATH=$folder
mkdir "$work/outside"
cp "$source/tests/package/consumer.c" "$work/outside/"
cd "$work/outside"
# shellcheck disable=SC2046
${CC:-cc} -std=c11 -Wall -Wextra -Werror -o consumer consumer.c $(pkg-config --cflags --libs openrmds)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir openrmds) ./consumer
# The wheel beside it finds the library by its name.
LD_LIBRARY_PATH=$(pkg-config --variable=libdir openrmds) PYTHONPATH=$(ls "$work"/usr/share/openrmds/python/*.whl) python3 -c '
import openrmds
with openrmds.Backbone(run_dir="/nowhere") as backbone:
    backbone.batch(0)
    assert "no rrcpd answers at /nowhere/" in backbone.why(), backbone.why()'
# Only what the headers promise is visible.
foreign=$(nm -D --defined-only "$(pkg-config --variable=libdir openrmds)/librmds.so" |
    awk '{ print $3 }' | grep -vE '^(rmds_|rwf_|OPENRMDS_)' || true)
[ -z "$foreign" ] || { echo "librmds.so shows symbols of its inside: $foreign"; exit 1; }
# Each public header can be read alone, as C and as C++.
for header in "$work/usr"/include/rmds/*.h; do
    name=rmds/$(basename "$header")
    echo "#include <$name>" | ${CC:-cc} -std=c11 -Wall -Wextra -Werror -fsyntax-only \
        -I"$work/usr/include" -x c -
done
# docs/applications.md under another prefix, to the letter: its lines compile the example, and it finds its library.
cp "$source/docs/examples/consumer.c" .
sed -n "s|DIR|$work/usr|g; s/^    \(export PKG_CONFIG_PATH=.*\)/\1/p; s/^    \(cc consumer.c .*-rpath.*\)/\1/p" \
    "$source/docs/applications.md" >lines
[ "$(wc -l <lines)" -eq 2 ] || { echo "docs/applications.md has not the two lines"; exit 1; }
rm -f consumer
env -u PKG_CONFIG_PATH -u LD_LIBRARY_PATH sh -e ./lines
if env -u LD_LIBRARY_PATH ./consumer 2>usage || ! grep -q '^usage: consumer HOST PORT USER SERVICE ITEM$' usage; then
    cat usage
    exit 1
fi
