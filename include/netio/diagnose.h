/* netio/diagnose.h - why a port, an interface or a certificate cannot be used, for people. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NETIO_DIAGNOSE_H
#define NETIO_DIAGNOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netio/stream.h"

/* Nothing here is called on the data path: all of it reads files, and may allocate. */

/* Names the holder of a port: "p2ps, pid 123", or "a process of user 1000" where /proc hides
 * more. False: /proc does not tell; `out` is "". */
bool net_port_holder(uint16_t port, bool is_udp, char *out, size_t size);

/* The first and the last port that the kernel gives away by itself; 0 and 0 where it hides them. */
void net_port_range(uint16_t *first, uint16_t *last);

/* "eth0 (10.0.0.1), lo (127.0.0.1)": each interface with its first address of `family`, and those
 * without any as "eth1 (no address)". */
void net_interface_list(int family, char *out, size_t size);

enum net_interface_state {
    NET_INTERFACE_FITS,
    NET_INTERFACE_DOWN,         /* it has an address that fits, and is down */
    NET_INTERFACE_UNKNOWN,      /* no interface has this name or address */
    NET_INTERFACE_NO_ADDRESS,   /* it has no address at all */
    NET_INTERFACE_OTHER_FAMILY, /* it has addresses, of the other family only */
};

/* `wanted` is the name or an address of an interface, `family` AF_INET or AF_INET6. */
enum net_interface_state net_interface_look(const char *wanted, int family);

/* The same as a sentence: "there is no interface eth7 on this host", with the list. */
void net_interface_why(const char *wanted, int family, char *out, size_t size);

enum net_tls_file { NET_TLS_CERTIFICATE, NET_TLS_KEY, NET_TLS_CA, NET_TLS_CRL };

typedef void (*net_tls_finding_fn)(void *arg, bool is_error, enum net_tls_file file,
                                   const char *text);

/*
 * Look into the files of a TLS configuration: do they exist, are they PEM, does the key fit the
 * certificate, has it expired, who can read the key. `text` names the path, what was found and
 * what to do. Returns the number of errors; the others are warnings.
 */
unsigned net_tls_examine(const struct net_tls_config *config, net_tls_finding_fn fn, void *arg);

#endif
