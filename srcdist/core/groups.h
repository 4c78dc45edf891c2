/* groups.h - states of item groups that a provider's directory says. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_GROUPS_H
#define SRCDIST_GROUPS_H

#include "private.h"

/* Each change of a group or a service looks at items: a publisher says so many in a message. */
#define SRCDIST_CHANGES_MAX 256

/* True: the message has more changes than a publisher may say at once; it is cut. */
bool srcdist_changes_too_many(struct srcdist_core *core, uint32_t provider, unsigned changes);

/* The groups of the service that the directory is at. */
void srcdist_groups_apply(struct srcdist_core *core, uint32_t provider, struct srcdist_offer *offer,
                          struct omm_directory *directory);

bool srcdist_state_ends_streams(const struct rwf_state *state);

#endif
