#!/usr/bin/env python3
"""recording_arrow.py SOURCE BUILD - rmdsrec-arrow writes what `rmdsrec export` does, as
Parquet and as Arrow; without pyarrow it says so."""
# SPDX-License-Identifier: Apache-2.0
import csv
import os
import subprocess
import sys
import tempfile

import pypi

BIN = os.environ["RMDS_BIN"]
SOURCE = os.path.realpath(sys.argv[1])
ENVIRONMENT = os.path.join(sys.argv[2], "pyarrow")
PYARROW = "pyarrow==26.0.1"
INSIDE = "RMDS_PYARROW"
TABLE = """\
time,mono_ns,service,item,domain,kind,field,value
2026-11-27T21:30:00.000000Z,1000000000,RDFD,A.N,6,REFRESH,BID,100.25
2026-11-27T21:30:00.000000Z,1000000000,RDFD,A.N,6,REFRESH,DSPLY_NAME,"SAMPLE, one"
2026-11-27T21:30:01.500000Z,2500000000,RDFD,A.N,6,UPDATE,BID,-1.5
2026-11-27T21:30:01.500000Z,2500000000,RDFD,A.N,6,UPDATE,ASK,
"""
HEAD = "time,mono_ns,service,item,domain,kind,field,value"
ROW = "2026-11-27T21:30:00.000000Z,1000000000,RDFD,A.N,6,UPDATE,BID,1"
# By small blocks of the CSV, as a long day has many.
BY_BLOCKS = """\
import sys
sys.path.insert(0, sys.argv.pop(1))
import rmdsrec_arrow
rmdsrec_arrow.BLOCK_BYTES = 4096
rmdsrec_arrow.run()
"""


def run(*words, environment=None):
    return subprocess.run([sys.executable, os.path.join(BIN, "rmdsrec-arrow"), *words],
                          capture_output=True, text=True, check=False, timeout=120,
                          env=dict(os.environ, **environment or {}))


def rmdsrec(*words):
    done = subprocess.run([os.path.join(BIN, "rmdsrec"), *words], capture_output=True, text=True,
                          check=False, timeout=120)
    assert done.returncode == 0, done
    return done.stdout


def without_pyarrow(folder, path):
    with open(os.path.join(folder, "pyarrow.py"), "w", encoding="ascii") as out:
        out.write("raise ImportError\n")
    done = run(path, "-out", os.path.join(folder, "x.parquet"),
               environment={"PYTHONPATH": folder})
    assert done.returncode == 6 and "pyarrow is not installed" in done.stderr, done
    os.unlink(os.path.join(folder, "pyarrow.py"))


def command_lines(folder, path):
    for words, text in (([], "one recording"), ([path], "-out TABLE is missing"),
                        ([path, "-out", "x"], "-format is parquet or arrow"),
                        ([path, "-out"], "-out needs a word"), ([path, "-frob"], "no option")):
        done = run(*words)
        assert done.returncode == 1 and text in done.stderr, (words, done)
    assert run("-help").returncode == 0
    assert folder


def run_by_blocks(path, *words):
    """With the rmdsrec of this folder."""
    return subprocess.run([sys.executable, "-B", "-c", BY_BLOCKS,
                           os.path.join(SOURCE, "tools/rmdsrec"), *words], capture_output=True,
                          text=True, check=False, timeout=60,
                          env=dict(os.environ, PATH=path + ":" + os.environ["PATH"]))


def rows_of(table):
    """As the CSV has them, but for the times."""
    for row in table.to_pylist():
        yield {name: str(value) for name, value in row.items() if name not in ("time", "number")}


def check_table(table, exported):
    assert list(rows_of(table)) == [{name: value for name, value in row.items() if name != "time"}
                                    for row in exported], (table.to_pylist(), exported)
    numbers = [row["number"] for row in table.to_pylist() if row["field"] == "BID"]
    assert numbers == [100.25, -1.5], numbers
    assert table.schema.field("time").type.tz == "UTC"


def many_values(folder):
    """Of several blocks, some of which look like a number or are no UTF-8."""
    values = ["+0.25", "-7", "1" * 400, "1.5e+08", "caf\xe9", "\xff", "\xed\xa0\x80", "x"]
    path, source = os.path.join(folder, "many.rrec"), os.path.join(folder, "many.csv")
    with open(source, "w", encoding="latin-1") as out:
        out.write(HEAD + "\n")
        for i in range(4000):
            field = "NEXT_LR" if i % 2 else "DSPLY_NAME"
            out.write(f"2026-11-27T21:30:00.000000Z,{i + 1},RDFD,I{i % 50},6,UPDATE,{field},"
                      f"{values[i % 7 if i % 2 else 7]}\n")
        out.write("2026-11-27T21:30:00.000000Z,5000,RDFD,I1,6,STATUS,,OPEN/OK/NONE caf\xe9\n")
    rmdsrec("import", path, "-csv", source, "-dict", os.path.join(SOURCE, "conf"))
    return path, list(csv.DictReader(rmdsrec("export", path, "-dict",
                                             os.path.join(SOURCE, "conf")).splitlines()))


