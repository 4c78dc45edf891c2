#!/usr/bin/env python3
"""python_closed.py LIBRARY - what Python does with a backbone that is closed, or in use, is an
error and touches no memory that has gone. No rrcpd is there: items are suspect."""
# SPDX-License-Identifier: Apache-2.0
import os
import sys
import tempfile

import conf_examples
import recording

sys.path.insert(0, os.path.join(recording.SOURCE, "tools/python"))


def is_refused(openrmds, call, *arguments):
    try:
        call(*arguments)
    except openrmds.Error as error:
        return error.code == openrmds.ERROR_STATE
    return False


def check_closed(openrmds, folder):
    backbone = openrmds.Backbone(run_dir=folder)
    backbone.open("RDFD", "TRI.N")
    batch = backbone.batch(5)
    assert list(batch.item) == [0] and batch.flags[0] == openrmds.FIRST | openrmds.STATE
    assert batch.value[0] == 2 and batch.bytes(0) == b"Nobody offers the service"
    backbone.close()
    backbone.close()
    for call in (backbone.batch, backbone.flush, backbone.why, lambda: next(backbone.batches()),
                 lambda: backbone.open("RDFD", "IBM.N"), lambda: backbone.close_item(0),
                 lambda: backbone.publish("risk.a", b"")):
        assert is_refused(openrmds, call)
    try:
        batch.bytes(0)
    except ValueError:
        return
    raise AssertionError("a batch has outlived its memory")


def check_views(openrmds, folder):
    """A slice and whatever else holds the memory, numpy's arrays too."""
    backbone = openrmds.Backbone(run_dir=folder)
    backbone.open("RDFD", "TRI.N")
    kept = backbone.batch(5).value[0:1]
    assert is_refused(openrmds, backbone.close)
    assert kept[0] == 2
    assert len(backbone.batch(0)) == 0  # it goes on
    del kept
    exporter = memoryview(backbone.batch(0).raw)
    assert is_refused(openrmds, backbone.close)
    exporter.release()
    backbone.close()


def check_callback(openrmds, folder):
    """A batch is not closed inside of its turn."""
    told = []

    def on_link(_):
        told.append(is_refused(openrmds, backbone.close) and
                    is_refused(openrmds, backbone.batch))

    backbone = openrmds.Backbone(run_dir=folder, configuration=os.path.join(folder, "rmds.cnf"),
                                 on_link=on_link)
    with backbone:
        backbone.batch(0)
    assert told == [True], told


def main():
    os.environ["OPENRMDS_LIBRARY"] = sys.argv[1]
    import openrmds  # pylint: disable=import-outside-toplevel,import-error
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "rmds.cnf"), "w", encoding="ascii") as out:
            out.write("*rrcp*interface : lo\n*rrcp*authKeyFile :\n")
        check_closed(openrmds, folder)
        check_views(openrmds, folder)
        check_callback(openrmds, folder)


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
