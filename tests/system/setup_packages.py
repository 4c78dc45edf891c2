#!/usr/bin/env python3
"""setup_packages.py SOURCE - which packages setup asks for on releases that name them differently;
apt is played here."""
# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.realpath(sys.argv[1])
RUN = "gcc libc6-dev cmake ninja-build python3 iproute2 procps util-linux libevent-dev libnuma-dev libxxhash-dev " \
      "libssl-dev libcrypt-dev zlib1g-dev liblz4-dev libzstd-dev libipsec-mb-dev scdoc".split()
TEST = "git ccache g++ clang-format clang-tidy openssl file libx11-dev ca-certificates libibverbs-dev librdmacm-dev " \
       "maven systemd tshark zsh pyflakes3 qemu-system-x86 busybox-static kmod ibverbs-providers".split()
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
# What a release has: the words that differ.
DEBIAN_12 = [*RUN, *TEST, "pkg-config", "libncurses-dev", "libcmocka-dev", "clang",
             "libclang-rt-14-dev",
             "default-jdk-headless", "chromium", "prometheus"]
OTHER = [*RUN, *TEST, "pkgconf", "libncursesw5-dev", "libcmocka-dev", "clang",
         "libclang-common-18-dev", "default-jdk"]
ARM = [name for name in DEBIAN_12 if name != "libipsec-mb-dev"]
BAD = []


def check(condition, what):
    if not condition:
        BAD.append(what)


def program(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)


def setup(has, tiers, broken=(), clang=14):
    """A machine without packages of a release that has these: exit code, what it says, what is
    installed in the end."""
    with tempfile.TemporaryDirectory() as folder:
        there = os.path.join(folder, "there")
        for path, names in ((there, []), (os.path.join(folder, "has"), has),
                            (os.path.join(folder, "broken"), broken)):
            with open(path, "w", encoding="ascii") as file:
                file.writelines(name + "\n" for name in names)
        program(folder, "dpkg-query",
                f'case "$*" in *Depends*) exit 1 ;; esac\nsed "s/^/installed /" {there}\n')
        program(folder, "apt-cache", f"""
[ "$1" = policy ] || {{ echo "  Depends: clang-{clang}"; exit 0; }}
echo "$2:"; grep -qxF -e "$2" {folder}/has && echo "  Candidate: 1.0" || echo "  Candidate: (none)"\n""")
        program(folder, "apt-get", f"""
for word; do last=$last\\ $word; done
[ "$2" = update ] && exit 0
[ "$2" = download ] && exec touch prometheus_1.0_all.deb
while [ "$1" != install ]; do shift; done; shift
for name; do grep -qxF -e "$name" {folder}/broken && {{ echo "$name breaks"; exit 100; }}; done
for name; do echo "$name" >>{there}; done\n""")
        program(folder, "dpkg-deb", """
cd "$(mktemp -d -p ..)" && mkdir -p usr/bin && echo '#!/bin/sh' >usr/bin/promtool && chmod +x usr/bin/promtool && tar -c ./usr\n""")
        program(folder, "sudo", 'exec "$@"\n')
        script = (f'set -uo pipefail; RMDS_TMP={folder}; . "{SOURCE}/tools/rmds-lib.sh"; '
                  f'. "{SOURCE}/tools/rmds-setup.sh"; setup_for {tiers} && setup_for {tiers}')
        env = {**os.environ, "PATH": f"{folder}:{PATH}", "RMDS_LOCAL_BIN": os.path.join(folder, "local")}
        env.pop("RMDS_SETUP_DONE", None)
        done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True,
                              check=False)
        with open(there, encoding="ascii") as file:
            found = file.read().split()
        check("prometheus" not in found, "prometheus is installed, which starts a server")
        if os.path.exists(os.path.join(folder, "local", "promtool")) or shutil.which("promtool", path=PATH):
            found.append("prometheus")  # of it promtool alone
        return done.returncode, done.stdout + done.stderr, found


def main():
    code, said, there = setup(DEBIAN_12, "run")
    check(code == 0 and set(there) - {"prometheus"} == {*RUN, "pkg-config", "libncurses-dev"},
          f"run, Debian 12: {code} {there}\n{said}")
    check(said.count("apt-get install") == 1, f"it installs twice:\n{said}")
    code, said, there = setup(ARM, "run")
    check(code == 0 and "libipsec-mb-dev" not in there and "not to be had here: libipsec-mb-dev" in said,
          f"run, no x86-64: {code} {there}\n{said}")
    code, said, there = setup(OTHER, "run")
    check(code == 0 and {"pkgconf", "libncursesw5-dev"} <= set(there),
          f"run, other names: {code} {there}\n{said}")
    code, said, there = setup(DEBIAN_12, "run unit clang test")
    check(code == 0 and sorted(there) == sorted(DEBIAN_12),
          f"test, Debian 12: {code} {there}\n{said}")
    code, said, there = setup(OTHER, "run unit clang test", clang=18)
    check(code == 0 and sorted(there) == sorted(OTHER) and "not to be had here: chromium" in said,
          f"test, other names: {code} {there}\n{said}")
    code, said, there = setup(DEBIAN_12, "run unit clang test", broken=["chromium", "scdoc"])
    check(code == 0 and sorted(there) == sorted(set(DEBIAN_12) - {"chromium", "scdoc"}),
          f"optional ones break: {code} {there}\n{said}")
    code, said, there = setup(DEBIAN_12, "run", broken=["libssl-dev"])
    check(code == 1 and "not installed: libssl-dev; by hand: sudo apt-get" in said
          and "libssl-dev breaks" in said,
          f"a needed one breaks: {code} {there}\n{said}")
    code, said, there = setup([name for name in DEBIAN_12 if name != "cmake"], "run")
    check(code == 1 and "not installed: cmake" in said,
          f"a needed one is not there: {code} {there}\n{said}")
    print("\n".join(BAD) or "ok")
    return 1 if BAD else 0


if __name__ == "__main__":
    sys.exit(main())
