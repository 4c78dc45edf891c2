/* handshake.c - the request for a WebSocket, and the answer in words of HTTP. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "conn.h"

#define SHA1_SIZE 20
#define KEY_SIZE  24 /* of sixteen bytes in base64 */

/* A piece of the request. */
struct piece {
    const char *text;
    size_t length;
};

struct request {
    struct piece method, path, version;
    struct piece host, origin, upgrade, connection, key, ws_version, protocols;
};

/* ---- pieces ---- */

static struct piece trimmed(const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
        to--;
    return (struct piece){ from, (size_t)(to - from) };
}

static bool is_word(struct piece p, const char *word)
{
    return p.length == strlen(word) && strncasecmp(p.text, word, p.length) == 0;
}

static bool same(struct piece a, struct piece b)
{
    return a.length == b.length && strncasecmp(a.text, b.text, a.length) == 0;
}

/* The next name of a list; `*list` goes on behind it. */
static bool next_of(struct piece *list, char between, struct piece *out)
{
    while (list->length > 0) {
        const char *end = memchr(list->text, between, list->length);
        size_t length = end ? (size_t)(end - list->text) : list->length;

        *out = trimmed(list->text, list->text + length);
        list->text += length + (end != NULL);
        list->length -= length + (end != NULL);
        if (out->length)
            return true;
    }
    return false;
}

static bool has_word(struct piece list, char between, const char *word)
{
    struct piece one;

    while (next_of(&list, between, &one)) {
        if (is_word(one, word))
            return true;
    }
    return false;
}

static bool has_piece(const char *words, struct piece p)
{
    struct piece list = { words, strlen(words) };
    struct piece one;

    while (next_of(&list, ' ', &one)) {
        if (same(one, p))
            return true;
    }
    return false;
}

/* ---- the request ---- */

static void read_header(struct request *q, struct piece name, struct piece value)
{
    const struct {
        const char *name;
        struct piece *value;
    } known[] = {
        { "Host", &q->host },
        { "Origin", &q->origin },
        { "Upgrade", &q->upgrade },
        { "Connection", &q->connection },
        { "Sec-WebSocket-Key", &q->key },
        { "Sec-WebSocket-Version", &q->ws_version },
        { "Sec-WebSocket-Protocol", &q->protocols },
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (is_word(name, known[i].name))
            *known[i].value = value;
    }
}

static bool read_first_line(struct request *q, struct piece line)
{
    return next_of(&line, ' ', &q->method) && next_of(&line, ' ', &q->path) &&
           next_of(&line, ' ', &q->version) && line.length == 0 && q->version.length == 8 &&
           strncmp(q->version.text, "HTTP/1.", 7) == 0;
}

static bool read_request(struct request *q, const char *text, size_t length)
{
    const char *end = text + length;
    bool is_first = true;

    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        const char *line_end = stop && stop > text && stop[-1] == '\r' ? stop - 1 : stop;
        if (!stop)
            return false;
        struct piece line = trimmed(text, line_end);
        text = stop + 1;
        if (line.length == 0)
            continue;
        if (is_first) {
            if (!read_first_line(q, line))
                return false;
            is_first = false;
            continue;
        }
        const char *colon = memchr(line.text, ':', line.length);
        if (!colon)
            return false;
        read_header(q, trimmed(line.text, colon), trimmed(colon + 1, line.text + line.length));
    }
    return !is_first;
}

/* ---- the answer ---- */

static const char *status_words(int status)
{
    switch (status) {
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 408:
        return "Request Timeout";
    case 426:
        return "Upgrade Required";
    case 431:
        return "Request Header Fields Too Large";
    case 503:
        return "Service Unavailable";
    default:
        return "Bad Request";
    }
}

