/* fake_rsocket.h - rsockets over TCP of this host, with the bad manners of the real ones and more.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FAKE_RSOCKET_H
#define TESTS_FAKE_RSOCKET_H

#include <stdbool.h>

#include "rsocket_calls.h"

/*
 * Descriptors are of the kernel and mean nothing to it, as the real ones: its poll reports nothing.
 * A call that the library would not survive ends the process with a sentence: reading or writing
 * before the connection was seen to be open, closing or ending what is waited for, a call to
 * a closed rsocket, an order to the device (anything but recv and sendmsg) by the first thread of
 * the process.
 */
extern const struct rsocket_calls fake_rsocket_calls;

struct fake_rsocket_manners {
    unsigned short_percent;    /* reads and writes that do a part */
    unsigned again_percent;    /* reads and writes that say EAGAIN without need */
    unsigned spurious_percent; /* polls that return and found nothing */
    bool is_without_device;
};
void fake_rsocket_manners_set(const struct fake_rsocket_manners *manners);

/* Ends and closings take as long as this is on. */
void fake_rsocket_hold(bool is_on);
unsigned fake_rsocket_open_count(void); /* rsockets that are not closed */
/* Polls that were made since the start. */
unsigned long fake_rsocket_poll_count(void);

#endif
