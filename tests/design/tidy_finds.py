#!/usr/bin/env python3
"""tidy_finds.py - the checks of tests/tidy.py find what they are there for, and pass what is
right."""
# SPDX-License-Identifier: Apache-2.0
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tidy_first_day
import tidy_graph
import tidy_words

LOW = "int low_get(void)\n{\n    return 1;\n}\n"
HIGH = "int high_get(void)\n{\n    return low_get();\n}\nint main(void)\n{\n    return high_get();\n}\n"
INVARIANTS = "| I1 | Something holds. |\n"
TICK = "| 1 | | `high_get` in `src/x/high.c` | | |\n"


class Tidy(unittest.TestCase):
    def setUp(self):
        self.found = []

    def say(self, path, line, text):
        self.found.append(f"{path}:{line}: {text}")

    def graph(self, low=LOW, high=HIGH, **more):
        texts = {"src/x/low.c": low, "src/x/high.c": high, **more}
        tidy_graph.check(texts, [], self.say)
        return " ".join(self.found)

    def words(self, comment, path="src/x/high.c", tick=TICK, code=HIGH):
        texts = {"docs/design/invariants.md": INVARIANTS, "docs/design/tick.md": tick,
                 "docs/design/rrcp.md": "## 7. The receiver\n\n**7.1 Peers.** They come.\n",
                 "src/x/high.c": code}
        texts[path] = f"/* {comment} */\n" + texts.get(path, "")
        tidy_words.check(list(texts) + ["src/x/low.h", "include/rrcp/rrcp.h"], texts, self.say)
        return " ".join(self.found)

    def test_a_tree_that_is_right_has_no_findings(self):
        self.assertEqual(self.graph(), "")

    def test_two_files_that_call_each_other_are_a_circle(self):
        self.assertIn("circle of files: high low", self.graph(low=LOW.replace("1", "high_get()")))

    def test_the_tag_of_a_struct_is_no_call(self):
        self.assertEqual(self.graph(low=LOW + "static struct high_get *kept;\n"), "")

    def test_a_header_of_no_file_may_not_declare_functions_of_two(self):
        header = "int low_get(void);\nint high_get(void);\n"
        self.assertIn("declares functions of 2 files", self.graph(**{"src/x/private.h": header}))

    def test_a_function_without_a_caller_is_found(self):
        self.assertIn("lonely() has no caller",
                      self.graph(low=LOW + "int lonely(void)\n{\n    return 2;\n}\n"))

    def test_a_function_over_60_lines_is_too_long(self):
        body = "    work();\n" * 58
        low = LOW.replace("    return", body + "    return")
        self.assertIn("low_get() has 62 lines", self.graph(low=low))

    def test_a_file_over_600_lines_is_too_long(self):
        self.assertIn("601 lines", self.graph(low=LOW + "\n" * 597))

    def test_files_sections_and_invariants_that_exist_may_be_cited(self):
        self.assertEqual(self.words("see low.h, rrcp/rrcp.h, rrcp.md 7.1"), "")

    def test_a_file_that_does_not_exist_is_found(self):
        self.assertIn("names gone.h", self.words("see gone.h"))

    def test_a_section_that_does_not_exist_is_found(self):
        self.assertIn("rrcp.md 7.9: no such section", self.words("see rrcp.md 7.9"))

    def test_an_invariant_that_does_not_exist_is_found(self):
        self.assertIn("I99 is not in", self.words("I99 holds", path="src/rrcp/y.c"))

    def test_a_function_of_the_tick_that_has_moved_is_found(self):
        self.assertIn("high_get() is not in src/x/high.c", self.words("", code="int other;\n"))

    def first_day(self, row, **more):
        texts = {tidy_first_day.TABLE: "| | test |\n| --- | --- |\n" + row + "\n",
                 "tests/a.py": "a line that\n  goes on", **more}
        tidy_first_day.check(list(texts), texts.__getitem__, self.say)
        return " ".join(text for text in self.found if "rows: some are gone" not in text)

    def test_a_finding_with_its_test_or_a_reason_is_passed(self):
        self.assertEqual(self.first_day("| it is slow | `tests/a.py::line that goes` |"), "")
        self.assertEqual(self.first_day("| it is slow | no test: a matter of taste |"), "")

    def test_a_finding_without_a_test_is_found(self):
        self.assertIn("neither", self.first_day("| it is slow | |"))
        self.assertIn("neither", self.first_day("| it is slow | no test: |"))

    def test_a_test_that_is_gone_is_found(self):
        self.assertIn("tests/b.py does not exist", self.first_day("| x | `tests/b.py::line` |"))
        self.assertIn("does not have the words: a lane", self.first_day("| x | `tests/a.py::a lane` |"))

    def test_a_sentence_that_nobody_understood_does_not_come_back(self):
        page = "So it\nnever stops to grow. When it never\nstops, it never stops to grow."
        self.assertIn("nobody understood", self.first_day("| x | `tests/a.py::line` |", **{"docs/x.md": page}))

    def test_a_table_that_lost_its_rows_is_found(self):
        self.first_day("| x | `tests/a.py::line` |")
        self.assertIn("1 rows: some are gone", " ".join(self.found))


if __name__ == "__main__":
    unittest.main()
