/* nak.h - when a missing packet is asked for, asked for again, and given up. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRCP_NAK_H
#define RRCP_NAK_H

#include "base/prng.h"
#include "window.h"

/*
 *      state      an arrival   NCF coming     NCF busy   NCF not held   its timer
 *      REORDER    HAVE         HOLDOFF        -          LOST           BACKOFF
 *      BACKOFF    HAVE         HOLDOFF        later      LOST           ask: ASKED
 *      HOLDOFF    HAVE         -              later      LOST           ask: ASKED
 *      ASKED      HAVE         later          later      LOST           ask again, or LOST
 */

/* The input of the decisions about one sender's packets at one moment. */
struct rrcp_nak {
    const struct rrcp_config *config;
    struct md_prng *prng;
    uint64_t now_ns;
    uint64_t input_empty_ns; /* the last time the network was found empty */
    uint64_t rtt_ns;         /* to the sender; 0: not measured */
    uint64_t rtt_var_ns;
    uint32_t peers;  /* live, the sender among them */
    bool is_leaving; /* the sender's beacon says that it leaves: it answers no requests */
};

enum nak_act { NAK_WAIT, NAK_ASK, NAK_LOSE };

/* Starts the timer of a packet that is missing from now on. */
void rrcp_nak_begin(const struct rrcp_nak *n, struct rrcp_window *w, uint64_t seq);
/* Decides what to do about a missing packet now. */
enum nak_act rrcp_nak_look(const struct rrcp_nak *n, struct rrcp_window *w, uint64_t seq);
void rrcp_nak_asked(const struct rrcp_nak *n, struct rrcp_window *w, uint64_t seq);
/* Applies an NCF that lists `seq`. */
void rrcp_nak_answered(const struct rrcp_nak *n, struct rrcp_window *w, uint64_t seq,
                       uint8_t reason, uint32_t busy_us);

#endif
