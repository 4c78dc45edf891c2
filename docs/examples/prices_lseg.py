#!/usr/bin/env python3
"""prices_lseg.py HOST:PORT ITEM[,ITEM...] [UPDATES] - the same with lseg-data.

    pip install lseg-data==2.1.1
    python3 prices_lseg.py localhost:15000 DEMO1.O,DEMO2.O 10
"""
# SPDX-License-Identifier: Apache-2.0
import sys
import threading

import lseg.data as ld
from lseg.data.content import pricing


def main():
    server, items = sys.argv[1], sys.argv[2].split(",")
    left = [int(sys.argv[3]) if len(sys.argv) > 3 else sys.maxsize]
    done = threading.Event()

    def show(kind):
        def heard(fields, name, _stream):
            print(kind, name, fields, flush=True)
            left[0] -= kind == "update"
            if left[0] <= 0:
                done.set()
        return heard

    session = ld.session.platform.Definition(
        app_key="any", deployed_platform_host=server,
        deployed_platform_username="me").get_session()
    session.open()
    ld.session.set_default(session)
    stream = pricing.Definition(items, fields=["BID", "ASK"]).get_stream()
    stream.on_refresh(show("image"))
    stream.on_update(show("update"))
    stream.open()
    print(stream.get_snapshot(), flush=True)
    done.wait()
    stream.close()
    session.close()


if __name__ == "__main__":
    main()
