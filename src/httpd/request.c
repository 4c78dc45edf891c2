/* request.c - see httpd/request.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/request.h"

#include <string.h>
#include <strings.h>

enum {
    HTTP_BAD = 400,
    HTTP_NOT_ALLOWED = 405,
    HTTP_BODY = 413,
    HTTP_VERSION = 505,
};

/* The headers that matter here. */
struct headers {
    struct md_slice host;
    struct md_slice origin;
    unsigned hosts, origins;
    bool has_body;
    bool has_bad_length;
    bool wants_close;
    bool wants_more;
};

bool http_slice_is(struct md_slice slice, const char *text)
{
    return slice.length == strlen(text) && memcmp(slice.bytes, text, slice.length) == 0;
}

static bool is_word(struct md_slice slice, const char *text)
{
    return slice.length == strlen(text) &&
           strncasecmp((const char *)slice.bytes, text, slice.length) == 0;
}

static struct md_slice part(const uint8_t *from, const uint8_t *to)
{
    return (struct md_slice){ .bytes = from, .length = (size_t)(to - from) };
}

/* The characters of a token, RFC 9110 section 5.6.2. */
static bool is_token(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c != 0 && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_all_token(struct md_slice slice)
{
    for (size_t i = 0; i < slice.length; i++) {
        if (!is_token(slice.bytes[i]))
            return false;
    }
    return slice.length > 0;
}

static struct md_slice trimmed(struct md_slice slice)
{
    while (slice.length > 0 && (slice.bytes[0] == ' ' || slice.bytes[0] == '\t')) {
        slice.bytes++;
        slice.length--;
    }
    while (slice.length > 0 &&
           (slice.bytes[slice.length - 1] == ' ' || slice.bytes[slice.length - 1] == '\t'))
        slice.length--;
    return slice;
}

/* The line at *at without its CR LF; *at moves behind it. False: its end is not there. */
static bool next_line(const uint8_t **at, const uint8_t *end, struct md_slice *line)
{
    const uint8_t *feed = memchr(*at, '\n', (size_t)(end - *at));

    if (!feed)
        return false;
    *line = part(*at, feed);
    *at = feed + 1;
    return true;
}

/* Takes the CR off; false: there is none, or one inside, or another control byte. */
static bool is_sound(struct md_slice *line)
{
    if (line->length == 0 || line->bytes[line->length - 1] != '\r')
        return false;
    line->length--;
    for (size_t i = 0; i < line->length; i++) {
        uint8_t c = line->bytes[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

/* "/path?query", or the same behind "http://host". */
static bool take_target(struct md_slice target, struct http_request *out)
{
    static const char scheme[] = "http://";
    const uint8_t *end = target.bytes + target.length;

    if (target.length > sizeof(scheme) - 1 &&
        strncasecmp((const char *)target.bytes, scheme, sizeof(scheme) - 1) == 0) {
        const uint8_t *host = target.bytes + sizeof(scheme) - 1;
        const uint8_t *slash = memchr(host, '/', (size_t)(end - host));
        if (!slash)
            return false;
        out->host = part(host, slash);
        target = part(slash, end);
    }
    if (target.length == 0 || target.bytes[0] != '/')
        return false;
    for (size_t i = 0; i < target.length; i++) {
        if (target.bytes[i] <= 0x20 || target.bytes[i] >= 0x7f)
            return false;
    }
    const uint8_t *mark = memchr(target.bytes, '?', target.length);
    out->path = part(target.bytes, mark ? mark : end);
    out->query = mark ? part(mark + 1, end) : part(end, end);
    return true;
}

/* "GET /path HTTP/1.1" */
static int take_request_line(struct md_slice line, struct http_request *out, bool *is_old)
{
    const uint8_t *end = line.bytes + line.length;
    const uint8_t *first = memchr(line.bytes, ' ', line.length);
    const uint8_t *second = first ? memchr(first + 1, ' ', (size_t)(end - first - 1)) : NULL;

    if (!second || !is_all_token(part(line.bytes, first)))
        return HTTP_BAD;
    struct md_slice method = part(line.bytes, first), version = part(second + 1, end);
    if (version.length != 8 || memcmp(version.bytes, "HTTP/", 5) != 0 || version.bytes[6] != '.')
        return HTTP_BAD;
    if (version.bytes[5] != '1' || (version.bytes[7] != '0' && version.bytes[7] != '1'))
        return HTTP_VERSION;
    *is_old = version.bytes[7] == '0';
    if (!http_slice_is(method, "GET") && !http_slice_is(method, "HEAD"))
        return HTTP_NOT_ALLOWED;
    out->is_head = method.bytes[0] == 'H';
    return take_target(part(first + 1, second), out) ? HTTP_OK : HTTP_BAD;
}

static void take_connection(struct md_slice value, struct headers *headers)
{
    while (value.length > 0) {
        const uint8_t *end = value.bytes + value.length;
        const uint8_t *comma = memchr(value.bytes, ',', value.length);
        struct md_slice word = trimmed(part(value.bytes, comma ? comma : end));
        headers->wants_close |= is_word(word, "close");
        headers->wants_more |= is_word(word, "keep-alive");
        value = comma ? part(comma + 1, end) : part(end, end);
    }
}

static void take_length(struct md_slice value, struct headers *headers)
{
    headers->has_bad_length |= value.length == 0;
    for (size_t i = 0; i < value.length; i++) {
        headers->has_bad_length |= value.bytes[i] < '0' || value.bytes[i] > '9';
        headers->has_body |= value.bytes[i] != '0';
    }
}

static bool take_header(struct md_slice line, struct headers *headers)
{
    const uint8_t *colon = memchr(line.bytes, ':', line.length);

    if (!colon || !is_all_token(part(line.bytes, colon)))
        return false;
    struct md_slice name = part(line.bytes, colon);
    struct md_slice value = trimmed(part(colon + 1, line.bytes + line.length));
    if (is_word(name, "Host")) {
        headers->host = value;
        headers->hosts++;
    } else if (is_word(name, "Origin")) {
        headers->origin = value;
        headers->origins++;
    } else if (is_word(name, "Connection")) {
        take_connection(value, headers);
    } else if (is_word(name, "Content-Length")) {
        take_length(value, headers);
    } else if (is_word(name, "Transfer-Encoding")) {
        headers->has_body = true;
    }
    return true;
}

static int conclude(const struct headers *headers, bool is_old, struct http_request *out)
{
    if (headers->hosts > 1 || (headers->hosts == 0 && !is_old) || headers->has_bad_length)
        return HTTP_BAD;
    if (headers->has_body)
        return HTTP_BODY;
    if (out->host.length == 0)
        out->host = headers->host;
    if (headers->origins == 1)
        out->origin = headers->origin;
    out->keeps_alive = !headers->wants_close && (!is_old || headers->wants_more);
    return HTTP_OK;
}

int http_request_parse(const uint8_t *bytes, size_t length, struct http_request *out)
{
    const uint8_t *at = bytes, *end = bytes + length;
    struct headers headers = { .hosts = 0 };
    struct md_slice line;
    bool is_old = false;

    *out = (struct http_request){ .length = 0 };
    if (length >= 2 && at[0] == '\r' && at[1] == '\n')
        at += 2; /* one empty line before a request is forgiven */
    if (!next_line(&at, end, &line))
        return HTTP_INCOMPLETE;
    int status = is_sound(&line) ? take_request_line(line, out, &is_old) : HTTP_BAD;
    if (status != HTTP_OK)
        return status;
    while (next_line(&at, end, &line)) {
        if (!is_sound(&line))
            return HTTP_BAD;
        if (line.length == 0) {
            out->length = (size_t)(at - bytes);
            return conclude(&headers, is_old, out);
        }
        if (!take_header(line, &headers))
            return HTTP_BAD;
    }
    return HTTP_INCOMPLETE;
}

const char *http_status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } known[] = {
        { 200, "OK" },
        { 400, "Bad Request" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 408, "Request Timeout" },
        { 413, "Content Too Large" },
        { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" },
        { 503, "Service Unavailable" },
        { 505, "HTTP Version Not Supported" },
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].status == status)
            return known[i].text;
    }
    return "Error";
}

static bool is_made_of(struct md_slice slice, const char *characters)
{
    for (size_t i = 0; i < slice.length; i++) {
        if (slice.bytes[i] == 0 || !strchr(characters, slice.bytes[i]))
            return false;
    }
    return slice.length > 0;
}

bool http_host_is_literal(struct md_slice host)
{
    if (host.length == 0)
        return true; /* HTTP/1.0 without one: no browser of today */
    const uint8_t *end = host.bytes + host.length;
    if (host.bytes[0] == '[') {
        const uint8_t *close = memchr(host.bytes, ']', host.length);
        return close && is_made_of(part(host.bytes + 1, close), "0123456789abcdefABCDEF:.");
    }
    const uint8_t *colon = memchr(host.bytes, ':', host.length);
    struct md_slice name = part(host.bytes, colon ? colon : end);
    /* A name of digits and dots is an address: no top-level domain is a number. */
    return is_word(name, "localhost") || is_made_of(name, "0123456789.");
}