void ws_refuse(struct ws_conn *conn, int status, const char *more, const char *text)
{
    char answer[1024];
    int length = snprintf(answer, sizeof(answer),
                          "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Type: text/plain\r\n"
                          "Content-Length: %zu\r\n%s\r\n%s\n",
                          status, status_words(status), strlen(text) + 1, more, text);

    if (length > 0 && (size_t)length < sizeof(answer))
        ws_out_raw(conn, (const uint8_t *)answer, (size_t)length);
    ws_end(conn, text);
}

bool ws_accept_key(const char *key, char out[32])
{
    static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    char text[KEY_SIZE + sizeof(magic)];
    uint8_t digest[SHA1_SIZE];

    memcpy(text, key, KEY_SIZE);
    memcpy(text + KEY_SIZE, magic, sizeof(magic) - 1);
    if (EVP_Digest(text, KEY_SIZE + sizeof(magic) - 1, digest, NULL, EVP_sha1(), NULL) != 1)
        return false;
    return EVP_EncodeBlock((unsigned char *)out, digest, SHA1_SIZE) > 0;
}

/* The query says nothing here; a slash may end the path. */
static bool is_path(struct piece path, const char *wanted)
{
    const char *query = memchr(path.text, '?', path.length);
    size_t length = query ? (size_t)(query - path.text) : path.length;

    if (length > 1 && path.text[length - 1] == '/')
        length--;
    return length == strlen(wanted) && strncasecmp(path.text, wanted, length) == 0;
}

/* The name in a Host: without its port. */
static struct piece host_name(struct piece host)
{
    const char *colon = memchr(host.text, ':', host.length);

    if (host.length && host.text[0] != '[' && colon)
        host.length = (size_t)(colon - host.text);
    return host;
}

static bool is_address(struct piece name)
{
    if (name.length && name.text[0] == '[')
        return true;
    for (size_t i = 0; i < name.length; i++) {
        if ((name.text[i] < '0' || name.text[i] > '9') && name.text[i] != '.')
            return false;
    }
    return name.length > 0;
}

/* The part of an origin behind its scheme. */
static struct piece origin_host(struct piece origin)
{
    for (size_t i = 0; i + 3 <= origin.length; i++) {
        if (memcmp(origin.text + i, "://", 3) == 0)
            return (struct piece){ origin.text + i + 3, origin.length - i - 3 };
    }
    return origin;
}

static bool is_listed(const char *allowed, struct piece host)
{
    struct piece list = { allowed, strlen(allowed) };
    struct piece one;

    while (next_of(&list, ' ', &one)) {
        if (is_word(one, "*") || same(origin_host(one), host))
            return true;
    }
    return false;
}

static void note_origin(struct ws_conn *conn, struct piece origin)
{
    snprintf(conn->origin, sizeof(conn->origin), "%.*s", (int)origin.length, origin.text);
}

/* DNS rebinding: an owner of a name can let it lead to 127.0.0.1, and his page then is of our
 * origin. So on the loopback only localhost, addresses and listed names are ours. */
static bool is_foreign(struct ws_conn *conn, const struct request *q)
{
    if (!conn->config.is_loopback || q->host.length == 0)
        return false;
    struct piece name = host_name(q->host);
    if (is_word(name, "localhost") || is_address(name) ||
        is_listed(conn->config.allowed_origins, q->host))
        return false;
    note_origin(conn, q->host);
    return true;
}

/* Only a browser sends an Origin that is not the host it speaks to. */
static bool is_origin_allowed(struct ws_conn *conn, const struct request *q)
{
    const char *allowed = conn->config.allowed_origins;

    if (q->origin.length == 0 || has_piece(allowed, (struct piece){ "*", 1 }) ||
        has_piece(allowed, q->origin))
        return true;
    /* Without a Host nobody is the same. */
    if (q->host.length > 0 && same(origin_host(q->origin), q->host) && !is_foreign(conn, q))
        return true;
    note_origin(conn, q->origin);
    return false;
}

