/* fuzz_ws_client.c - any bytes of a server, in pieces of any size, are messages or the end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "ws/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MESSAGE_MAX 4096
#define QUEUE_MAX   8192

struct owner {
    struct ws_client *client;
    bool is_open;
    unsigned sum;
};

static void opened(void *self)
{
    struct owner *owner = self;

    owner->is_open = true;
}

static void message(void *self, const uint8_t *text, size_t length)
{
    struct owner *owner = self;

    if (!owner->is_open || length > MESSAGE_MAX || !ws_client_is_open(owner->client))
        abort();
    for (size_t i = 0; i < length; i++)
        owner->sum += text[i];
    (void)ws_client_send(owner->client, text, length);
    if (owner->sum % 31 == 1)
        ws_client_close(owner->client, 1000, "enough");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char answer[] = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                                 "Connection: Upgrade\r\n"
                                 "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
                                 "Sec-WebSocket-Protocol: tr_json2\r\n\r\n";
    static const struct ws_client_ops ops = { .opened = opened, .message = message };
    struct ws_client_config config = {
        .host = "h",
        .path = "/WebSocket",
        .protocol = "tr_json2",
        .message_max = MESSAGE_MAX,
        .queue_max = QUEUE_MAX,
        .handshake_ns = 10,
    };
    struct owner owner = { 0 };

    memcpy(config.key, "the sample nonce", sizeof(config.key));
    if (size < 1 || ws_client_create(&config, 0, &ops, &owner, &owner.client) != 0)
        return 0;
    size_t piece = (size_t)(data[0] >> 1) + 1;
    if (data[0] & 1) {
        ws_client_input(owner.client, 1, (const uint8_t *)answer, sizeof(answer) - 1);
        if (!owner.is_open)
            abort();
    }
    for (size_t at = 1; at < size; at += piece) {
        size_t length = size - at < piece ? size - at : piece;

        ws_client_input(owner.client, 1, data + at, length);
        struct md_slice out = ws_client_output(owner.client);
        if (out.length > QUEUE_MAX)
            abort();
        if (at % 3 == 0)
            ws_client_sent(owner.client, out.length / 2 + 1 > out.length ? 0 : out.length / 2 + 1);
    }
    ws_client_close(owner.client, 1000, "");
    ws_client_sent(owner.client, ws_client_output(owner.client).length);
    if (!ws_client_is_finished(owner.client))
        abort();
    ws_client_destroy(owner.client);
    return 0;
}
