/* main.c - rwfdump: prints RWF messages from hex, raw files and captures. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/err.h"
#include "names.h"
#include "out.h"
#include "pcap.h"
#include "rmds/rwf.h"
#include "show.h"
#include "tap.h"
#include "tcp.h"

enum input {
    INPUT_GUESS,
    INPUT_HEX,
    INPUT_RAW,
    INPUT_RSSL,
    INPUT_PCAP,
};

struct rwfdump {
    struct out out;
    struct show *show;
    struct rwf_dictionary *dictionary;
    const char *fields_path; /* NULL: the default, if it is there */
    const char *enums_path;
    const char *file; /* being read, for messages */
    enum input input;
    int type; /* of what is not a message on a connection */
    uint16_t port;
    bool has_pings;
    uint64_t count_max;
    uint64_t count;
    uint64_t packet_time_ns;
    bool failed; /* a file could not be read, or was not what it should be */
};

static const char *const usage_text =
    "Usage: rwfdump [OPTION...] [FILE...]\n"
    "Print RWF messages as text, JSON or XML. Without FILE, or for -, read standard input.\n"
    "\n"
    "  -i, --input KIND     hex, raw (one message), rssl (one direction of a connection), pcap;\n"
    "                       guessed if not given\n"
    "  -o, --output FORMAT  text (default), json (one object for each message), xml\n"
    "  -t, --type TYPE      what hex and raw hold: msg (default), or a type: field_list, map, "
    "real\n"
    "  -d, --fields FILE    the field dictionary\n"
    "  -e, --enums FILE     the enumerated types\n"
    "  -p, --port PORT      of a capture, only connections with this port\n"
    "  -n, --count NUMBER   stop after that many messages\n"
    "  -x, --hex            show the bytes of each value, too\n"
    "  -P, --pings          show pings, too\n"
    "      --color WHEN     auto (default: on a terminal), always, never\n"
    "  -h, --help           this text\n"
    "  -V, --version        the version\n"
    "\n"
    "Long options may be written with one dash.\n"
    "Exit status: 0; 1 if something was broken; 2 if a file could not be read.\n"
    "Example: tcpdump -w - port 14002 | rwfdump -o json\n";

/* ---- files ---- */

static uint8_t *read_stream(FILE *file, size_t *length)
{
    size_t room = 65536, used = 0;
    uint8_t *bytes = malloc(room);

    while (bytes) {
        size_t got = fread(bytes + used, 1, room - used, file);

        used += got;
        if (got == 0)
            break;
        if (used == room) {
            uint8_t *bigger = realloc(bytes, room * 2);

            if (!bigger) {
                free(bytes);
                return NULL;
            }
            bytes = bigger;
            room *= 2;
        }
    }
    *length = used;
    return bytes;
}

static uint8_t *read_file(const char *path, size_t *length)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "rb");
    uint8_t *bytes = file ? read_stream(file, length) : NULL;
    int error = errno;

    if (file && ferror(file)) {
        free(bytes);
        bytes = NULL;
    }
    if (file && !is_stdin)
        fclose(file);
    if (!bytes)
        fprintf(stderr, "rwfdump: cannot read %s: %s\n", path, strerror(error));
    return bytes;
}

static int load_dictionary_file(struct rwfdump *dump, const char *path, bool is_fields)
{
    struct rwf_dictionary_error error;
    size_t length;
    uint8_t *text = read_file(path, &length);
    int err;

    if (!text)
        return 2;
    if (is_fields)
        err = rwf_dictionary_load_fields(dump->dictionary, path, text, length, &error);
    else
        err = rwf_dictionary_load_enums(dump->dictionary, path, text, length, &error);
    free(text);
    if (err == MD_OK)
        return 0;
    fprintf(stderr, "rwfdump: %s\n", error.text);
    return 2;
}

