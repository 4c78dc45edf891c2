/* client_handshake.c - the request for a WebSocket, and what the server answers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "client_handshake.h"

#define ANSWER_MAX (16u << 10)

int ws_client_ask(struct ws_client *c, const struct ws_client_config *config)
{
    char key[WS_CLIENT_KEY_SIZE * 2];
    char request[1024];

    EVP_EncodeBlock((unsigned char *)key, config->key, WS_CLIENT_KEY_SIZE);
    if (!ws_accept_key(key, c->accept))
        return MD_ERR_UNSUPPORTED;
    snprintf(c->protocol, sizeof(c->protocol), "%s", config->protocol);
    int length = snprintf(request, sizeof(request),
                          "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\n"
                          "Connection: Upgrade\r\nSec-WebSocket-Key: %s\r\n"
                          "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: %s\r\n\r\n",
                          config->path, config->host, key, config->protocol);
    if (length < 0 || (size_t)length >= sizeof(request))
        return MD_ERR_RANGE;
    return ws_client_keep(&c->out, sizeof(request), request, (size_t)length);
}

/* The value of a header line, NULL: there is none of that name. */
static const char *header(const char *text, const char *end, const char *name, size_t *length)
{
    size_t size = strlen(name);

    for (const char *line = text; line < end;) {
        const char *stop = memmem(line, (size_t)(end - line), "\r\n", 2);
        if (!stop)
            return NULL;
        if ((size_t)(stop - line) > size && line[size] == ':' &&
            strncasecmp(line, name, size) == 0) {
            const char *value = line + size + 1;
            while (value < stop && (*value == ' ' || *value == '\t'))
                value++;
            *length = (size_t)(stop - value);
            while (*length > 0 && (value[*length - 1] == ' ' || value[*length - 1] == '\t'))
                --*length;
            return value;
        }
        line = stop + 2;
    }
    return NULL;
}

static bool says(const char *text, const char *end, const char *name, const char *wanted)
{
    size_t length = 0;
    const char *value = header(text, end, name, &length);

    return value && length == strlen(wanted) && strncasecmp(value, wanted, length) == 0;
}

/* The status and the sentence behind the headers: "403 Forbidden: Pages of another ..." */
static void tell_refusal(struct ws_client *c, const char *line, const char *end, const char *rest)
{
    const char *stop = memmem(line, (size_t)(end - line), "\r\n", 2);
    const char *status = memchr(line, ' ', (size_t)(stop - line));
    const char *text_end = rest < end ? memchr(rest, '\n', (size_t)(end - rest)) : NULL;

    status = status ? status + 1 : line;
    size_t length = (size_t)(stop - status);
    size_t more = (size_t)((text_end ? text_end : end) - rest);
    ws_client_end(c, "the server answers %.*s%s%.*s", (int)(length < 60 ? length : 60), status,
                  more ? ": " : "", (int)(more < 160 ? more : 160), rest);
}

size_t ws_client_answer(struct ws_client *c, const uint8_t *bytes, size_t length)
{
    const char *text = (const char *)bytes;
    const char *stop = length ? memmem(text, length, "\r\n\r\n", 4) : NULL;

    if (!stop || (size_t)(stop - text) > ANSWER_MAX) {
        if (length > ANSWER_MAX)
            ws_client_end(c, "the answer to the handshake is longer than 16 KB");
        return 0;
    }
    const char *end = stop + 2; /* of the last line */
    if (stop - text < 12 || strncmp(text, "HTTP/1.", 7) != 0)
        ws_client_end(c, "the answer to the handshake is no HTTP/1.1");
    else if (strncmp(text + 8, " 101", 4) != 0)
        tell_refusal(c, text, text + length, stop + 4);
    else if (!says(text, end, "Upgrade", "websocket") ||
             !says(text, end, "Connection", "upgrade") ||
             !says(text, end, "Sec-WebSocket-Accept", c->accept))
        ws_client_end(c, "the answer to the handshake is no WebSocket");
    else if (!says(text, end, "Sec-WebSocket-Protocol", c->protocol))
        ws_client_end(c, "the server does not speak %s", c->protocol);
    else
        c->phase = WS_CLIENT_OPEN;
    return (size_t)(stop - text) + 4;
}
