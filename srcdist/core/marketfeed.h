/* marketfeed.h - Marketfeed records become field lists before anything else sees them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_MARKETFEED_H
#define SRCDIST_MARKETFEED_H

#include "private.h"

int srcdist_marketfeed_create(struct srcdist_core *core);
void srcdist_marketfeed_destroy(struct srcdist_core *core);

static inline bool srcdist_marketfeed_is_for(const struct srcdist_core *core,
                                             const struct rwf_peek *peek)
{
    return peek->container == MF_CONTAINER && core->marketfeed.table &&
           (peek->msg_class == RWF_CLASS_UPDATE || peek->msg_class == RWF_CLASS_REFRESH);
}

/*
 * The message with a field list in place of the record, good until the next call. A record that
 * cannot be read becomes a status, suspect, unless the item is known to be suspect. False: there is
 * nothing to send. `target` is what the provider's stream stands for.
 */
bool srcdist_marketfeed_convert(struct srcdist_core *core, uint32_t provider, uint32_t target,
                                struct rwf_bytes bytes, struct rwf_bytes *out);
/* The converted message found no room and comes again: then it is counted. */
void srcdist_marketfeed_take_back(struct srcdist_core *core);

#endif
