#!/usr/bin/env python3
"""hot_path_json.py LIBRARY - no daemon asks for memory message by message for consumers of JSON.

The chain of hot_path.py with five consumers of JSON over WebSocket in place of those of RSSL: the
library counts in every thread of the daemons what asks for memory. Once data flow that is nothing.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "system"))
import conf_examples  # noqa: E402
import hot_path  # noqa: E402

PORT, RATE, CONSUMERS, SECONDS, LOOKS = "15016", "1000", "5", 2, 10


def main():
    hot_path.CACHES += f"*p2ps*wsEnable : True\n*p2ps*wsPort : {PORT}\n"
    run = conf_examples.load_run()
    with tempfile.TemporaryDirectory() as folder:
        items = os.path.join(folder, "items")
        with open(items, "w", encoding="ascii") as out:
            conf_examples.tool("sink_driven_src", "-mklist", "500", "X", stdout=out).wait()
        source = conf_examples.tool("sink_driven_src", "-S", "RDFD", "-N", "14102", "-L",
                                    "127.0.0.1", "-U", RATE, "-tps", "200", "-tcpnodel",
                                    "-seqdata", stdout=subprocess.DEVNULL)
        client = system = None
        try:
            system, daemons = hot_path.start_system(run, folder, sys.argv[1])
            client = conf_examples.tool("rmdstestclient", "-ct", "websocket", "-S", "RDFD", "-h",
                                        "127.0.0.1", "-p", PORT, "-f", items, "-u", "demo",
                                        "-conns", CONSUMERS, "-secs", "600", "-I", "1",
                                        stdout=subprocess.PIPE, text=True)
            hot_path.wait_for_data(client)
            # A queue that was never so long asks once more; what asks for each message never stops.
            assert any(hot_path.judge_memory(daemons, SECONDS) for _ in range(LOOKS))
        finally:
            if client:
                client.send_signal(signal.SIGINT)
                client.communicate()
            if system:
                run.down(system)
            source.terminate()
            source.wait()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
