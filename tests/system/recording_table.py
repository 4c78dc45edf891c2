#!/usr/bin/env python3
"""recording_table.py - rmdsrec import and export: nothing is cut, what is no value of its field is
refused and named, and nothing of a table reaches a terminal as it is."""
# SPDX-License-Identifier: Apache-2.0
import csv
import os
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BIN = os.environ["RMDS_BIN"]
CONF = os.path.join(SOURCE, "conf")
HEAD = "time,mono_ns,service,item,domain,kind,field,value\n"
MESSAGE_MAX = 1000 << 10


def rmdsrec(*words):
    return subprocess.run([os.path.join(BIN, "rmdsrec"), *words], capture_output=True, check=False,
                          timeout=60, encoding="latin-1")


def row(mono_ns, kind, field, value):
    return f"2026-11-27T21:30:00.000001Z,{mono_ns},RDFD,IT1,6,{kind},{field},{value}\n"


def imported(folder, *rows):
    """The recording, and what import says."""
    path, table = os.path.join(folder, "made.rrec"), os.path.join(folder, "made.csv")
    if os.path.exists(path):
        os.unlink(path)
    with open(table, "w", encoding="latin-1") as out:
        out.write(HEAD + "".join(rows))
    return path, rmdsrec("import", path, "-csv", table, "-dict", CONF)


def exported(path):
    done = rmdsrec("export", path, "-dict", CONF)
    assert done.returncode == 0, done
    csv.field_size_limit(4 * MESSAGE_MAX)
    return [(row["mono_ns"], row["field"], row["value"])
            for row in csv.DictReader(done.stdout.splitlines())]


def a_long_container_goes_round(folder):
    digits = bytes(i * 7 & 255 for i in range(900000)).hex()
    path, done = imported(folder, row(1, "UPDATE", "OPAQUE", digits))
    assert done.returncode == 0, done
    assert exported(path) == [("1", "OPAQUE", digits)]
    _, done = imported(folder, row(1, "UPDATE", "OPAQUE", "00" * MESSAGE_MAX))
    assert done.returncode == 2 and "cannot be made" in done.stderr, done
    _, done = imported(folder, row(1, "UPDATE", "OPAQUE", "00" * (MESSAGE_MAX + 10000)))
    assert done.returncode == 2 and "line 2: not eight cells, or too long" in done.stderr, done


def a_container_behind_fields_is_another_message(folder):
    path, done = imported(folder, row(1, "UPDATE", "ASK", "1.5"),
                          row(1, "UPDATE", "OPAQUE", "0102"), row(1, "UPDATE", "ASK", "2.5"))
    assert done.returncode == 0 and "messages    3," in done.stdout, done
    assert [field for _, field, _ in exported(path)] == ["ASK", "OPAQUE", "ASK"]


def what_is_no_value_is_refused(folder):
    for field, value in (("TRDTIM_1", "0930"), ("ACTIV_DATE", "20261127"), ("ASK", "1e10"),
                         ("RDNDISPLAY", "-5"), ("RDNDISPLAY", "+5"), ("RDNDISPLAY", "5x"),
                         ("PRCTCK_1", "-1"), ("PRCTCK_1", "65536"), ("ASK", "0xabc"),
                         ("-40", "xx"), ("32768", "00"), ("NO_SUCH", "1")):
        _, done = imported(folder, row(1, "UPDATE", "ASK", "1"), row(2, "UPDATE", field, value))
        assert done.returncode == 2 and "line 3: " in done.stderr, (field, value, done)


def bytes_that_are_no_value_go_round(folder):
    fields = [("1", "TRDTIM_1", "0x010203040506"), ("1", "ASK", "0x1e0102030405060708090a0b"),
              ("1", "RDNDISPLAY", "0x010203040506070809"), ("1", "DSPLY_NAME", "0x41"),
              ("1", "BID_TIME", ""), ("1", "-40", "0a1b"), ("1", "ACTIV_DATE", "2026-11-27")]
    path, done = imported(folder, *(row(mono, "UPDATE", *rest) for mono, *rest in fields))
    assert done.returncode == 0, done
    assert exported(path) == fields, exported(path)


def partial_updates_go_round(folder):
    """A position stays, or six cells of a page would be all of its row; and it moves no cursor."""
    fields = [("1", "ROW80_1", "\u241b[22` 96.10"), ("1", "ROW80_2", "\u241b[`\u00e9\u241b[40`xy"),
              ("1", "ROW80_3", "\u241b[22b"), ("1", "ROW80_4", "\u241b"), ("1", "ROW80_5", "[22`")]
    path, table = os.path.join(folder, "partial.rrec"), os.path.join(folder, "partial.csv")
    with open(table, "w", encoding="utf-8") as out:
        out.write(HEAD + "".join(row(mono, "UPDATE", name, value) for mono, name, value in fields))
    assert rmdsrec("import", path, "-csv", table, "-dict", CONF).returncode == 0
    found = [(mono, name, value.encode("latin-1").decode("utf-8"))
             for mono, name, value in exported(path)]
    assert found == fields, found
    assert "\x1b" not in rmdsrec("export", path, "-dict", CONF).stdout


