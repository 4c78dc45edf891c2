/* upstream.h - what an item has at its provider: a place in the window, a request, a stream. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_UPSTREAM_H
#define SRCDIST_UPSTREAM_H

#include "private.h"

/* The request of the item no longer counts in the provider's window. */
void srcdist_item_uncount(struct srcdist_core *core, struct srcdist_item *it);

/* The item no longer counts against the OpenLimit of its service at the provider. */
void srcdist_item_leave_offer(struct srcdist_core *core, struct srcdist_item *it);

/* Sends CLOSE to an interactive provider, now or when the connection has room. */
void srcdist_stream_close(struct srcdist_core *core, uint32_t provider, int32_t stream_id,
                          uint8_t domain);

/* By the provider. One that had not heard our re-issue by then takes it for a new request: that one
 * is closed before the item is asked for again. */
void srcdist_item_ended(struct srcdist_core *core, uint32_t item);
/* The stream id goes to another item that shares it, or is free. */
void srcdist_item_give_stream(struct srcdist_core *core, uint32_t provider, int32_t stream_id,
                              uint32_t item);
/* Ends what the item has at its provider; `tell`: with a CLOSE. */
void srcdist_item_detach(struct srcdist_core *core, uint32_t item, bool tell);
bool srcdist_item_upstream_key(struct srcdist_core *core, uint32_t item, uint32_t provider,
                               uint8_t *domain, struct rwf_key *key, struct rwf_qos *qos);
/* `message`: what p2ps sent beside the key; empty: nothing. */
int srcdist_request_send(struct srcdist_core *core, uint32_t provider, int32_t stream_id,
                         struct rrmp_view key, uint16_t service, bool is_streaming, bool is_private,
                         struct rrmp_view message);
int srcdist_item_reissue(struct srcdist_core *core, uint32_t item);

/* True: the window of the provider allows one more request. */
bool srcdist_provider_has_room(const struct srcdist_core *core, uint32_t provider);

/* Puts the item into the queue of the provider. MD_ERR_NOMEM. */
int srcdist_item_enqueue(struct srcdist_core *core, uint32_t item, uint32_t provider);
/* Takes the item from its provider; the sweep asks for it again after a growing pause. */
void srcdist_item_backoff(struct srcdist_core *core, uint32_t item);
void srcdist_items_pump(struct srcdist_core *core, uint32_t provider);
void srcdist_item_answered(struct srcdist_core *core, uint32_t item);

#endif
