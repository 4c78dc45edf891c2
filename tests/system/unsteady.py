#!/usr/bin/env python3
"""unsteady.py SOURCE - which failed tests tools/rmds test runs once more, and how it counts them:
a project of shell commands in place of ours."""
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import tempfile

SOURCE = os.path.realpath(sys.argv[1])
FIRST = "test -e {0}.seen && exit 0; touch {0}.seen; echo {1}; exit 1"
# Name, label, command, and how it is counted.
TESTS = [
    ("passes", "system", "true", "passed"),
    ("first_time_bad", "system", FIRST.format("a", "too late"), "unsteady"),
    ("interop_first_time_bad", "interop", FIRST.format("b", "too late"), "unsteady"),
    ("always_bad", "system", "exit 1", "failed"),
    ("unit_first_time_bad", "unit", FIRST.format("c", "wrong"), "failed"),
    ("address", "system", FIRST.format("d", "==1==ERROR: AddressSanitizer: heap-use"), "failed"),
    ("undefined", "system", FIRST.format("e", "a.c:1:2: runtime error: shift"), "failed"),
    ("promise", "system", FIRST.format("f", "x.c:7: f: broken promise: a == b"), "failed"),
]
RUN = """
root={source} RMDS_TMP={folder}
. {source}/tools/rmds-lib.sh
. {source}/tools/rmds-test.sh
preset_folder() {{ echo {folder}/build; }}
run_ctest release >{folder}/said
echo status $?
echo counts $passed $failed
for line in "${{unsteady[@]}}"; do echo "unsteady $line"; done
for line in "${{failures[@]}}"; do echo "failed $line"; done
"""


def run(tests):
    """The lines that RUN prints, and what was kept of first outputs."""
    with tempfile.TemporaryDirectory() as folder:
        lines = ["cmake_minimum_required(VERSION 3.25)", "project(tiny NONE)", "enable_testing()"]
        for name, label, command, _ in tests:
            lines.append(f"add_test(NAME {name} COMMAND sh -c [[{command}]])\n"
                         f"set_tests_properties({name} PROPERTIES LABELS {label})")
        with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")
        build = os.path.join(folder, "build")
        os.makedirs(os.path.join(build, "log"))
        subprocess.run(["cmake", "-G", "Ninja", "-S", folder, "-B", build], check=True,
                       capture_output=True)
        said = subprocess.run(["bash", "-c", RUN.format(source=SOURCE, folder=folder)], check=True,
                              capture_output=True, text=True, timeout=300).stdout.splitlines()
        log = os.path.join(build, "log", "unsteady.log")
        if not os.path.exists(log):
            return said, ""
        with open(log, encoding="utf-8") as file:
            return said, file.read()


def kinds(said):
    return {line.split()[1]: line.split()[0] for line in said
            if line.startswith(("unsteady ", "failed "))}


def main():
    said, log = run(TESTS)
    assert "status 1" in said, said
    wanted = {name: kind for name, _, _, kind in TESTS if kind != "passed"}
    assert kinds(said) == wanted, f"{kinds(said)}, wanted {wanted}"
    passed = sum(kind != "failed" for _, _, _, kind in TESTS)
    assert f"counts {passed} {len(TESTS) - passed}" in said, said
    assert "first_time_bad failed:" in log and "too late" in log, log

    said, _ = run([TESTS[0], TESTS[1]])
    assert "status 0" in said and "counts 2 0" in said, said
    assert "too late; passed alone" in said[-1], said

    said, log = run([(f"bad{n}", "system", FIRST.format(n, "late"), "") for n in range(6)])
    assert "counts 0 6" in said and not log, "six failed tests are no matter of the machine"

    # What a daemon leaves in the log of a sanitizer is a finding; that it was killed while
    # leaks were looked for is none.
    killed, leak = "==7==Unable to get registers from thread 8.", "==7==ERROR: LeakSanitizer"
    said, _ = run([("killed", "system", f"echo {killed} >log/sanitizer.p2ps.7", "")])
    assert "status 0" in said and "counts 1 0" in said, said
    said, _ = run([("leaks", "system", f"(echo {killed}; echo {leak}) >log/sanitizer.p2ps.7", "")])
    assert "status 1" in said and "counts 1 1" in said and leak in said[-1], said
    print("all good")


main()