def a_table_of_many_blocks(folder, read):
    path, exported = many_values(folder)
    assert exported[-1]["value"] == "OPEN/OK/NONE caf.", exported[-1]
    assert {row["value"] for row in exported} >= {"caf.", ".", "..."}, exported[:20]
    for name in ("many.parquet", "many.arrow"):
        table = os.path.join(folder, name)
        done = run_by_blocks(BIN, path, "-out", table, "-dict", os.path.join(SOURCE, "conf"))
        assert done.returncode == 0 and done.stdout == f"rows        {len(exported)}\n", done
        rows = read(table).to_pylist()
        assert list(rows_of(read(table))) == [{name: value for name, value in row.items()
                                               if name != "time"} for row in exported]
        numbers = {row["value"]: row["number"] for row in rows}
        assert numbers["+0.25"] is None and numbers["-7"] == -7.0, numbers
        assert numbers["1.5e+08"] == 1.5e8 and numbers["1" * 400] is None, numbers


def no_table_is_left_of_a_failure(folder):
    """An export that goes wrong in the middle, also one that does not end by itself."""
    fake = os.path.join(folder, "fake")
    os.mkdir(fake)
    for text, end, code in ((f"{HEAD}\n{ROW}\nnonsense\n", "exec yes nonsense", 2),
                            (f"{HEAD}\n{ROW}\nnonsense\n", "exit 5", 2),
                            (f"{HEAD}\n{ROW}\n", "exit 2", 2),
                            (f"{HEAD}\n{ROW}\n", "kill -9 $$", 2), ("", "exit 3", 3)):
        with open(os.path.join(fake, "rmdsrec"), "w", encoding="ascii") as out:
            out.write(f"#!/bin/sh\nprintf '{text}'\n{end}\n")
        os.chmod(out.name, 0o755)
        for name in ("fails.parquet", "fails.arrow"):
            table = os.path.join(folder, name)
            done = run_by_blocks(fake, "x.rrec", "-out", table)
            assert done.returncode == code and not os.path.exists(table), (text, end, done)
    with open(os.path.join(fake, "rmdsrec"), "w", encoding="ascii") as out:
        out.write(f"#!/bin/sh\nprintf '{HEAD}\n{ROW}\n'\nexit 5\n")
    done = run_by_blocks(fake, "x.rrec", "-out", os.path.join(folder, "damaged.arrow"))
    assert done.returncode == 5 and done.stdout == "rows        1\n", done


def again_with_pyarrow():
    """This test once more, by a Python that has pyarrow. Debian has no package of it."""
    python = None if INSIDE in os.environ else pypi.python_with(ENVIRONMENT, PYARROW, "pyarrow")
    if not python:
        print(f"{PYARROW} cannot be had from PyPI")
        return 77
    return subprocess.run([python, *sys.argv], env=dict(os.environ, **{INSIDE: "1"}), check=False,
                          timeout=400).returncode


def main():
    with tempfile.TemporaryDirectory() as folder:
        path, source = os.path.join(folder, "day.rrec"), os.path.join(folder, "day.csv")
        with open(source, "w", encoding="ascii") as out:
            out.write(TABLE)
        rmdsrec("import", path, "-csv", source, "-dict", os.path.join(SOURCE, "conf"))
        without_pyarrow(folder, path)
        command_lines(folder, path)
        try:
            from pyarrow import ipc, parquet
        except ImportError:
            return again_with_pyarrow()

        def read(path):
            return (parquet.read_table(path) if path.endswith("parquet") else
                    ipc.open_file(path).read_all())
        exported = list(csv.DictReader(rmdsrec("export", path, "-dict",
                                               os.path.join(SOURCE, "conf")).splitlines()))
        for name in ("day.parquet", "day.arrow"):
            table = os.path.join(folder, name)
            done = run(path, "-out", table, "-dict", os.path.join(SOURCE, "conf"))
            assert done.returncode == 0 and done.stdout == f"rows        {len(exported)}\n", done
            check_table(read(table), exported)
            done = run(path, "-out", table)
            assert done.returncode == 2 and "File exists" in done.stderr, done
        done = run(os.path.join(folder, "none.rrec"), "-out", os.path.join(folder, "no.arrow"))
        assert done.returncode == 2 and not os.path.exists(os.path.join(folder, "no.arrow")), done
        a_table_of_many_blocks(folder, read)
        no_table_is_left_of_a_failure(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
