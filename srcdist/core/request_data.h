/* request_data.h - data in the requests of private streams, until their provider has them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_REQUEST_DATA_H
#define SRCDIST_REQUEST_DATA_H

#include "omm/item.h"
#include "private.h"

/* Takes what is in a REQUEST, as p2ps sent it beside the key: the container and its bytes. Views
 * into `message`; without data there are none. */
void srcdist_request_data_read(struct rrmp_view message, struct omm_item_request *request);

/* Keeps the message of the private stream until it is asked for. MD_ERR_FULL: too many wait, or
 * there is no memory. */
int srcdist_request_data_keep(struct srcdist_core *core, uint32_t item, struct rrmp_view message);
/* Empty: there is none. Valid until it is given. */
struct rrmp_view srcdist_request_data_of(const struct srcdist_core *core, uint32_t item);
void srcdist_request_data_give(struct srcdist_core *core, uint32_t item);
void srcdist_request_data_fini(struct srcdist_core *core);

#endif