static int load_dictionary(struct rwfdump *dump)
{
    const char *fields = dump->fields_path ? dump->fields_path : RWFDUMP_CONF "/RDMFieldDictionary";
    const char *enums = dump->enums_path ? dump->enums_path : RWFDUMP_CONF "/enumtype.def";
    int rc = 0;

    if (rwf_dictionary_create(&dump->dictionary) != MD_OK)
        return 2;
    if (dump->fields_path || access(fields, R_OK) == 0)
        rc = load_dictionary_file(dump, fields, true);
    if (rc == 0 && (dump->enums_path || (!dump->fields_path && access(enums, R_OK) == 0)))
        rc = load_dictionary_file(dump, enums, false);
    return rc;
}

/* ---- what the inputs have in common ---- */

static bool is_enough(const struct rwfdump *dump)
{
    return dump->count_max && dump->count >= dump->count_max;
}

static void complain(struct rwfdump *dump, const char *what)
{
    fprintf(stderr, "rwfdump: %s: %s\n", dump->file, what);
    dump->failed = true;
}

static void print(struct rwfdump *dump, struct rwf_bytes bytes, const struct show_origin *origin)
{
    struct show_origin numbered = origin ? *origin : (struct show_origin){ .number = 0 };

    if (is_enough(dump))
        return;
    dump->count++;
    numbered.number = dump->count;
    if (dump->type == RWF_TYPE_MSG)
        show_message(dump->show, bytes, &numbered);
    else
        show_data(dump->show, (unsigned)dump->type, bytes);
}

static void time_text(uint64_t time_ns, char *text, size_t size)
{
    time_t seconds = (time_t)(time_ns / 1000000000u);
    struct tm tm;
    size_t length;

    gmtime_r(&seconds, &tm);
    length = strftime(text, size, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + length, size - length, ".%06uZ", (unsigned)(time_ns % 1000000000u / 1000u));
}

static void print_from(struct rwfdump *dump, const struct tcp_message *message, const char *from,
                       const char *to)
{
    char when[40];
    struct show_origin origin = { .from = from, .to = to };

    if (dump->packet_time_ns) {
        time_text(dump->packet_time_ns, when, sizeof(when));
        origin.time = when;
    }
    if (message->event == TAP_MESSAGE) {
        print(dump, rwf_bytes(message->bytes, message->length), &origin);
    } else if (message->event == TAP_NOTE) {
        fprintf(stderr, "rwfdump: %s: %s -> %s: %.*s\n", dump->file, from, to, (int)message->length,
                (const char *)message->bytes);
    } else if (dump->has_pings && !is_enough(dump)) {
        out_begin(&dump->out, "ping");
        if (origin.time)
            out_word(&dump->out, "time", origin.time);
        out_word(&dump->out, "from", from);
        out_word(&dump->out, "to", to);
        out_end(&dump->out);
    }
}

/* ---- captures ---- */

static void on_message(void *user, const struct tcp_message *message)
{
    char from[PACKET_ADDRESS_TEXT], to[PACKET_ADDRESS_TEXT];

    packet_address_text(message->from, from);
    packet_address_text(message->to, to);
    print_from(user, message, from, to);
}

static void dump_pcap(struct rwfdump *dump, const uint8_t *bytes, size_t length)
{
    struct pcap_packet packet;
    struct pcap pcap;
    struct tcp *tcp;
    int rc = pcap_open(&pcap, bytes, length);

    if (rc != MD_OK) {
        complain(dump, "this is no capture (pcap or pcapng)");
        return;
    }
    if (tcp_create(on_message, dump, &tcp) != MD_OK) {
        complain(dump, "out of memory");
        return;
    }
    while (!is_enough(dump) && (rc = pcap_next(&pcap, &packet)) > 0) {
        struct packet_segment segment;

        dump->packet_time_ns = packet.time_ns;
        if (packet_parse(&packet, &segment) &&
            (!dump->port || segment.from.port == dump->port || segment.to.port == dump->port))
            tcp_input(tcp, &segment);
    }
    tcp_finish(tcp);
    tcp_destroy(tcp);
    if (rc < 0)
        complain(dump, "the capture is cut off or broken here");
}

