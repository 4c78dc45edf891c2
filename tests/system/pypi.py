"""pypi.py - environments of Python with a package that Debian does not have."""
# SPDX-License-Identifier: Apache-2.0
import ensurepip
import fcntl
import glob
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


def wheel_of_pip():
    """The pip that venv would unpack into each environment, which takes 5 s; it runs as it is, too."""
    places = (os.path.join(os.path.dirname(ensurepip.__file__), "_bundled"),
              "/usr/share/python-wheels")
    found = [path for place in places for path in glob.glob(os.path.join(place, "pip-*.whl"))]
    return found[0] if found else None


def try_to_have(folder, package, module):
    python = os.path.join(folder, "bin", "python3")
    if os.path.exists(python) and imports(python, module):
        return python
    wheel = wheel_of_pip()
    without = ["--without-pip"] if wheel else []
    environment = dict(os.environ, PYTHONPATH=wheel) if wheel else None
    for words in ([sys.executable, "-m", "venv", *without, folder],
                  [python, "-m", "pip", "install", "-q", "--no-compile", package]):
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300,
                                  env=environment)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(error)
            return None
        if done.returncode != 0:
            print(done.stdout, done.stderr)
            return None
    imports(python, module)
    return python


def imports(python, module):
    """Whether it is there. What the module loads is compiled here, once; most of a package never is."""
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False,
                          env=environment).returncode == 0
