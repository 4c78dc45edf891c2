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
# Short enough that none is out of the range of a double, as Arrow reads it; texts may be anything.
NUMBER = (r"^-?[0-9]{1,40}(\.[0-9]{1,40})?$"
          r"|^-?[0-9](\.[0-9]{1,16})?e[+-]([0-9]{2}|[12][0-9]{2})$")
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


def table_of(csv, pyarrow, stream):
    """The columns, and the CSV batch by batch with that of the numbers."""
    compute = sys.modules["pyarrow.compute"]
    # Texts, not dictionaries: each block would have another one, which a file of Arrow cannot have.
    text = pyarrow.string()
    types = {"time": pyarrow.timestamp("us", "UTC"), "mono_ns": pyarrow.uint64(), "service": text,
             "item": text, "domain": pyarrow.uint8(), "kind": text, "field": text, "value": text}
    reader = csv.open_csv(stream, csv.ReadOptions(block_size=BLOCK_BYTES),
                          csv.ParseOptions(newlines_in_values=True),
                          csv.ConvertOptions(column_types=types, strings_can_be_null=False))
    schema = reader.schema.append(pyarrow.field("number", pyarrow.float64()))

    def batches():
        for batch in reader:
            value = batch.column("value")
            is_number = compute.match_substring_regex(value, NUMBER)
            number = compute.if_else(is_number, value, pyarrow.scalar(None, pyarrow.string()))
            yield pyarrow.record_batch([*batch.columns, compute.cast(number, pyarrow.float64())],
                                       schema=schema)
    return schema, batches()


def write(csv, pyarrow, stream, out, kind):
    """Row group by row group. Returns how many rows."""
    schema, batches = table_of(csv, pyarrow, stream)
    rows = 0
    with (sys.modules["pyarrow.parquet"].ParquetWriter(out, schema, compression="zstd")
          if kind == "parquet" else
          pyarrow.ipc.new_file(out, schema,
                               options=pyarrow.ipc.IpcWriteOptions(compression="zstd"))) as writer:
        for batch in batches:
            writer.write(batch)
            rows += batch.num_rows
    return rows


def make_table(csv, pyarrow, words, out, kind):
    """Of what an export writes. Returns its exit code, and how many rows."""
    try:
        export = subprocess.Popen(words, stdout=subprocess.PIPE)
    except OSError as error:
        fail(FILE, f"cannot run {words[0]}: {error.strerror}")
    with export:
        try:
            # One that fails at once writes nothing, and has said why.
            rows = write(csv, pyarrow, export.stdout, out, kind) if export.stdout.peek(1) else 0
        except BaseException:
            export.kill() # nobody reads on: it would wait for ever
            raise
    if export.returncode < 0:
        fail(FILE, f"{words[0]} was ended by signal {-export.returncode}")
    return export.returncode, rows


def main():
    recording, options = understand(sys.argv[1:])
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
        from pyarrow import csv
    except ImportError:
        fail(NO_PYARROW, "pyarrow is not installed: `pip install pyarrow`, or `rmdsrec export` "
                         "for a CSV")
    words = [rmdsrec(), "export", recording]
    for name in PASSED:
        if name in options:
            words += [f"-{name}"] + ([] if options[name] is True else [options[name]])
    path, is_whole = options["out"], False
    try:
        out = open(path, "xb") # closed below
    except OSError as error:
        fail(FILE, f"cannot write {path}: {error.strerror}")
    try:
        with out:
            code, rows = make_table(csv, pyarrow, words, out, options["format"])
        is_whole = code in (0, DAMAGED)
    except OSError as error:
        fail(FILE, f"cannot write {path}: {error.strerror or error}")
    except pyarrow.ArrowException as error:
        fail(FILE, f"what rmdsrec exports is not understood: {error}")
    finally:
        if not is_whole:
            os.unlink(path)
    if is_whole:
        print(f"rows        {rows}")
    return code


def run():
    """Ends at once: a thread of Arrow that waits for the export aborts a Python that winds up."""
    try:
        code = main()
    except SystemExit as end:
        code = end.code or 0
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
