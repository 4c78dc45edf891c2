"""lseg_user.py PORT CALLS ITEM... - a user of lseg-data, in the Python that has it.

CALLS is a folder for what only the caller can do: a file "kill" there asks for a restart of p2ps.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import sys
import threading
import time
import traceback

import lseg.data as ld
from lseg.data.content import pricing

WAIT_S = 60


class Heard:
    """What the callbacks of a stream were told."""

    def __init__(self):
        self.changed = threading.Condition()
        self.images, self.updates, self.states = {}, {}, []

    def refresh(self, fields, name, _stream):
        with self.changed:
            self.images[name] = self.images.get(name, 0) + 1
            self.changed.notify_all()
        assert fields

    def update(self, fields, name, _stream):
        with self.changed:
            self.updates[name] = self.updates.get(name, 0) + 1
            self.changed.notify_all()
        assert fields

    def status(self, status, name, _stream):
        with self.changed:
            self.states.append((name, status))
            self.changed.notify_all()

    def wait(self, is_it, what):
        with self.changed:
            assert self.changed.wait_for(is_it, WAIT_S), (what, self.images, self.updates,
                                                      self.states)


def stream_of(items, fields, heard, service=None):
    stream = pricing.Definition(items, fields=fields, service=service).get_stream()
    stream.on_refresh(heard.refresh)
    stream.on_update(heard.update)
    stream.on_status(heard.status)
    return stream


def main():
    port, calls, items = sys.argv[1], sys.argv[2], sys.argv[3:]
    session = ld.session.platform.Definition(
        app_key="any", deployed_platform_host=f"127.0.0.1:{port}",
        deployed_platform_username="user").get_session()
    session.open()
    ld.session.set_default(session)

    heard = Heard()
    stream = stream_of(items, ["BID", "ASK"], heard)
    stream.open()
    frame = stream.get_snapshot()
    assert list(frame["Instrument"]) == items and frame["BID"].notna().all(), frame
    heard.wait(lambda: all(heard.updates.get(name, 0) > 2 for name in items), "updates")

    # All fields, an unknown service beside, and a snapshot alone.
    everything = Heard()
    other = stream_of(items[:1], None, everything, "RDFD")
    other.open()
    assert len(other.get_snapshot().columns) > 20
    other.close()
    nowhere = Heard()
    refused = stream_of(items[:1], ["BID"], nowhere, "NO_SUCH_SERVICE")
    refused.open()
    assert nowhere.states, "an unknown service is told by a status"
    refused.close()
    still = Heard()
    once = stream_of(items, ["BID"], still, "RDFD")
    once.open(with_updates=False)
    assert once.get_snapshot()["BID"].notna().all() and not still.updates
    once.close()

    # p2ps is killed and started again: everything is asked for once more by itself.
    before = dict(heard.images)
    with open(os.path.join(calls, "kill"), "w", encoding="ascii"):
        pass
    heard.wait(lambda: all(heard.images.get(name, 0) > before[name] for name in items), "recovery")
    after = dict(heard.updates)
    heard.wait(lambda: all(heard.updates.get(name, 0) > after.get(name, 0) for name in items),
               "updates after it")

    stream.close()
    counts = dict(heard.updates)
    time.sleep(0.5)  # nothing is waited for: it is silence that is looked at
    assert heard.updates == counts, "a closed stream is told nothing more"
    session.close()
    print("lseg-data is satisfied")


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        os._exit(1)  # the threads of the package would keep it alive