/* ---- streams without packets: a raw direction, lines of hex ---- */

struct stream {
    struct rwfdump *dump;
    struct rssl_pool *pool;
    struct tap *tap;
};

static void on_stream(void *user, enum tap_event event, int side, const uint8_t *bytes,
                      size_t length)
{
    static const char *const names[] = { "connecting", "listening" };
    const struct stream *stream = user;
    const struct tcp_message message = { .event = event, .bytes = bytes, .length = length };

    print_from(stream->dump, &message, names[side], names[1 - side]);
}

static bool stream_open(struct stream *stream, struct rwfdump *dump)
{
    *stream = (struct stream){ .dump = dump };
    if (rssl_pool_create(NULL, &stream->pool) == MD_OK &&
        tap_create(stream->pool, on_stream, stream, &stream->tap) == MD_OK)
        return true;
    complain(dump, "out of memory");
    return false;
}

static void stream_close(struct stream *stream)
{
    tap_destroy(stream->tap);
    rssl_pool_destroy(stream->pool);
}

static void dump_rssl(struct rwfdump *dump, const uint8_t *bytes, size_t length)
{
    struct stream stream = { 0 };

    if (stream_open(&stream, dump) && length > 0 && tap_whole(stream.tap, bytes, length) != MD_OK)
        dump->show->broken_count++;
    stream_close(&stream);
}

/* ---- hex ---- */

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        return (c | 0x20) - 'a' + 10;
    return -1;
}

/* Pairs of digits, blanks between them allowed; false if there is something else. */
static bool parse_hex(const char *line, size_t length, uint8_t *bytes, size_t *byte_count)
{
    int high = -1;

    *byte_count = 0;
    for (size_t i = 0; i < length; i++) {
        int d = digit(line[i]);

        if (strchr(" \t\r:", line[i]) && line[i] && high < 0)
            continue;
        if (d < 0)
            return false;
        if (high < 0) {
            high = d;
        } else {
            bytes[(*byte_count)++] = (uint8_t)(high << 4 | d);
            high = -1;
        }
    }
    return high < 0;
}

/* A line: hex; "> hex" or "< hex", sent by the one or the other end; "C hex" or "S hex", bytes of
 * the connecting or the listening end of an RSSL connection; "# comment". */
static void dump_hex_line(struct rwfdump *dump, struct stream *stream, const char *line,
                          size_t length, uint8_t *bytes)
{
    char mark = length > 1 && line[1] == ' ' && strchr("<>CS", line[0]) ? line[0] : 0;
    struct show_origin origin = { .number = 0 };
    size_t count;

    if (length == 0 || line[0] == '#' || line[0] == ';')
        return;
    if (!parse_hex(line + (mark ? 2 : 0), length - (mark ? 2 : 0), bytes, &count)) {
        complain(dump, "a line is not hex");
        return;
    }
    if (mark == 'C' || mark == 'S') {
        tap_input(stream->tap, mark == 'S', bytes, count, true);
        return;
    }
    if (mark) {
        origin.from = mark == '>' ? "connecting" : "listening";
        origin.to = mark == '>' ? "listening" : "connecting";
    }
    if (count)
        print(dump, rwf_bytes(bytes, count), &origin);
}

static void dump_hex(struct rwfdump *dump, const uint8_t *text, size_t length)
{
    uint8_t *bytes = malloc(length / 2 + 1);
    struct stream stream = { 0 };

    if (bytes && stream_open(&stream, dump)) {
        for (size_t at = 0; at < length;) {
            const uint8_t *newline = memchr(text + at, '\n', length - at);
            size_t end = newline ? (size_t)(newline - text) : length;

            dump_hex_line(dump, &stream, (const char *)text + at, end - at, bytes);
            at = end + 1;
        }
        if (tap_finish(stream.tap, true) != MD_OK)
            dump->show->broken_count++;
    }
    stream_close(&stream);
    free(bytes);
}