static bool choose_protocol(const struct ws_conn *conn, struct piece asked, struct piece *out)
{
    while (next_of(&asked, ',', out)) {
        if (has_piece(conn->config.protocols, *out))
            return true;
    }
    return false;
}

static bool refuse(struct ws_conn *conn, int status, const char *more, const char *text)
{
    ws_refuse(conn, status, more, text);
    return false;
}

static bool check(struct ws_conn *conn, const struct request *q)
{
    if (!is_word(q->method, "GET"))
        return refuse(conn, 405, "Allow: GET\r\n", "Only GET is served here");
    if (!is_path(q->path, conn->config.path))
        return refuse(conn, 404, "", "No such path: the WebSocket is at /WebSocket");
    if (!has_word(q->upgrade, ',', "websocket") || !has_word(q->connection, ',', "upgrade"))
        return refuse(conn, 426, "Upgrade: websocket\r\n",
                      "This is a WebSocket: the request has to say Upgrade: websocket and "
                      "Connection: Upgrade");
    if (!is_word(q->ws_version, "13"))
        return refuse(conn, 426, "Sec-WebSocket-Version: 13\r\n",
                      "Sec-WebSocket-Version has to be 13");
    if (q->key.length != KEY_SIZE)
        return refuse(conn, 400, "", "Sec-WebSocket-Key is missing or is not sixteen bytes");
    if (!is_origin_allowed(conn, q))
        return refuse(conn, 403, "",
                      "Pages of another origin are not served: see wsAllowedOrigins");
    return true;
}

/* ---- the page ---- */

static bool asks_for_page(const struct ws_conn *conn, const struct request *q)
{
    return conn->config.page && is_word(q->method, "GET") && is_path(q->path, "/") &&
           q->upgrade.length == 0;
}

/* Always false: the connection ends behind the page. */
static bool serve_page(struct ws_conn *conn, const struct request *q)
{
    const struct ws_page *page = conn->config.page;
    char head[1024];

    if (is_foreign(conn, q))
        return refuse(conn, 403, "",
                      "This name is not served here: ask for localhost or for the address, or list "
                      "the name in wsAllowedOrigins");
    int length = snprintf(head, sizeof(head),
                          "HTTP/1.1 200 OK\r\nConnection: close\r\n"
                          "Content-Type: text/html; charset=utf-8\r\n"
                          "Content-Length: %zu\r\n%s\r\n",
                          page->body.length, page->headers);
    if (length > 0 && (size_t)length < sizeof(head) &&
        ws_out_raw(conn, (const uint8_t *)head, (size_t)length))
        ws_out_page(conn, page->body);
    ws_end(conn, "it has the live page");
    return false;
}

bool ws_handshake(struct ws_conn *conn, const uint8_t *bytes, size_t length)
{
    struct request q = { 0 };
    struct piece protocol;
    char accept[32];
    char name[32];
    char answer[512];

    if (!read_request(&q, (const char *)bytes, length))
        return refuse(conn, 400, "", "This is no request of HTTP/1.1");
    if (conn->config.refusal)
        return refuse(conn, 503, "", conn->config.refusal);
    if (asks_for_page(conn, &q))
        return serve_page(conn, &q);
    if (!check(conn, &q) || !q.key.text)
        return false;
    if (!choose_protocol(conn, q.protocols, &protocol))
        return refuse(conn, 400, "", "Sec-WebSocket-Protocol has to name tr_json2");
    snprintf(name, sizeof(name), "%.*s", (int)protocol.length, protocol.text);
    for (char *c = name; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
    if (!ws_accept_key(q.key.text, accept))
        return refuse(conn, 503, "", "SHA-1 is not to be had");
    int written = snprintf(answer, sizeof(answer),
                           "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                           "Upgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n"
                           "Sec-WebSocket-Protocol: %s\r\n\r\n",
                           accept, name);
    if (ws_out_raw(conn, (const uint8_t *)answer, (size_t)written))
        return true;
    ws_end(conn, "no memory for the answer to its request");
    return false;
}
