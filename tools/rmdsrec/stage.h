/* stage.h - the provider of rmdsrec replay: who listens, and what is sent to whom. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STAGE_H
#define STAGE_H

#include "base/loop.h"
#include "client/session.h"
#include "link.h"
#include "player.h"
#include "wire.h"

#define STAGE_MESSAGE_MAX (1u << 20)

struct stage;

/* An item on one stream of one listener. */
struct watch {
    struct listener *listener;
    struct play_item *item;
    struct watch *next; /* of the item */
    int32_t stream_id;
    bool has_image;
};

/* A client: src_dist, or any consumer. */
struct listener {
    struct stage *stage;
    struct listener *next;
    struct link *link;
    struct rssl_outq *outq;   /* once it is open */
    struct md_table *streams; /* stream id -> watch */
    int32_t directory_stream;
    uint32_t directory_filter;
    bool is_logged_in, has_directory, has_output;
};

struct stage_stats {
    uint64_t messages, bytes, images, requests, errors, watches;
};

struct stage {
    struct md_loop *loop;
    struct client_context *context;
    struct wire wire;
    struct player *player;
    struct net_listener *port;
    struct md_loop_fd *port_watch;
    struct listener *listeners;
    struct stage_stats stats;
    uint8_t message[STAGE_MESSAGE_MAX];
    uint8_t part[60000];
};

/* False: told. */
bool stage_open(struct stage *stage, const char *address, uint16_t port);
void stage_close(struct stage *stage);

/* stage_send.c */
/* True: each listener takes more; else they have to be waited for. */
bool stage_has_room(struct stage *stage);
void stage_flush(struct stage *stage);
void stage_send(struct listener *listener, struct rwf_bytes message);
/* The image of the moment; if there is none, it goes out with the next one that begins. */
void stage_send_image(struct watch *watch, bool is_solicited, bool is_streaming);
void stage_send_status(struct listener *listener, int32_t stream_id, uint8_t domain,
                       struct rwf_state state);
/* The record at hand of the player, to those whom it concerns; before player_step(). */
void stage_play(struct stage *stage);
/* Images of the moment to all that watch: the player has sought another one. */
void stage_refresh_all(struct stage *stage);
/* The directory, or a change of states (`is_update`), of all services or one. */
void stage_send_directory(struct listener *listener, bool is_update,
                          const struct play_service *only);
void watch_remove(struct watch *watch);

#endif
