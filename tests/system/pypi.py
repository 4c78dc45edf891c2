"""pypi.py - environments of Python with a package that Debian does not have."""
# SPDX-License-Identifier: Apache-2.0
import fcntl
import os
import subprocess
import sys

TRIES = 3


def python_with(folder, package, module):
    """The Python of an environment in the folder that has the module; None: it cannot be had.

    The package comes from PyPI the first time. Several tests may ask at the same moment: one works,
    the others wait.
    """
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for _ in range(TRIES):
            python = try_to_have(folder, package, module)
            if python:
                return python
    return None


def try_to_have(folder, package, module):
    python = os.path.join(folder, "bin", "python3")
    has_it = [python, "-c", f"import {module}"]
    if os.path.exists(python):
        if subprocess.run(has_it, capture_output=True, check=False).returncode == 0:
            return python
    for words in ([sys.executable, "-m", "venv", folder],
                  [python, "-m", "pip", "install", "-q", package]):
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(error)
            return None
        if done.returncode != 0:
            print(done.stdout, done.stderr)
            return None
    return python
