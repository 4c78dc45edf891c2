/* channel.c - the bytes of a connection: RSSL, or JSON over WebSocket. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/err.h"
#include "tc.h"

#define ERRORS_PRINTED 10u

/* The server cannot use a text of ours, or we one of the server. */
static void on_error(void *owner, struct rwf_bytes text)
{
    struct conn *conn = owner;
    char words[200];

    if (conn->tc->stats.errors++ < ERRORS_PRINTED)
        fprintf(stderr, "rmdstestclient: connection %u: %s\n", conn->number,
                show_words(text, words, sizeof(words)));
}

static int dial_json(struct conn *conn, const struct client_dial *dial, const struct link_ops *ops)
{
    struct tc *tc = conn->tc;
    const struct json_dial to = {
        .transport = dial->transport,
        .options = dial->options,
        .host = dial->host,
        .port = dial->port,
        .ops = *ops,
        .on_error = on_error,
        .owner = conn,
        .read_factor = tc->options.read_factor,
    };

    int rc = json_link_dial(tc->loop, tc->json, &to, &conn->json);
    if (rc == MD_OK)
        json_link_start(conn->json);
    return rc;
}

int channel_dial(struct conn *conn, uint32_t attempt, const struct link_ops *ops)
{
    struct tc *tc = conn->tc;
    uint32_t hosts = (uint32_t)tc->options.host_count;
    struct client_session *session;
    struct client_dial to = {
        .transport = tc->wire.transport,
        .options = { .nodelay = true,
                     .recv_buffer = tc->options.receive_buffer,
                     .tls = tc->wire.tls,
                     .attempt = attempt / hosts,
                     .is_plain = tc->wire.is_plain },
        .host = tc->options.hosts[attempt % hosts],
        .port = tc->options.ports[attempt % hosts],
        .rssl = rssl_config_default(RSSL_ROLE_CLIENT),
    };

    if (tc->wire.is_json)
        return dial_json(conn, &to, ops);
    to.rssl.component = "rmdstestclient";
    int rc = client_session_dial(tc->context, &to, md_clock_mono_ns(), &session);
    if (rc != MD_OK)
        return rc;
    rc = link_create(tc->loop, session, ops, conn, &conn->link);
    if (rc != MD_OK) {
        client_session_destroy(session);
        return rc;
    }
    link_set_read_factor(conn->link, tc->options.read_factor);
    link_start(conn->link);
    return MD_OK;
}

void channel_end(struct conn *conn)
{
    link_destroy(conn->link);
    json_link_destroy(conn->json);
    conn->link = NULL;
    conn->json = NULL;
    conn->json_bytes = 0;
    conn->is_open = false;
}

int channel_write(struct conn *conn, struct rwf_bytes message)
{
    if (conn->json)
        return json_link_send(conn->json, message);
    return rssl_outq_write(client_session_outq(link_session(conn->link)), message.data,
                           message.length);
}

void channel_flush(struct conn *conn)
{
    if (conn->json)
        (void)json_link_flush(conn->json);
    else if (conn->link)
        (void)link_flush(conn->link);
}

void channel_close(struct conn *conn)
{
    if (conn->json)
        json_link_close(conn->json);
    else if (conn->link)
        link_close(conn->link);
}

uint64_t channel_new_bytes(struct conn *conn)
{
    if (!conn->json)
        return 0;
    uint64_t all = json_link_bytes_in(conn->json);
    uint64_t more = all - conn->json_bytes;

    conn->json_bytes = all;
    return more;
}
