/* noted.h - a pending update that is a list of field ids: the values are in the image. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFLATE_NOTED_H
#define CONFLATE_NOTED_H

#include "private.h"

/* The pending update, alone in its run so far, and `fresh` become one that is noted. False: they
 * do not, and nothing has changed. */
bool conflate_noted_begin(struct conflate *c, struct conflate_pending *pending,
                          const struct rwf_msg *old, const struct rwf_msg *fresh, uint64_t now_ns);
/* `fresh` goes into one that is noted. False: as before. */
bool conflate_noted_add(struct conflate *c, struct conflate_pending *pending,
                        const struct rwf_msg *fresh, uint64_t now_ns);
/* With the values of `image`. False: a field is missing there. */
bool conflate_noted_write(struct conflate *c, const struct conflate_pending *pending,
                          struct rwf_bytes image, struct rwf_bytes *out);

#endif
