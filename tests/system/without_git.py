#!/usr/bin/env python3
"""without_git.py SOURCE - the demo and the benchmarks begin on a machine that has no git, or no
clone."""
# SPDX-License-Identifier: Apache-2.0
import importlib.util
import os
import shutil
import sys
import tempfile

SOURCE = os.path.realpath(sys.argv[1])
sys.path.insert(0, os.path.join(SOURCE, "tools"))
sys.path.insert(0, os.path.join(SOURCE, "tools/report"))
import host  # noqa: E402


def main():
    spec = importlib.util.spec_from_file_location("demo",
                                                  os.path.join(SOURCE, "tools/rmds-demo.py"))
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(shutil.which("sh"), os.path.join(folder, "sh"))
        os.environ["PATH"] = folder
        demo.head()
        commit = host.machine()["commit"]
    if commit != "?":
        print(f"host.machine() has commit {commit} without git")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
