#!/usr/bin/env python3
"""with_lseg_data.py BUILD - the real lseg-data against the whole chain.

The package comes from PyPI into BUILD/lseg-data the first time; where it cannot be had, the test
is skipped.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import tempfile
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "system"))
import chain_faults  # noqa: E402
import conf_examples  # noqa: E402
import pypi  # noqa: E402
import serve  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
VERSION = "2.1.1"
INSIDE = "RMDS_LSEG_PYTHON"


def python_with_it(build):
    """The Python of an environment that has lseg-data; None: it cannot be had."""
    return pypi.python_with(os.path.join(build, "lseg-data"), f"lseg-data=={VERSION}", "lseg.data")


def run_client(system, run, python, items, folder):
    client = subprocess.Popen([python, os.path.join(HERE, "lseg_user.py"), str(serve.PORT), folder,
                               *items], stdin=subprocess.DEVNULL)
    end = time.monotonic() + 200
    try:
        while client.poll() is None and time.monotonic() < end:
            if os.path.exists(os.path.join(folder, "kill")):
                os.remove(os.path.join(folder, "kill"))
                chain_faults.kill_entry(run, system, "p2ps.1")
            time.sleep(0.1)
        assert client.poll() == 0, f"lseg-data: exit status {client.poll()}"
    finally:
        client.kill()
        client.wait()


def main():
    python = os.environ.get(INSIDE)
    if python is None:
        python = python_with_it(sys.argv[1])
        if not python:
            print(f"lseg-data {VERSION} cannot be had from PyPI")
            sys.exit(77)
        os.environ[INSIDE] = python
    conf_examples.enter_namespace()
    with tempfile.TemporaryDirectory() as folder:
        with serve.chain(folder) as (run, system, items):
            run_client(system, run, python, items[:3], folder)


if __name__ == "__main__":
    main()
