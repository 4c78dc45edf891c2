/* publish.h - from a provider's message to a record of the backbone. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_PUBLISH_H
#define SRCDIST_PUBLISH_H

#include "private.h"

/* One part of an image. MD_ERR_FULL: no room now. */
int srcdist_publish_part(struct srcdist_core *core, uint32_t item, const struct rrmp_part *part,
                         struct rwf_bytes message);

/* Sends a STATUS of the item that comes from src_dist itself. MD_ERR_FULL: not sent. */
int srcdist_publish_state(struct srcdist_core *core, uint32_t item, uint8_t stream, uint8_t data,
                          uint8_t code, const char *text);
int srcdist_publish_message(struct srcdist_core *core, uint32_t provider, uint32_t item,
                            const struct rwf_peek *peek, struct rwf_bytes bytes);

#endif
