"""tidy_known.py - what tidy.py lets pass, each with the reason or the step that removes it."""
# SPDX-License-Identifier: Apache-2.0

# Files of one folder whose functions call each other in a circle. "*": any circle in that folder.
CIRCLES = {
    "src/base": [({"log", "log_sink"}, "a sink that fails is reported through the log")],
    "src/cache": [({"cache", "fields", "merge", "merged", "pages", "records", "ripple"},
                   "an image grows its own arena")],
    "src/rrmp": [
        ({"sink", "sink_directory", "sink_events", "sink_follow", "sink_images", "sink_items",
          "sink_loss", "sink_mirror", "sink_open", "sink_posts", "sink_queue", "sink_records",
          "sink_resume", "sink_tell"},
         "the sink is one state machine: an image may requeue, a refusal may close"),
        ({"source", "source_events", "source_gap", "source_items", "source_requests", "source_room"},
         "the source is one state machine"),
    ],
    "src/rssl": [({"channel", "connect", "reader"}, "a channel's handshake and its frames")],
    "src/rwf": [({"members", "message"}, "a message may be a member of a message")],
    "tools/rmdsfault": [({"clients", "streams"},
                         "a client that ends takes its streams, a stream without room its client")],
    "tools/rmdsmon": [({"print", "rows"}, "rows say how they are printed")],
    "tools/rmdsrec": [({"feed", "feed_setup"}, "one state machine: a connection's life"),
                      ({"stage", "stage_send"}, "one state machine: a client of the provider")],
    "tools/rmdstestclient": [({"counts", "report"}, "the last report is a count"),
                             ({"conn", "data", "setup"}, "one state machine: a connection's life")],
    "tools/sink_driven_src": [({"answers", "publish", "requests", "server"},
                               "one state machine: a client of the publisher")],
}

# Headers that belong to no .c file and declare functions of several.
SHARED_HEADERS = {
    "src/attach/internal.h": "types of four small files; one door each would be four headers of 10 "
                             "lines",
    "src/cache/image.h": "the arena and its fields",
    "tools/rmdsrec/rec.h": "the verbs, one function each",
    "src/conf/internal.h": "one language in five files",
    "src/netio/rsocket_private.h": "one transport in four files",
    "src/netio/udp_private.h": "the sockets of two transports in three files",
    "src/netio/verbs_private.h": "one transport in four files",
    "src/netio/verbs_rdma.h": "one device in three files",
    "src/rrmp/sink_impl.h": "the sink's state machine",
    "src/rrmp/source_impl.h": "the source's state machine",
    "src/rssl/channel_private.h": "one channel in three files",
    "src/rwf/wire.h": "one codec in several files",
    "tools/rmdsfault/inside.h": "one engine in four files",
    "tools/rmdstestclient/tc.h": "one small program",
    "tools/sink_driven_src/sds.h": "one small program",
    "tools/rrcpperf/perf.h": "one small program",
}

# Tables among the files of product code over 600 lines.
LONG_FILES = {
    "src/conf/table.c": "a table: a row for each parameter",
    "src/status/figures.c": "a table: a row for each figure",
}

# Tables among the functions over 60 lines.
LONG_FUNCTIONS = {
    "write_member": "a table: one case for each kind of member, which the compiler checks for gaps",
    "decode_member": "the same",
}

# Functions that only tests, simulators and benchmarks call.
FOR_TESTS = {
    "rec_reader_open": "of one file: programs open a series, which may have one",
    "mf_reason_name": "marketfeed_vectors and who converts by the library name reasons",
    "cache_image_bytes": "test_cache: what an image takes",
    "client_context_pool": "test_client_idle: buffers go back",
    "p2ps_parties_count": "test_p2ps_limits: parties are forgotten",
    "md_clock_is_tsc": "base_bench says which clock it measured",
    "md_clock_wall_shift": "tests of a clock that is set",
    "rates_is_exempt": "test_rates, and who has rules without lines of services",
    "rsocket_calls_set": "tests put rsockets of their own in place of librdmacm's",
    "md_cpu_set_format": "tests read a set back",
    "md_conf_lookup": "test_conf_match judges matches by it",
    "md_conf_warning_count": "tests of warnings",
    "httpd_stats": "tests of the bounds of the server",
    "md_log_stats": "tests of what the log drops",
    "md_log_flush": "tests read the log at once",
    "md_loop_timer_is_running": "tests of timers",
    "md_loop_turn": "tests turn a loop by hand",
    "md_loop_wake_fd": "tests of wake-ups",
    "entitle_rules_authority": "unit tests: rules without a thread that checks passwords",
    "p2ps_core_check": "rrmpsim and the unit tests of both cores, when they settle",
    "rrcp_digest": "the simulator: a hostile packet changes nothing",
    "forward_check": "relaysim and unit tests, after every step",
    "rrcp_check": "simulators and unit tests, after every step",
    "rrmp_sink_check": "rrmpsim, unit tests and the fuzzer",
    "entitle_rules_create": "unit tests, the fuzzer and benchmarks, whose rules are in no file",
    "rrmp_source_check": "the same",
    "srcdist_core_check": "rrmpsim and unit tests",
    "rrcp_transition_name": "rrcpsim's table of coverage",
    "rrmp_sink_instance_is": "rrmpsim's judge",
    "rrmp_sink_memory_max": "R14",
    "rrmp_source_memory_max": "R14",
    "rrmp_type_name": "traces of rrmpsim",
    "rssl_outq_set_packing": "test_rssl_outq",
}

# Functions that nothing calls, in folders that are being rebuilt now.
UNCALLED = {}

# Comments that begin with What, Who, Said or Told: at most this many may be left. Lower it.
COMMENTS_WITHOUT_SUBJECT = 0

# Names in comments and documents of files that do not exist, in folders that are being rebuilt.
ABSENT = set()

# Lines of Python over 100 columns (120 with a literal of 40): at most this many. Lower it.
PYTHON_LINES_TOO_LONG = 150
