#!/usr/bin/env python3
"""wheel.py FOLDER [VERSION] - writes openrmds-VERSION-py3-none-any.whl into FOLDER, and its path to
standard output. Needs nothing but Python; the same sources make the same bytes."""
# SPDX-License-Identifier: Apache-2.0
import base64
import hashlib
import os
import re
import sys
import zipfile

HERE = os.path.dirname(os.path.realpath(__file__))
TIME = (2020, 1, 1, 0, 0, 0)
METADATA = """\
Metadata-Version: 2.1
Name: openrmds
Version: {version}
Summary: Market data right on the backbone of openrmds, in batches
License: Apache-2.0
Requires-Python: >=3.9
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
"""
WHEEL = """\
Wheel-Version: 1.0
Generator: openrmds
Root-Is-Purelib: true
Tag: py3-none-any
"""


def version_of_source():
    """That of the project."""
    with open(os.path.join(HERE, "../../CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"project\(openrmds VERSION ([\d.]+)", file.read())[1]


def files_of(version):
    """{name in the wheel: bytes}"""
    info = f"openrmds-{version}.dist-info"
    with open(os.path.join(HERE, "openrmds/__init__.py"), "rb") as file:
        module = file.read()
    found = {"openrmds/__init__.py": module,
             f"{info}/METADATA": METADATA.format(version=version).encode(),
             f"{info}/WHEEL": WHEEL.encode()}
    rows = []
    for name, data in found.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(data)}\n")
    found[f"{info}/RECORD"] = "".join([*rows, f"{info}/RECORD,,\n"]).encode()
    return found


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        print(__doc__)
        sys.exit(2)
    version = sys.argv[2] if len(sys.argv) == 3 else version_of_source()
    path = os.path.join(sys.argv[1], f"openrmds-{version}-py3-none-any.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files_of(version).items():
            entry = zipfile.ZipInfo(name, TIME)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    print(path)


if __name__ == "__main__":
    main()
