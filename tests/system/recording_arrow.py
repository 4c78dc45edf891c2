#!/usr/bin/env python3
"""recording_arrow.py SOURCE - rmdsrec-arrow writes what `rmdsrec export` does, as Parquet and as
Arrow; without pyarrow it says so."""
# SPDX-License-Identifier: Apache-2.0
import csv
import os
import subprocess
import sys
import tempfile

BIN = os.environ["RMDS_BIN"]
SOURCE = os.path.realpath(sys.argv[1])
TABLE = """\
time,mono_ns,service,item,domain,kind,field,value
2026-11-27T21:30:00.000000Z,1000000000,RDFD,A.N,6,REFRESH,BID,100.25
2026-11-27T21:30:00.000000Z,1000000000,RDFD,A.N,6,REFRESH,DSPLY_NAME,"SAMPLE, one"
2026-11-27T21:30:01.500000Z,2500000000,RDFD,A.N,6,UPDATE,BID,-1.5
2026-11-27T21:30:01.500000Z,2500000000,RDFD,A.N,6,UPDATE,ASK,
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
            print("SKIP: no pyarrow here: tables are not written")
            return 77
        exported = list(csv.DictReader(rmdsrec("export", path, "-dict",
                                               os.path.join(SOURCE, "conf")).splitlines()))
        for name in ("day.parquet", "day.arrow"):
            table = os.path.join(folder, name)
            done = run(path, "-out", table, "-dict", os.path.join(SOURCE, "conf"))
            assert done.returncode == 0 and done.stdout == f"rows        {len(exported)}\n", done
            check_table(parquet.read_table(table) if name.endswith("parquet") else
                        ipc.open_file(table).read_all(), exported)
            done = run(path, "-out", table)
            assert done.returncode == 2 and "File exists" in done.stderr, done
        done = run(os.path.join(folder, "none.rrec"), "-out", os.path.join(folder, "no.arrow"))
        assert done.returncode == 2 and not os.path.exists(os.path.join(folder, "no.arrow")), done
    return 0


if __name__ == "__main__":
    sys.exit(main())
