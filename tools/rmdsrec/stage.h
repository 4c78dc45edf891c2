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
    struct watch *owed_before, *owed_next;
    int32_t stream_id;
    bool has_image;
    bool is_snapshot; /* it goes when its image was sent */
    bool is_owed;     /* its image waits for room; it gets no updates before */
    bool is_answer;   /* that image answers a request */
};

/* A client: src_dist, or any consumer. */
struct listener {
    struct stage *stage;
    struct listener *next;
    struct link *link;
    struct rssl_outq *outq;         /* once it is open */
    struct md_table *streams;       /* stream id -> watch */
    struct watch *owed, *owed_last; /* those whose image waits for room, in order */
    int32_t directory_stream;
    uint32_t directory_filter;
    bool is_logged_in, has_directory, has_output;
    bool is_doomed; /* a message found no room: it is disconnected */
};

struct stage_stats {
    uint64_t messages, bytes, images, requests, errors, watches;
    uint64_t owed;    /* images that had to wait for room */
    uint64_t dropped; /* clients that were disconnected, their queue was full */
};

struct stage {
    struct md_loop *loop;
    struct client_context *context;
    struct wire wire;
    struct player *player;
    struct net_listener *port;
    struct md_loop_fd *port_watch;
    struct md_loop_timer *payer; /* sends images that wait for room */
    struct listener *listeners;
    uint32_t buffers; /* that a client's queue may have */
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
/* The image of the moment, once there is room; if there is none, it goes out with the next one that
 * begins. `is_answer`: to a request. The watch may be gone behind it. */
void stage_send_image(struct watch *watch, bool is_answer);
void stage_pay(void *stage); /* the timer's */
/* It leaves: its image is owed no more. */
void stage_forgive(struct watch *watch);
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
