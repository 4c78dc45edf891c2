/* wire.c - TCP, TLS or rsocket, as the command line says. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/loop.h"
#include "netio/rsocket.h"

static const struct {
    const char *name;
    const struct net_transport *transport;
    bool is_json;
} NAMES[] = {
    { "rssl", &net_tcp_transport, false },      { "socket", &net_tcp_transport, false },
    { "tcp", &net_tcp_transport, false },       { "tls", &net_tls_transport, false },
    { "encrypted", &net_tls_transport, false }, { "rsocket", &net_rsocket_transport, false },
    { "websocket", &net_tcp_transport, true },  { "ws", &net_tcp_transport, true },
    { "wss", &net_tls_transport, true },
};

static int refuse(char *error, size_t error_size, const char *text, const char *value)
{
    snprintf(error, error_size, "%s%s", text, value);
    return MD_ERR_RANGE;
}

static bool find(const struct wire_words *words, struct wire *wire)
{
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        if (strcmp(NAMES[i].name, words->name) == 0) {
            wire->transport = NAMES[i].transport;
            wire->is_json = NAMES[i].is_json;
            return words->takes_json || !wire->is_json;
        }
    }
    return false;
}

int wire_make(const struct wire_words *words, bool is_listener, struct wire *wire, char *error,
              size_t error_size)
{
    char why[560];
    const struct net_tls_config config = { .certificate = words->certificate,
                                           .key = words->key,
                                           .ca = words->ca,
                                           .is_server = is_listener,
                                           .require_client_certificate = is_listener && words->ca };

    *wire = (struct wire){ .transport = &net_tcp_transport };
    if (words->name && !find(words, wire))
        return refuse(error, error_size,
                      words->takes_json
                          ? "the wire is rssl (TCP), tls, rsocket, websocket or wss, not "
                          : "the wire is rssl (TCP), tls or rsocket, not ",
                      words->name);
    if (words->method && strcmp(words->method, "poll") == 0)
        wire->is_plain = true;
    else if (words->method && strcmp(words->method, "epoll") != 0)
        return refuse(error, error_size, "-eventMethod is epoll or poll, not ", words->method);
    if (wire->is_plain)
        md_loop_use_poll(true);
    if (wire->transport == &net_rsocket_transport && !net_rsocket_is_here(why, sizeof(why)))
        return refuse(error, error_size, "rsocket: ", why);
    if (wire->transport != &net_tls_transport) {
        if (words->certificate || words->key || words->ca)
            return refuse(error, error_size, "-tlsCertFile, -tlsKeyFile and -tlsCaFile need tls",
                          words->takes_json ? " or wss" : "");
        return MD_OK;
    }
    if (is_listener && (!words->certificate || !words->key))
        return refuse(error, error_size, "a port with tls needs -tlsCertFile and -tlsKeyFile", "");
    if (!words->certificate != !words->key)
        return refuse(error, error_size, "-tlsCertFile and -tlsKeyFile are given together", "");
    return net_tls_create(&config, error, error_size, &wire->tls);
}

void wire_fini(struct wire *wire)
{
    net_tls_destroy(wire->tls);
    wire->tls = NULL;
}
