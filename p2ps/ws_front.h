/* ws_front.h - WebSocket consumers: JSON of the sub-protocol tr_json2 in, the same out. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef P2PS_WS_FRONT_H
#define P2PS_WS_FRONT_H

#include "mount.h"
#include "ws/ws.h"
#include "json/read.h"
#include "json/write.h"

struct p2ps_dictionary_store;

/* Shared by the WebSocket mounts of one worker. Its front is the first member: a form knows its
 * front, and with it finds the rest. */
struct p2ps_ws {
    struct p2ps_front front;
    struct p2ps_worker *worker;
    struct p2ps_ws_config config;
    struct ws_pool *pool;
    struct json_reader *reader;
    uint8_t *rwf; /* a record in a form, or an administrative message, before it is JSON */
    size_t rwf_size;
    uint8_t *text; /* the same as JSON */
    size_t text_size;
};

/* Messages of a frame that wait for their consumer's turn. */
struct p2ps_ws_waiting {
    uint8_t *text; /* the whole frame; NULL: nothing waits */
    size_t length;
    size_t done;   /* so many of its messages are */
    size_t named;  /* and so many names, or ids, of the batch that comes next */
    size_t failed; /* so many of these ids have no stream */
};

struct p2ps_ws_mount {
    struct ws_conn *conn;
    struct p2ps_ws_waiting waiting;
    bool is_slow;
    uint64_t choked_ns; /* since then its socket has taken nothing of what chokes it */
    int32_t login_stream;
    uint64_t pinged_ns;
};

int p2ps_ws_create(struct p2ps_worker *worker, const struct p2ps_ws_config *config,
                   struct p2ps_ws **out);
void p2ps_ws_destroy(struct p2ps_ws *ws); /* NULL is allowed */

/* ---- between the files of ws ---- */

struct json_write_context p2ps_ws_context(const struct p2ps_ws *ws);
/* A whole message as JSON; false: no room. */
bool p2ps_ws_send_text(struct p2ps_mount *mount, const char *text, size_t length);
int p2ps_ws_send_status(struct p2ps_mount *mount, int32_t stream_id, uint8_t domain,
                        const struct rwf_state *state);
/* The text of one frame. False: some of it waits, or would wait if there were more. */
bool p2ps_ws_requests(struct p2ps_mount *mount, uint64_t now_ns, struct rwf_bytes text);
/* Some messages, or names of a batch, of what waits. False: nothing does any more. */
bool p2ps_ws_requests_more(struct p2ps_mount *mount, uint64_t now_ns);
/* Nothing waits any more. */
void p2ps_ws_requests_drop(struct p2ps_mount *mount);

#endif