/* ---- one input ---- */

static bool is_text(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length && i < 512; i++)
        if ((bytes[i] < 0x20 && bytes[i] != '\t' && bytes[i] != '\r' && bytes[i] != '\n') ||
            bytes[i] > 0x7e)
            return false;
    return length > 0;
}

static bool is_message(const uint8_t *bytes, size_t length)
{
    struct rwf_msg msg;

    return rwf_msg_decode(rwf_bytes(bytes, length), &msg) == RWF_OK;
}

/* A frame's head can pass for that of a message and the other way round: what decides is whether
 * the lengths lead from frame to frame up to the end, and whether a message is in the first one. */
static bool is_stream(const uint8_t *bytes, size_t length)
{
    size_t frames = tap_frames(bytes, length);
    size_t head = length > 2 && bytes[2] & 0x10 ? 5 : 3; /* packed: a length before each message */

    if (frames == length)
        return true;
    return frames > head &&
           (is_message(bytes + head, md_be16(bytes) - head) || !is_message(bytes, length));
}

static enum input guess(const struct rwfdump *dump, const uint8_t *bytes, size_t length)
{
    enum tap_start start = tap_start(bytes, length);

    if (pcap_is_capture(bytes, length))
        return INPUT_PCAP;
    if (is_text(bytes, length))
        return INPUT_HEX;
    if (dump->type != RWF_TYPE_MSG)
        return INPUT_RAW;
    if (start == TAP_START_REQUEST || start == TAP_START_ACK || start == TAP_START_NAK ||
        is_stream(bytes, length))
        return INPUT_RSSL;
    return is_message(bytes, length) ? INPUT_RAW : INPUT_GUESS;
}

static void nothing_known(struct rwfdump *dump)
{
    fprintf(stderr,
            "rwfdump: %s: neither a capture nor hex, a stream of RSSL frames or a message; "
            "-i says what it is\n",
            dump->file);
    dump->show->broken_count++;
}

static void dump_file(struct rwfdump *dump, const char *path)
{
    size_t length;
    uint8_t *bytes = read_file(path, &length);
    enum input input = dump->input;

    dump->file = strcmp(path, "-") == 0 ? "standard input" : path;
    if (!bytes) {
        dump->failed = true;
        return;
    }
    if (input == INPUT_GUESS)
        input = guess(dump, bytes, length);
    dump->packet_time_ns = 0;
    if (input == INPUT_PCAP)
        dump_pcap(dump, bytes, length);
    else if (input == INPUT_RSSL)
        dump_rssl(dump, bytes, length);
    else if (input == INPUT_HEX)
        dump_hex(dump, bytes, length);
    else if (input == INPUT_RAW)
        print(dump, rwf_bytes(bytes, length), NULL);
    else
        nothing_known(dump);
    free(bytes);
}

/* ---- options ---- */

static int choose(const char *value, const char *const *names, const char *option)
{
    for (int i = 0; names[i]; i++)
        if (strcasecmp(value, names[i]) == 0)
            return i;
    fprintf(stderr, "rwfdump: %s does not know '%s'; it takes one of:", option, value);
    for (int i = 0; names[i]; i++)
        fprintf(stderr, " %s", names[i]);
    fputs("\n", stderr);
    return -1;
}

static bool parse_number(const char *text, uint64_t max, uint64_t *number)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    *number = value;
    if (errno == 0 && *text >= '0' && *text <= '9' && !*end && value <= max)
        return true;
    fprintf(stderr, "rwfdump: '%s' is not a number from 0 to %llu\n", text,
            (unsigned long long)max);
    return false;
}

struct options {
    int format;
    int colour;
    bool has_hex;
};

