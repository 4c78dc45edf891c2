/* delayed.h - delayed services: what the provider of the other one sends goes into the line. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_DELAYED_H
#define SRCDIST_DELAYED_H

#include "private.h"

/*
 * A delayed service is offered by a provider that is no connection but the far end of a line
 * (delay/delay.h): a non-interactive one, so images, fan-out and recovery are those of any other.
 *
 *     publish.c -> delayed.c       messages of the live service into the line
 *     turn.c -> delayed_want.c     consumers wait for delayed items: the live ones are kept open
 *     core.c -> delayed_out.c      what is due out of the line, as that provider's messages
 */
struct srcdist_delay {
    const struct srcdist_delayed *config;
    char live_name[SRCDIST_NAME_MAX]; /* the service that is delayed */
    struct delay *line;
    uint32_t live;     /* its index, SRCDIST_NONE: it is not known now */
    uint32_t provider; /* the far end, SRCDIST_NONE: the live service is down */
    uint16_t service;  /* the delayed one, while there is a provider */
    struct rwf_qos live_qos, qos;
    uint8_t *bytes; /* a message on its way out */
    size_t size;
    uint64_t retry_ns; /* the backbone had no room: not before */
    uint32_t walk;     /* item to look at next */
    uint64_t *idle_ns; /* by live item: nobody has the delayed one since then; 0: somebody has */
    uint32_t idle_room;
    uint64_t gaps; /* told */
};

/* The service, which is new, is to have a delayed one. */
void srcdist_delay_begin(struct srcdist_core *core, uint32_t service);
/* It is forgotten; the line stays. */
void srcdist_delay_leave(struct srcdist_core *core, uint32_t service);
void srcdist_delays_destroy(struct srcdist_core *core);
void srcdist_delays_wall_set(struct srcdist_core *core);

/* The delay whose items these are; NULL: it is no delayed service. */
struct srcdist_delay *srcdist_delay_of(const struct srcdist_core *core, uint32_t service);
/* A delayed service has the lines of filterFile of the one that is delayed. */
const char *srcdist_delay_live_name(const struct srcdist_core *core, uint32_t service);
/* The key of the same item in the other service, in `out` of RRMP_KEY_SIZE_MAX. */
struct rwf_bytes srcdist_delay_key(struct rrmp_view key, const struct rwf_qos *qos, uint8_t *out);

/* ---- into the line; one branch where nothing is delayed ---- */

void srcdist_delay_take(struct srcdist_core *core, uint32_t item, enum delay_kind kind,
                        bool is_first, bool is_last, struct rwf_bytes message);
void srcdist_delay_end(struct srcdist_core *core, uint32_t item, uint8_t stream_state,
                       uint8_t code);

/* The line has it: its publisher may come again. */
bool srcdist_delay_has(const struct srcdist_core *core, uint32_t item);
/* It is suspect from here on, or is not any more. */
void srcdist_delay_state(struct srcdist_core *core, uint32_t item, uint8_t data_state, uint8_t code,
                         const char *text);

/* The same of all items of the service that this provider has. */
void srcdist_delay_states(struct srcdist_core *core, uint32_t provider, uint32_t service,
                          const struct rwf_state *state);

static inline void srcdist_delay_message(struct srcdist_core *core, uint32_t item,
                                         enum delay_kind kind, bool is_first, bool is_last,
                                         struct rwf_bytes message)
{
    if (core->services[core->items[item].service].delay)
        srcdist_delay_take(core, item, kind, is_first, is_last, message);
}

static inline void srcdist_delay_ended(struct srcdist_core *core, uint32_t item,
                                       uint8_t stream_state, uint8_t code)
{
    if (core->services[core->items[item].service].delay)
        srcdist_delay_end(core, item, stream_state, code);
}

#endif
