/* wire.c - TCP or TLS, as the command line says. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

static const struct {
    const char *name;
    bool is_tls, is_json;
} NAMES[] = {
    { "rssl", false, false }, { "socket", false, false },   { "tcp", false, false },
    { "tls", true, false },   { "encrypted", true, false }, { "websocket", false, true },
    { "ws", false, true },    { "wss", true, true },
};

static int refuse(char *error, size_t error_size, const char *text, const char *value)
{
    snprintf(error, error_size, "%s%s", text, value);
    return MD_ERR_RANGE;
}

static bool find(const struct wire_words *words, bool *is_tls, bool *is_json)
{
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        if (strcmp(NAMES[i].name, words->name) == 0) {
            *is_tls = NAMES[i].is_tls;
            *is_json = NAMES[i].is_json;
            return words->takes_json || !*is_json;
        }
    }
    return false;
}

int wire_make(const struct wire_words *words, bool is_listener, struct wire *wire, char *error,
              size_t error_size)
{
    bool is_tls = false;
    const struct net_tls_config config = { .certificate = words->certificate,
                                           .key = words->key,
                                           .ca = words->ca,
                                           .is_server = is_listener,
                                           .require_client_certificate = is_listener && words->ca };

    *wire = (struct wire){ .transport = &net_tcp_transport };
    if (words->name && !find(words, &is_tls, &wire->is_json))
        return refuse(error, error_size,
                      words->takes_json ? "the wire is rssl (TCP), tls, websocket or wss, not "
                                        : "the wire is rssl (TCP) or tls, not ",
                      words->name);
    if (!is_tls) {
        if (words->certificate || words->key || words->ca)
            return refuse(error, error_size, "-tlsCertFile, -tlsKeyFile and -tlsCaFile need tls",
                          words->takes_json ? " or wss" : "");
        return MD_OK;
    }
    if (is_listener && (!words->certificate || !words->key))
        return refuse(error, error_size, "a port with tls needs -tlsCertFile and -tlsKeyFile", "");
    if (!words->certificate != !words->key)
        return refuse(error, error_size, "-tlsCertFile and -tlsKeyFile are given together", "");
    wire->transport = &net_tls_transport;
    return net_tls_create(&config, error, error_size, &wire->tls);
}

void wire_fini(struct wire *wire)
{
    net_tls_destroy(wire->tls);
    wire->tls = NULL;
}
