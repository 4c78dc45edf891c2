/* fuzz_ws_handshake.c - any request is let in only as the rules of origins say, or has a status. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ws/ws.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void opened(void *owner)
{
    *(bool *)owner = true;
}

static bool message(void *owner, const uint8_t *text, size_t length)
{
    (void)text;
    (void)length;
    return *(bool *)owner;
}

/* The last header of that name, without the blanks around it; the length is 0 if there is none. */
static size_t header(const char *text, const char *name, const char **out)
{
    size_t length = 0;

    for (const char *line = strchr(text, '\n'); line; line = strchr(line + 1, '\n')) {
        const char *at = line + 1 + strspn(line + 1, " \t");
        size_t name_length = strlen(name);

        if (strncasecmp(at, name, name_length) != 0)
            continue;
        at += name_length + strspn(at + name_length, " \t");
        if (*at != ':')
            continue;
        at += 1 + strspn(at + 1, " \t");
        length = strcspn(at, "\n");
        while (length && strchr(" \t\r", at[length - 1]))
            length--;
        *out = at;
    }
    return length;
}

/* No list names this origin, so it has to be the host itself. */
static void check_origin(const char *text)
{
    const char *origin = "";
    const char *host = "";
    size_t origin_length = header(text, "Origin", &origin);
    size_t host_length = header(text, "Host", &host);

    if (origin_length == 0)
        return;
    if (host_length == 0 || host_length > origin_length ||
        strncasecmp(origin + origin_length - host_length, host, host_length) != 0)
        abort();
}

static void check_answer(struct ws_conn *conn, bool is_open)
{
    struct md_slice slice;
    int status = 0;
    char head[16] = { 0 };

    if (ws_output(conn, &slice, 1) != 1) {
        if (is_open)
            abort();
        return;
    }
    memcpy(head, slice.bytes, slice.length < 15 ? slice.length : 15);
    if (sscanf(head, "HTTP/1.1 %d ", &status) != 1 || (status == 101) != is_open || status < 101 ||
        status > 503)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ws_owner_ops ops = { .opened = opened, .message = message };
    static const struct ws_config config = {
        .path = "/WebSocket",
        .protocols = "tr_json2 rssl.json.v2",
        .allowed_origins = "",
        .message_max = 1000,
        .queue_max = 100000,
        .handshake_ns = 10,
    };
    static char text[20000];
    static uint8_t bytes[sizeof(text)];
    struct ws_pool *pool;
    struct ws_conn *conn;
    bool is_open = false;

    if (size >= sizeof(text) || memchr(data, 0, size) ||
        ws_pool_create(&(struct ws_pool_config){ 0 }, &pool) != 0 ||
        ws_create(&config, pool, 0, &ops, &is_open, &conn) != 0)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    memcpy(bytes, data, size);
    ws_input(conn, 1, bytes, size);
    char *end = strstr(text, "\r\n\r\n");
    if (end)
        end[4] = 0;
    if (is_open)
        check_origin(text);
    check_answer(conn, is_open);
    ws_tick(conn, 10);
    ws_destroy(conn);
    ws_pool_destroy(pool);
    return 0;
}