def a_part_of_a_string_leaves_the_cells_around_it(folder):
    """Of strings whose characters take a byte each; of others a part cannot be imported."""
    later = 61 * 10**9  # the image of an item is written each 60 s
    rows = [row(1, "REFRESH", "ROW80_1", "M\u00fcnchen 96.10"),
            row(2, "UPDATE", "ROW80_1", "\u241b[9`\u00a397"), row(later, "UPDATE", "ASK", "1")]
    path, table = os.path.join(folder, "cells.rrec"), os.path.join(folder, "cells.csv")
    with open(table, "w", encoding="utf-8") as out:
        out.write(HEAD + "".join(rows))
    assert rmdsrec("import", path, "-csv", table, "-dict", CONF).returncode == 0
    done = rmdsrec("export", path, "-dict", CONF, "-withImages").stdout
    done = done.encode("latin-1").decode("utf-8").replace('"', "")
    images = [line for line in done.splitlines() if ",IMAGE,ROW80_1," in line]
    assert images and images[-1].endswith(",M\u00fcnchen 9\u00a3970"), done
    with open(table, "w", encoding="utf-8") as out:
        out.write(HEAD + row(1, "UPDATE", "ROW80_1", "\u65e5\u672c") +
                  row(2, "UPDATE", "ROW80_1", "\u241b[9`\u65e5"))
    os.unlink(path)
    done = rmdsrec("import", path, "-csv", table, "-dict", CONF)
    assert done.returncode == 2 and "line 3: no value of its field" in done.stderr, done


def a_number_that_comes_again_begins_a_message(folder):
    rows = [row(1, "UPDATE", "-40", "01"), row(1, "UPDATE", "-40", "02")]
    path, done = imported(folder, *rows)
    assert done.returncode == 0 and "messages    2," in done.stdout, done
    assert [value for _, _, value in exported(path)] == ["01", "02"]
    _, done = imported(folder, row(1, "UPDATE", "ASK", "1"), row(1, "UPDATE", "25", "02"))
    assert done.returncode == 0 and "messages    2," in done.stdout, done


def a_table_moves_no_cursor(folder):
    for text in ("\x1b]0;title\x07", "\x9b2J", "\x7f"):
        _, done = imported(folder, row(1, "UPDATE", "ASK", text))
        assert done.returncode == 2, done
        assert all(c == "\n" or " " <= c < "\x7f" for c in done.stderr), done


def info_moves_no_cursor(folder):
    path, done = imported(folder, row(1, "UPDATE", "ASK", "1").replace("RDFD", "R\x1b\x9bD"))
    assert done.returncode == 0, done
    assert "1 of R..D, domain 6" in rmdsrec("info", path).stdout


def stream(service, *values):
    return [row(0, "UPDATE", "ASK", value).replace("RDFD", service) for value in values]


def compared(folder, *tables):
    """The rows of each, one behind the other in time."""
    paths = []
    for i, rows in enumerate(tables):
        path, done = imported(folder, *(text.replace(",0,", f",{at + 1},")
                                        for at, text in enumerate(rows)))
        assert done.returncode == 0, done
        paths.append(os.path.join(folder, f"compared-{i}.rrec"))
        os.replace(path, paths[-1])
    return rmdsrec("compare", *paths), *paths


def services_are_compared_apart(folder):
    first, second = stream("A", "1", "2"), stream("B", "3", "4")
    mixed = [first[0], second[0], first[1], second[1]]
    done, *_ = compared(folder, first + second, mixed)
    assert done.returncode == 0 and "2 items, 4 updates" in done.stdout, done
    done, *_ = compared(folder, second + first, stream("X", "1", "2") + stream("Y", "3", "4"))
    assert done.returncode == 0, done
    done, *_ = compared(folder, first + second, stream("A", "3", "4") + stream("B", "1", "2"))
    assert done.returncode == 5 and "2 items differ" in done.stdout, done
    assert "IT1 of B, domain 6" in done.stdout, done
    done, *_ = compared(folder, first + second, first)
    assert done.returncode == 5 and "1 items differ" in done.stdout, done


def damaged_ones_are_not_the_same(folder):
    done, path, _ = compared(folder, *(stream("A", *map(str, range(1000))) for _ in range(2)))
    assert done.returncode == 0, done
    with open(path, "r+b") as file:
        content = bytearray(file.read())
        content[len(content) // 2] ^= 1
        file.seek(0)
        file.write(content)
    done = rmdsrec("compare", path, path)
    assert done.returncode == 5 and "0 items differ" in done.stdout, done
    assert done.stdout.count(f"recording   {path}") == 2 and "damaged " in done.stdout, done


def a_long_command_is_refused(folder):
    socket = os.path.join(folder, "none")
    assert rmdsrec("tell", socket, "seek", "1" * 995).returncode == 2
    for words in (["1" * 1001], ["seek", "1" * 996], ["1" * 1000, "1"]):
        done = rmdsrec("tell", socket, *words)
        assert done.returncode == 1 and "1,000 bytes" in done.stderr, done


def main():
    with tempfile.TemporaryDirectory() as folder:
        for case in (a_long_container_goes_round, a_container_behind_fields_is_another_message,
                     what_is_no_value_is_refused, bytes_that_are_no_value_go_round,
                     partial_updates_go_round,
                     a_part_of_a_string_leaves_the_cells_around_it,
                     a_number_that_comes_again_begins_a_message, a_table_moves_no_cursor,
                     info_moves_no_cursor, services_are_compared_apart,
                     damaged_ones_are_not_the_same, a_long_command_is_refused):
            print(case.__name__, flush=True)
            case(folder)


if __name__ == "__main__":
    sys.exit(main())
