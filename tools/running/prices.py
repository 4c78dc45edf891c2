"""prices.py - a table of moving prices: repainted in place on a terminal, once and plainly
elsewhere."""
# SPDX-License-Identifier: Apache-2.0
import re
import subprocess
import sys
import threading
import time

COLUMNS = ("BID", "ASK", "TRDPRC_1", "ACVOL_1")
VIEW = "22,25,6,32"  # their field ids: nothing else is asked for
HEAD = f"      {'RIC':<10}{'BID':>10}{'ASK':>10}{'TRDPRC_1':>11}{'VOLUME':>13}{'updates/s':>12}"
MESSAGE = re.compile(r"(REFRESH|UPDATE)\s+(\S+)")
FIELD = re.compile(r"\s+(\S+)\s+\d+\s+(\S+)")


class Prices:
    """A consumer of a few items, and the last values that it printed."""

    def __init__(self, program, service, port, items, seconds):
        self.rows = {item: {"updates": 0} for item in items}
        self.seen = []  # (time, {item: updates}), the last second
        self.painted = False
        self.child = subprocess.Popen(
            [program, "-S", service, "-h", "127.0.0.1", "-p", str(port), "-il", ",".join(items),
             "-view", VIEW,
             "-d", "3", "-l", "3", "-u", "demo", "-secs", str(seconds)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        row = None
        for line in self.child.stdout:
            message = MESSAGE.match(line)
            if message:
                row = self.rows.get(message[2])
                if row is not None and message[1] == "UPDATE":
                    row["updates"] += 1
                continue
            field = FIELD.match(line)
            if row is not None and field and field[1] in COLUMNS:
                row[field[1]] = field[2]

    def look(self):
        now = time.monotonic()
        self.seen = [seen for seen in self.seen if seen[0] > now - 1.1] + [
            (now, {item: row["updates"] for item, row in self.rows.items()})]

    def rate(self, item):
        """Over the last second."""
        (begun, before), (ended, after) = self.seen[0], self.seen[-1]
        return (after[item] - before[item]) / max(0.1, ended - begun)

    def text(self):
        lines = [HEAD]
        for item, row in self.rows.items():
            volume = row.get("ACVOL_1", "-")
            volume = f"{int(volume):,}" if volume.isdigit() else volume
            lines.append(f"      {item:<10}{row.get('BID', '-'):>10}{row.get('ASK', '-'):>10}"
                         f"{row.get('TRDPRC_1', '-'):>11}{volume:>13}{self.rate(item):>12.0f}")
        return lines

    def paint(self):
        """In the place where it stood before."""
        lines = self.text()
        if self.painted:
            sys.stdout.write(f"\x1b[{len(lines)}A")
        sys.stdout.write("".join(f"\r{line}\x1b[K\n" for line in lines))
        sys.stdout.flush()
        self.painted = True

    def show_until(self, is_over, is_terminal):
        """Repaint until then; elsewhere than on a terminal the table stands there once, at the
        end."""
        self.look()
        while not is_over():
            self.look()
            if is_terminal:
                self.paint()
            time.sleep(0.25)
        self.stop()
        if is_terminal:
            self.paint()
        else:
            print("\n".join(self.text()), flush=True)

    def stop(self):
        if self.child.poll() is None:
            self.child.terminate()
        self.child.wait()
        self.reader.join(5)

    def is_moving(self):
        return all(row["updates"] > 0 and "BID" in row for row in self.rows.values())
