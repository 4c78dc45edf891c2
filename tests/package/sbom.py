#!/usr/bin/env python3
"""sbom.py SOURCE BUILD - the bill of materials names each library of each program, is the same twice, and is what SPDX 2.3 wants."""
# SPDX-License-Identifier: Apache-2.0
import hashlib
import json
import os
import re
import subprocess
import sys

SOURCE, BUILD = sys.argv[1:3]
PROGRAMS = [os.path.join(BUILD, "bin", name) for name in ("rrcpd", "src_dist", "p2ps", "rmdsmon", "rwfdump")]


def make():
    return subprocess.run([os.path.join(SOURCE, "packaging/sbom.py"), "1.2.3", *PROGRAMS], check=True, capture_output=True,
                          text=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}).stdout


def main():
    text = make()
    assert text == make(), "two runs differ"
    found = json.loads(text)
    assert found["spdxVersion"] == "SPDX-2.3" and found["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
    ids = [thing["SPDXID"] for thing in found["packages"] + found["files"]] + ["SPDXRef-DOCUMENT"]
    assert len(ids) == len(set(ids)) and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name) for name in ids), ids
    for relation in found["relationships"]:
        assert relation["spdxElementId"] in ids and relation["relatedSpdxElement"] in ids, relation
    for package in found["packages"]:
        assert {"name", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText"} <= set(package), package
    for program, entry in zip(sorted(PROGRAMS, key=os.path.basename), found["files"]):
        with open(program, "rb") as file:
            assert entry["checksums"][0]["checksumValue"] == hashlib.sha256(file.read()).hexdigest(), entry
    names = {package["name"] for package in found["packages"]}
    if os.path.exists("/var/lib/dpkg/status"):
        assert {"openrmds", "libc6", "libnuma1", "zlib1g"} <= names and any(name.startswith("libssl3") for name in names), names
        assert all(package.get("externalRefs") for package in found["packages"][1:]), "a library of no package"
    print(f"{len(found['packages'])} packages, {len(found['files'])} programs")


if __name__ == "__main__":
    main()
