/* seal/seal.h - the cipher of the backbone's packets: AES-GCM, for rrcp/rrcp.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEAL_SEAL_H
#define SEAL_SEAL_H

#include "rrcp/rrcp.h"

/*
 * The session's key is HKDF-SHA256 of the group's key: salt is the session's number, info "rrcp1",
 * network id, key id and algorithm. The nonce is 32 zero bits and the counter.
 *
 * One struct serves any number of engines, of one thread.
 */
enum seal_library {
    SEAL_FASTEST, /* libipsec-mb where it can be loaded, otherwise OpenSSL */
    SEAL_OPENSSL,
    SEAL_MULTIBUFFER,
};

/* MD_ERR_SYS: OpenSSL has no AES or HKDF. */
int seal_open(struct rrcp_seal *out);
/* MD_ERR_NOT_FOUND: SEAL_MULTIBUFFER, and libipsec-mb cannot be loaded. */
int seal_open_by(enum seal_library library, struct rrcp_seal *out);
const char *seal_library(const struct rrcp_seal *seal); /* its name */
void seal_close(struct rrcp_seal *seal);                /* a zeroed one is allowed */

#endif
