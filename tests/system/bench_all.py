#!/usr/bin/env python3
"""bench_all.py SOURCE - tools/rmds bench all, with small programs in place of the benchmarks: each
figure with its bounds and verdict, one that does not run is told, the earlier run stands beside."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys
import tempfile

SOURCE = os.path.realpath(sys.argv[1])
FAKE = """#!/usr/bin/env python3
import json
import os
import sys
MUST, GOAL = 100, 200
if __name__ == "__main__":
    with open(os.environ["SAID"], "a", encoding="utf-8") as file:
        file.write(" ".join(sys.argv[1:-2]) + chr(10))
    {body}
"""
WRITES = "open(sys.argv[-1], 'w', encoding='utf-8').write({text!r})"
FAN = {"best_out_per_s": 150}
RATES = {"rows": [{"work": "a type that passes", "value": 70.0, "unit": "ns", "must": 60},
                  {"work": "none", "value": 1000.0, "unit": "ns", "must": None}]}


def write_bench(root, name, body):
    path = os.path.join(root, "tools/rmds.d/bench", name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(FAKE.format(body=body))
    os.chmod(path, 0o755)


def make_root(folder):
    root = os.path.join(folder, "root")
    os.makedirs(os.path.join(root, "tools/rmds.d/bench"))
    os.symlink(os.path.join(SOURCE, "tools/report"), os.path.join(root, "tools/report"))
    write_bench(root, "fanout", WRITES.format(text=json.dumps(FAN)))
    write_bench(root, "rates", WRITES.format(text=json.dumps(RATES)))
    write_bench(root, "attack", "sys.exit('no such adapter')")
    return root


def run(root, folder, *words):
    env = {**os.environ, "RMDS_ROOT": root, "RMDS_BUILD": folder,
           "SAID": os.path.join(folder, "said")}
    done = subprocess.run([os.path.join(SOURCE, "tools/rmds.d/bench/all"), *words], env=env,
                          text=True, capture_output=True, check=False, timeout=100)
    with open(os.path.join(folder, "reports/all.json"), encoding="utf-8") as file:
        found = json.load(file)
    return done, {(row["bench"], row["figure"]): row for row in found["results"]}


def check_first(root, folder):
    done, rows = run(root, folder, "--quick", "--only", "fanout,rates,attack")
    assert done.returncode == 1, done
    held = rows["fanout", "to 50 consumers, held"]
    assert [held[key] for key in ("value", "must", "goal", "verdict")] == [150, 100, 200, "must"]
    assert rows["rates", "a type that passes"]["verdict"] == "MISSES"
    assert rows["rates", "none"]["verdict"] == ""
    assert rows["attack", "did not run"]["verdict"] == "MISSES: no such adapter"
    assert held["earlier"] is None
    assert "4 figures; of 3 with a bound 0 reach the goal, 2 miss what has to be." in done.stdout
    with open(os.path.join(folder, "said"), encoding="utf-8") as file:
        assert file.read().splitlines() == ["--quick", "--quick", "--rounds 1 --secs 2"]
    with open(os.path.join(folder, "reports/all.html"), encoding="utf-8") as file:
        assert "no such adapter" in file.read()


def check_second(root, folder):
    """The run before stands beside this one, and what has become good is good."""
    FAN["best_out_per_s"] = 300
    write_bench(root, "fanout", WRITES.format(text=json.dumps(FAN)))
    done, rows = run(root, folder, "--quick", "--only", "fanout")
    held = rows["fanout", "to 50 consumers, held"]
    assert (held["earlier"], held["to_earlier"], held["verdict"]) == (150, 2.0, "goal"), held
    assert done.returncode == 0, done
    assert rows["rates", "none"]["value"] == 1000, "what was not measured again is left out"
    done, rows = run(root, folder, "--only", "fanout")
    assert "the earlier run was a quick one" in done.stdout, done
    assert rows["fanout", "to 50 consumers, held"]["earlier"] is None


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = make_root(folder)
        check_first(root, folder)
        check_second(root, folder)
    print("one table of all: bounds, verdicts, the earlier run, and one that did not run")


if __name__ == "__main__":
    main()
