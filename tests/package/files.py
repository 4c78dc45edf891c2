#!/usr/bin/env python3
"""files.py SOURCE BUILD - each installed file is in exactly one package, and each line of a
package's list names one."""
# SPDX-License-Identifier: Apache-2.0
import fnmatch
import glob
import os
import re
import subprocess
import sys
import tempfile
import zipfile

SOURCE, BUILD = sys.argv[1:3]
DEBIAN = os.path.join(SOURCE, "packaging/debian")
# Debian has the licence, and packs the change log by itself.
NOT_PACKED = "usr/share/doc/openrmds/"
BAD = []


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def installed(folder):
    """What dh sees: the programs and libraries of this build below /usr, and the first
    configuration."""
    subprocess.run(["cmake", "--install", BUILD, "--prefix", os.path.join(folder, "usr")],
                   check=True,
                   stdout=subprocess.DEVNULL)
    # The rules of both packages unpack the wheel.
    for wheel in glob.glob(os.path.join(folder, "usr/share/openrmds/python/*.whl")):
        with zipfile.ZipFile(wheel) as file:
            file.extractall(os.path.join(folder, "usr/lib/python3/dist-packages"))
    found = {"etc/rmds/rmds.cnf"}
    for base, _, files in os.walk(folder):
        found |= {os.path.relpath(os.path.join(base, name), folder) for name in files}
    # With the prefix /usr alone CMake puts libraries into the folder of the architecture.
    return {re.sub(r"^usr/lib/(librmds|pkgconfig)", r"usr/lib/any/\1", path) for path in found}


def lists():
    """{package: [pattern]}"""
    return {os.path.basename(path)[:-len(".install")]: [line.split()[0]
                                                        for line in read(path).splitlines()]
            for path in glob.glob(os.path.join(DEBIAN, "*.install"))}


def is_named(path, pattern):
    """As dh_install takes it: the pattern is a file, or a folder above it; * does not cross
    folders."""
    names, wanted = path.split("/"), pattern.split("/")
    return len(names) >= len(wanted) and all(map(fnmatch.fnmatchcase, names, wanted))


def check_spec(owners):
    """The RPM packages are split as those for Debian; there librmds-dev is librmds-devel."""
    text = read(os.path.join(SOURCE, "packaging/openrmds.spec"))
    words = {"_bindir": "usr/bin", "_prefix": "usr", "_datadir": "usr/share",
             "_mandir": "usr/share/man", "_libdir": "usr/lib/any", "_includedir": "usr/include",
             "python3_sitelib": "usr/lib/python3/dist-packages",
             "_unitdir": "usr/lib/systemd/system", "_sysusersdir": "usr/lib/sysusers.d"}
    found = {path: [] for path in owners}
    for name, block in re.findall(r"^%files *(.*)\n((?:.+\n)+)", text, re.M):
        package = {"": "openrmds", "-n librmds-devel": "librmds-dev"}.get(
            name, name[3:] if name.startswith("-n ") else f"openrmds-{name}")
        for line in block.splitlines():
            if line.startswith(("%license", "%doc", "%dir")):
                continue
            pattern = re.sub(r"%{(\w+)}", lambda word: words[word[1]], line.split()[-1])
            pattern = pattern.lstrip("/")
            mine = [path for path in owners if is_named(path, pattern)]
            if not mine:
                BAD.append(f"openrmds.spec, {package}: nothing installed matches {line}")
            for path in mine:
                found[path].append(package)
    for path, packages in sorted(found.items()):
        if packages != owners[path] and not path.startswith(NOT_PACKED):
            BAD.append(f"{path} is in {packages} by openrmds.spec, in {owners[path]} by "
                       f"packaging/debian")


def main():
    with tempfile.TemporaryDirectory() as folder:
        found = installed(folder)
    if not any(path.startswith("usr/lib/any/librmds") for path in found):
        print("this build has no public library")
        return 77
    if "usr/lib/openrmds/librmds-verbs.so" not in found:
        print("this build has no transport over RDMA: no libibverbs or librdmacm")
        return 77
    if not any(path.startswith("usr/share/man") for path in found):
        print("this build has no manual pages: no scdoc")
        return 77
    owners = {path: [] for path in found}
    for package, patterns in lists().items():
        for pattern in patterns:
            mine = [path for path in found if is_named(path, pattern)]
            if not mine:
                BAD.append(f"{package}.install: nothing that is installed matches {pattern}")
            for path in mine:
                owners[path].append(package)
    for path, packages in sorted(owners.items()):
        if len(packages) != 1 and not path.startswith(NOT_PACKED):
            BAD.append(f"{path} is in {' and '.join(packages) or 'no package'}; name it in one "
                       f"packaging/debian/*.install")
    check_spec(owners)
    version = re.search(r"^project\(openrmds VERSION ([0-9.]+)",
                        read(os.path.join(SOURCE, "CMakeLists.txt")), re.M).group(1)
    if not read(os.path.join(DEBIAN, "changelog")).startswith(f"openrmds ({version}-"):
        BAD.append(f"packaging/debian/changelog does not begin with version {version}, that of "
                   f"CMakeLists.txt")
    first = subprocess.run([os.path.join(BUILD, "bin/rmdscnf"), "check",
                            os.path.join(SOURCE, "packaging/rmds.cnf")],
                           capture_output=True, text=True, check=False)
    # What is commented out must be right, too: it is what people take the '!' away from.
    text = re.sub(r"^!(?=\*)", "", read(os.path.join(SOURCE, "packaging/rmds.cnf")), flags=re.M)
    all_of_it = subprocess.run([os.path.join(BUILD, "bin/rmdscnf"), "-strict", "check",
                                "/dev/stdin"], input=text,
                               capture_output=True, text=True, check=False)
    for said in (first, all_of_it):
        if said.returncode or "0 errors, 0 warnings" not in said.stdout:
            BAD.append(f"packaging/rmds.cnf: {said.stdout}{said.stderr}")
    print("\n".join(BAD) or f"{len(found)} files, each in one package")
    return bool(BAD)


if __name__ == "__main__":
    sys.exit(main())
