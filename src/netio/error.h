/* error.h - sentences of net_error() that are not of the system. Private to netio. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_ERROR_H
#define NETIO_ERROR_H

#include <errno.h>

/* errno when net_error() has such a sentence; the kernel's sockets do not give it. */
#define NET_ERROR_TOLD ELIBACC

/* Sets both, and returns MD_ERR_SYS. */
int net_error_set(const char *text);

#endif
