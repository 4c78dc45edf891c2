#!/usr/bin/env python3
"""rmdsrec-arrow - a recording as a table of Apache Parquet or Arrow.

usage: rmdsrec-arrow FILE -out TABLE [option]...

A row for each field of each message, with the columns of `rmdsrec export`, and `number`: the value
where it is one. It reads what `rmdsrec export` writes and needs pyarrow.

  -out TABLE           the table, a new file
  -format FORMAT       parquet or arrow (Arrow IPC); else by the ending, .parquet or .arrow
  -from SECONDS        from then on, since the beginning
  -to SECONDS          up to then
  -il ITEM,...         these items alone
  -dict FOLDER         dictionary; else that of the recording, or the installed one
  -series              with the further files of its series, as one
  -withImages          also the images that the recorder has written
  -help                this text (also -h)

All options may be written with two dashes. Exit codes: 0 well, 1 options, 2 a file, 5 something of
the recording is damaged, 6 pyarrow is not installed.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys

OPTIONS, FILE, DAMAGED, NO_PYARROW = 1, 2, 5, 6
VALUES = {"out", "format", "from", "to", "il", "dict"}
FLAGS = {"series", "withImages", "help", "h"}
PASSED = ("from", "to", "il", "dict", "series", "withImages")
FORMATS = ("parquet", "arrow")
NUMBER = r"^[+-]?[0-9]+(\.[0-9]+)?$"
BLOCK_BYTES = 8 << 20  # of the CSV at once; the memory does not grow with the recording


def fail(code, text):
    print(f"rmdsrec-arrow: {text}", file=sys.stderr)
    sys.exit(code)


def understand(words):
    """The file, and the options by name."""
    files, options = [], {}
    words = list(words)
    while words:
        word = words.pop(0)
        if not word.startswith("-") or word == "-":
            files.append(word)
            continue
        name, has_value, value = word.lstrip("-").partition("=")
        if name in FLAGS and not has_value:
            options[name] = True
        elif name in VALUES and (has_value or words):
            options[name] = value if has_value else words.pop(0)
        elif name in VALUES:
            fail(OPTIONS, f"-{name} needs a word behind it")
        else:
            fail(OPTIONS, f'there is no option "{word}"; -help lists the options')
    if "help" in options or "h" in options:
        print(__doc__.strip())
        sys.exit(0)
    if len(files) != 1:
        fail(OPTIONS, "one recording is named; -help lists the options")
    if "out" not in options:
        fail(OPTIONS, "-out TABLE is missing")
    kind = options.get("format") or os.path.splitext(options["out"])[1].lstrip(".")
    if kind not in FORMATS:
        fail(OPTIONS, "-format is parquet or arrow, or TABLE ends in .parquet or .arrow")
    options["format"] = kind
    return files[0], options


def rmdsrec():
    """The one that lies beside this program, else that of PATH."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rmdsrec")
    return beside if os.access(beside, os.X_OK) else "rmdsrec"


def batches(csv, pyarrow, stream):
    """Of the CSV as it comes, each with the column of numbers."""
    compute = sys.modules["pyarrow.compute"]
    name = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    types = {"time": pyarrow.timestamp("us", "UTC"), "mono_ns": pyarrow.uint64(), "service": name,
             "item": name, "domain": pyarrow.uint8(), "kind": name, "field": name,
             "value": pyarrow.string()}
    reader = csv.open_csv(stream, csv.ReadOptions(block_size=BLOCK_BYTES),
                          csv.ParseOptions(newlines_in_values=True),
                          csv.ConvertOptions(column_types=types, strings_can_be_null=False))
    for batch in reader:
        value = batch.column("value")
        is_number = compute.match_substring_regex(value, NUMBER)
        number = compute.if_else(is_number, value, pyarrow.scalar(None, pyarrow.string()))
        yield pyarrow.record_batch([*batch.columns, compute.cast(number, pyarrow.float64())],
                                   names=[*batch.schema.names, "number"])


def write(pyarrow, csv, parquet, stream, path, kind):
    """Row group by row group. Returns how many rows."""
    rows, writer = 0, None
    with open(path, "xb") as out:
        for batch in batches(csv, pyarrow, stream):
            if writer is None:
                packed = pyarrow.ipc.IpcWriteOptions(compression="zstd", unify_dictionaries=True)
                writer = (parquet.ParquetWriter(out, batch.schema, compression="zstd")
                          if kind == "parquet" else
                          pyarrow.ipc.new_file(out, batch.schema, options=packed))
            writer.write(batch)
            rows += batch.num_rows
        if writer:
            writer.close()
    return rows


def main():
    recording, options = understand(sys.argv[1:])
    try:
        import pyarrow
        import pyarrow.compute
        from pyarrow import csv, parquet
    except ImportError:
        fail(NO_PYARROW, "pyarrow is not installed: `pip install pyarrow`, or `rmdsrec export` "
                         "for a CSV")
    words = [rmdsrec(), "export", recording]
    for name in PASSED:
        if name in options:
            words += [f"-{name}"] + ([] if options[name] is True else [options[name]])
    try:
        export = subprocess.Popen(words, stdout=subprocess.PIPE)
    except OSError as error:
        fail(FILE, f"cannot run {words[0]}: {error.strerror}")
    with export:
        try:
            rows = write(pyarrow, csv, parquet, export.stdout, options["out"], options["format"])
        except OSError as error:
            export.kill()
            fail(FILE, f"cannot write {options['out']}: {error.strerror or error}")
        except pyarrow.ArrowInvalid as error:
            # An export that fails at once has no header; it has said why.
            if export.wait() == 0:
                fail(FILE, f"what rmdsrec exports is not understood: {error}")
            rows = 0
    if export.returncode not in (0, DAMAGED):
        os.unlink(options["out"])
        sys.exit(export.returncode)
    print(f"rows        {rows}")
    return export.returncode


if __name__ == "__main__":
    sys.exit(main())
