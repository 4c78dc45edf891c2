/* check.h - what the users of the simulated nodes were promised. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "rrcpsim.h"

/*
 * Every message carries who sent it, in which stream and its number there, and a body made from
 * these; so a receiver's checker can tell a lost, doubled, invented, swapped or damaged message.
 * The wire is watched to know in which packets each message travelled.
 */
#define MESSAGE_BYTES_MIN 48
#define SIM_TOPICS        3 /* that a node may not want */

struct message_head {
    uint64_t session;
    uint32_t number; /* multicast: per session; unicast: per pair; from 1 */
    uint32_t to;     /* life it is for + 1; 0 = all */
    uint32_t length;
    uint8_t is_unicast;
    uint16_t port;
    uint32_t wishes; /* of its sender */
    uint64_t sent_ns;
};

/* One run of one node: what it sent. */
struct sim_life {
    uint64_t session;
    int node;
    uint64_t begin_ns;
    bool is_over;
    uint32_t count; /* multicast messages */
    uint32_t seen;  /* of which packets were seen to begin */
    struct sim_sent {
        uint64_t first;
        uint64_t last; /* packets; 0: not sent */
        uint32_t to;
        uint64_t excused; /* nodes that need not get it, as bits: they do not want it */
    } * sent;
    uint32_t sent_size;
    uint32_t partial;   /* message whose end was not seen yet */
    uint64_t seq_first; /* first and last packet sent */
    uint64_t seq_last;
    uint64_t trail;     /* what is below it no longer holds: the highest it said so of */
    uint64_t *seq_ns;   /* when each was sent first */
    uint32_t *seq_naks; /* NAK packets that asked for it */
    uint32_t seq_size;
    uint32_t *unicast; /* per life of a destination: messages sent to it */
    uint32_t wishes;   /* how often it changed what it wants */
    /* Since which change it wants each topic; 0: from its birth, UINT32_MAX: it does not. */
    uint32_t since[SIM_TOPICS];
};

struct sim_gap {
    uint64_t first, last;
};

/* What one node has been told of one life. */
struct sim_view {
    bool was_up, is_up;
    bool has_base;     /* some message came: from there on nothing may be missing */
    uint32_t downs;    /* how often it was told that it is down, */
    uint32_t rejoins;  /* and of a gap because it was away */
    uint32_t last;     /* last multicast message delivered */
    uint64_t last_seq; /* its packet; or the end of the last gap */
    uint64_t gap_last;
    struct sim_gap *gaps;
    uint32_t gap_count, gap_size;
    uint32_t unicast_last;
    uint32_t wishes; /* of that life, when it sent what this node got by unicast last */
    bool unicast_may_miss;
    uint32_t unicast_excused; /* up to here the sender itself knows of a loss */
    uint32_t ports_down[4];
    uint32_t port_count;
};

struct sim_check {
    struct sim *sim;
    struct sim_life *lives;
    uint32_t life_count, life_max;
    int nodes;
    struct sim_view **views; /* by node, then by life */
    uint64_t gap_reasons[8];
    uint64_t *node_gaps; /* [node * 8 + reason] */
    uint32_t *node_life; /* its present or last life */
};

void check_init(struct sim_check *check, struct sim *sim, int nodes, uint32_t lives);
void check_fini(struct sim_check *check);
/* A new life; returns its number. */
uint32_t check_begin(struct sim_check *check, int node, uint64_t session, uint64_t now_ns);
struct sim_life *check_life(struct sim_check *check, uint64_t session);

/* Make the message; returns its length. */
uint32_t check_message(struct sim_check *check, uint32_t life, uint8_t *bytes, uint32_t length,
                       uint16_t port, int to, bool is_unicast);
/* It was not accepted after all. */
void check_unmessage(struct sim_check *check, uint32_t life, int to, bool is_unicast);

/* The last multicast message of this life has this topic: who must get it? A node that has wanted
 * it since before it sent, by unicast, what this node has got. */
void check_topic(struct sim_check *check, uint32_t life, int topic);
/* The node wants these topics from now on, as bits. */
void check_wish(struct sim_check *check, int node, uint32_t topics);
/* There was time enough: each node knows what each other wants, asked or not. */
void check_wishes_known(struct sim_check *check);

void check_wire(struct sim_check *check, uint32_t life, const struct rrcp_packet *packet);
void check_event(struct sim_check *check, int node, uint32_t life,
                 const struct backbone_event *event);
/* The node died: what it will be told next begins anew. */
void check_forget(struct sim_check *check, int node);
/* Forging is over: what follows is judged, what was before is not. */
void check_calm(struct sim_check *check);
bool check_is_up(const struct sim_check *check, int node, uint32_t life);
bool check_has_heard(const struct sim_check *check, int node, uint32_t life); /* since calm */
bool check_has_unicast(const struct sim_check *check, int node, uint32_t life);
/* At the end: everything sent was delivered or told. */
void check_end(struct sim_check *check, int node, uint32_t life, struct rrcp *r);

#endif
