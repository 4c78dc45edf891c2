#!/usr/bin/env python3
"""ahead.py SOURCE - builds and judges that tools/rmds test does beside the tests: what they print
and how they end reaches their stage, and a run that is interrupted leaves none of them behind."""
# SPDX-License-Identifier: Apache-2.0
import fcntl
import os
import signal
import subprocess
import sys
import tempfile

SOURCE = os.path.realpath(sys.argv[1])
START = """
root={source} RMDS_TMP={folder} pattern='' long=1
. {source}/tools/rmds-lib.sh
. {source}/tools/rmds-test.sh
configure_build() {{ {build}; }}
judge_by_clang() {{ echo a warning; return 3; }}
judge_by_clang_tidy() {{ ps -o ni= -p $BASHPID; }}
start_ahead
"""
COLLECT = """
for name in asan tsan fuzz clang clang-tidy; do
    collect $name echo $name was not done ahead
    echo $name ends with $?
done
"""
# The fifo says that the build runs, and holds its lock.
HANGS = "exec 3<>{folder}/held; flock 3; echo >{folder}/runs; sleep 600"


def script(folder, build, rest):
    return START.format(source=SOURCE, folder=folder, build=build.format(folder=folder)) + rest


def check_results():
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run(["bash", "-c", script(folder, "echo built $1", COLLECT)], check=True,
                              capture_output=True, text=True, timeout=120).stdout.split("\n")
    wanted = ["built asan", "asan ends with 0", "built tsan", "tsan ends with 0", "built fuzz",
              "fuzz ends with 0", "a warning", "clang ends with 3", " 19", "clang-tidy ends with 0"]
    assert [line.strip() for line in said if line] == [line.strip() for line in wanted], said


def check_interrupted():
    """A signal ends the run and its builds: the lock that a build holds is free again."""
    folder = tempfile.mkdtemp()
    runs = os.path.join(folder, "runs")
    os.mkfifo(runs)
    with open(os.path.join(folder, "held"), "w", encoding="ascii") as held:
        shell = subprocess.Popen(["bash", "-c", script(folder, HANGS, "cat")],
                                 stdin=subprocess.PIPE, start_new_session=True)
        with open(runs, encoding="ascii") as file:
            file.read()
        os.killpg(shell.pid, signal.SIGTERM)
        shell.communicate(timeout=60)
        signal.alarm(60)
        fcntl.flock(held, fcntl.LOCK_EX)
        signal.alarm(0)
    assert not os.path.exists(folder), "its temporary files are left"


def main():
    check_results()
    check_interrupted()
    print("what was done ahead reached its stage, an interrupted run left nothing")


if __name__ == "__main__":
    main()
