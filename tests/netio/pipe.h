/* pipe.h - byte streams within one process, for tests of what stands on streams. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PIPE_H
#define TESTS_PIPE_H

#include "netio/stream.h"

/*
 * The network in which pipes listen and dial: one for the process, to be opened before. Both ends
 * may be on different threads. `capacity`: bytes held each way, which makes a peer that does not
 * read visible.
 */
void pipe_network_open(size_t capacity);
void pipe_network_close(void); /* all its streams are closed before */

extern const struct net_transport pipe_transport;        /* driven by descriptors */
extern const struct net_transport pipe_polled_transport; /* driven by polling */

/* By name: "tcp", "tls", "pipe", "pipe-polled", "rsocket"; NULL if there is none such. */
const struct net_transport *transport_find(const char *name);

#endif
