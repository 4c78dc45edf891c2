#!/usr/bin/env python3
"""sbom.py VERSION PROGRAM... - what these programs are made of, as SPDX 2.3 in JSON: each program with its hash, each library that
it loads with the package it came from. The same bytes for the same programs and packages; the time is SOURCE_DATE_EPOCH."""
# SPDX-License-Identifier: Apache-2.0
import functools
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def spdx_id(*words):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(words))


def distribution():
    with open("/etc/os-release", encoding="utf-8") as file:
        found = dict(line.strip().split("=", 1) for line in file if "=" in line)
    return found.get("ID", "linux").strip('"')


@functools.lru_cache(None)
def owner(library):
    """(package, version, source package) of dpkg or rpm, or None: it was built by hand."""
    # A package may name a file in /lib which is in /usr/lib now, or the other way round.
    real = os.path.realpath(library)
    for path in dict.fromkeys((library, real, real.removeprefix("/usr"), "/usr" + library)):
        try:
            name = run("dpkg-query", "-S", path).split(":")[0]
            version, source = run("dpkg-query", "-W", "-f", "${Version} ${source:Package}\n", name).splitlines()[0].split(" ")
            return name, version, source
        except (OSError, subprocess.CalledProcessError):
            pass
    try:
        name, version, source = run("rpm", "-qf", "--qf", "%{NAME} %{VERSION}-%{RELEASE} %{SOURCERPM}\n",
                                    library).splitlines()[0].split(" ")
        return name, version, source
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None


def package_of(library):
    """A package of SPDX, and its key among the others."""
    found = owner(library)
    name, version, source = found or (os.path.basename(library), "NOASSERTION", "")
    package = {"SPDXID": spdx_id("Package", name), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
               "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
               "copyrightText": "NOASSERTION", "supplier": "NOASSERTION"}
    if found:
        kind = "deb" if os.path.exists("/var/lib/dpkg/status") else "rpm"
        purl = f"pkg:{kind}/{distribution()}/{name}@{version}?arch={platform.machine()}"
        package["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]
        package["sourceInfo"] = f"built from the source package {source}"
    return package


def document(version, programs):
    ours = {"SPDXID": "SPDXRef-Package-openrmds", "name": "openrmds", "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
            "copyrightText": "NOASSERTION", "supplier": "NOASSERTION"}
    files, packages, relations = [], {}, set()
    for program in sorted(programs, key=os.path.basename):
        name = os.path.basename(program)
        files.append({"SPDXID": spdx_id("File", name), "fileName": f"./bin/{name}",
                      "checksums": [{"algorithm": "SHA256", "checksumValue": sha256(program)}],
                      "licenseConcluded": "Apache-2.0", "licenseInfoInFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION"})
        relations.add((ours["SPDXID"], "CONTAINS", spdx_id("File", name)))
        for library in run("sh", os.path.join(HERE, "libraries.sh"), program).split():
            package = package_of(library)
            packages[package["SPDXID"]] = package
            relations.add((spdx_id("File", name), "DYNAMIC_LINK", package["SPDXID"]))
    relations.add(("SPDXRef-DOCUMENT", "DESCRIBES", ours["SPDXID"]))
    body = {"packages": [ours, *(packages[key] for key in sorted(packages))], "files": files,
            "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
                              for a, kind, b in sorted(relations)]}
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "0"))))
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"openrmds-{version}",
            "documentNamespace": f"https://openrmds.invalid/spdx/openrmds-{version}-{digest[:32]}",
            "creationInfo": {"created": created, "creators": ["Tool: openrmds-sbom"]}, **body}


if __name__ == "__main__":
    json.dump(document(sys.argv[1], sys.argv[2:]), sys.stdout, indent=1, sort_keys=True)
    print()
