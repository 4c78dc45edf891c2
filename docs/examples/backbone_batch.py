#!/usr/bin/env python3
"""backbone_batch.py RUN-DIR NETWORK INSTANCE DICTIONARY SERVICE ITEM... - takes items right off the
backbone in batches, prints each second how many updates came and the last value of each item's
first field. `-` for DICTIONARY: no values, only bytes."""
# SPDX-License-Identifier: Apache-2.0
import sys
import time

import openrmds


def show(names, last, updates, seconds):
    values = " ".join(f"{names[item]}={value:g}" for item, value in sorted(last.items())[:5])
    print(f"{updates / seconds:,.0f} updates/s {values}", flush=True)


def main():
    run_dir, network, instance, dictionary, service, *names = sys.argv[1:]
    with openrmds.Backbone(network=network, instance=instance, run_dir=run_dir,
                           dictionary=None if dictionary == "-" else dictionary,
                           on_refused=lambda code, why: print("refused:", why)) as backbone:
        for name in names:
            backbone.open(service, name)
        begin, updates, last = time.monotonic(), 0, {}
        while True:
            batch = backbone.batch(0.1)
            for item, flags, value in zip(batch.item, batch.flags, batch.value):
                if flags & openrmds.STATE:
                    print(names[item], "suspect" if value == 2 else "ok")
                elif flags & openrmds.FIRST:
                    updates += not flags & openrmds.IMAGE
                    if flags & openrmds.VALUE:
                        last[item] = value
            passed = time.monotonic() - begin
            if passed >= 1:
                show(names, last, updates, passed)
                begin, updates = time.monotonic(), 0


if __name__ == "__main__":
    main()