/* 0: go on; else exit with that status, -1 for 0. */
static int apply_option(struct rwfdump *dump, struct options *options, int option)
{
    static const char *const inputs[] = { "guess", "hex", "raw", "rssl", "pcap", NULL };
    static const char *const formats[] = { "text", "json", "xml", NULL };
    static const char *const colours[] = { "auto", "always", "never", NULL };
    uint64_t number;
    int choice = 0;

    switch (option) {
    case 'i':
        choice = choose(optarg, inputs, "--input");
        dump->input = (enum input)choice;
        break;
    case 'o':
        choice = choose(optarg, formats, "--output");
        options->format = choice;
        break;
    case 'c':
        choice = choose(optarg, colours, "--color");
        options->colour = choice;
        break;
    case 't':
        choice = strcasecmp(optarg, "msg") == 0 ? RWF_TYPE_MSG : names_type(optarg);
        if (choice < 0)
            fprintf(stderr, "rwfdump: no type is called '%s'; try field_list, map, real, 132\n",
                    optarg);
        dump->type = choice;
        break;
    case 'd':
        dump->fields_path = optarg;
        break;
    case 'e':
        dump->enums_path = optarg;
        break;
    case 'p':
        choice = parse_number(optarg, UINT16_MAX, &number) ? 0 : -1;
        dump->port = (uint16_t)number;
        break;
    case 'n':
        choice = parse_number(optarg, UINT64_MAX, &dump->count_max) ? 0 : -1;
        break;
    case 'x':
        options->has_hex = true;
        break;
    case 'P':
        dump->has_pings = true;
        break;
    case 'V':
        puts("rwfdump " RMDS_VERSION);
        return -1;
    case 'h':
        fputs(usage_text, stdout);
        return -1;
    default:
        fputs("rwfdump: try rwfdump --help\n", stderr);
        return 1;
    }
    return choice < 0 ? 1 : 0;
}

static int parse_options(struct rwfdump *dump, struct options *options, int argc, char **argv)
{
    static const struct option long_options[] = {
        { "input", required_argument, NULL, 'i' },
        { "output", required_argument, NULL, 'o' },
        { "type", required_argument, NULL, 't' },
        { "fields", required_argument, NULL, 'd' },
        { "enums", required_argument, NULL, 'e' },
        { "port", required_argument, NULL, 'p' },
        { "count", required_argument, NULL, 'n' },
        { "hex", no_argument, NULL, 'x' },
        { "pings", no_argument, NULL, 'P' },
        { "color", required_argument, NULL, 'c' },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'V' },
        { NULL, 0, NULL, 0 },
    };
    int option, rc;

    while ((option = getopt_long_only(argc, argv, "i:o:t:d:e:p:n:xPhV", long_options, NULL)) !=
           -1) {
        rc = apply_option(dump, options, option);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int run(struct rwfdump *dump, char **files, int count)
{
    int rc = load_dictionary(dump);

    if (rc != 0)
        return rc;
    dump->show->out = &dump->out;
    dump->show->dictionary = dump->dictionary;
    out_open(&dump->out);
    for (int i = 0; i < count; i++)
        dump_file(dump, files[i]);
    if (count == 0)
        dump_file(dump, "-");
    out_close(&dump->out);
    if (fflush(stdout) != 0)
        return 2;
    if (dump->failed)
        return 2;
    return dump->show->broken_count ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct rwfdump dump = { .type = RWF_TYPE_MSG };
    struct options options = { .format = OUT_TEXT };
    int rc = parse_options(&dump, &options, argc, argv);

    if (rc != 0)
        return rc < 0 ? 0 : rc;
    dump.show = calloc(1, sizeof(*dump.show));
    if (!dump.show)
        return 2;
    out_init(&dump.out, stdout, (enum out_format)options.format,
             options.colour == 1 || (options.colour == 0 && isatty(STDOUT_FILENO)));
    dump.show->has_hex = options.has_hex;
    rc = run(&dump, argv + optind, argc - optind);
    rwf_dictionary_destroy(dump.dictionary);
    free(dump.show);
    return rc;
}
