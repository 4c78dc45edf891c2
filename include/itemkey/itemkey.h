/* itemkey/itemkey.h - the identity of an item: RWF message keys to backbone keys and back. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ITEMKEY_ITEMKEY_H
#define ITEMKEY_ITEMKEY_H

#include "rmds/rwf.h"
#include "rrmp/key.h"

/*
 * A consumer and a provider name an item by an RWF message key with a service id of their own
 * connection; the backbone by the canonical bytes of rrmp/key.h, without service id and with
 * exactly one quality of service. Both ends convert here, so equal items are equal bytes.
 */

/* Writes the canonical key. RWF_ERR_FULL, or RWF_ERR_RANGE when a member is too long for it. */
int itemkey_encode(uint8_t domain, const struct rwf_key *key, const struct rwf_qos *qos,
                   uint8_t *out, size_t size, size_t *length);

/* The RWF key and quality behind canonical bytes; views point into them. The service id is the
 * caller's to set (flag and value). A name type that is the default is left out. */
int itemkey_decode(const uint8_t *bytes, size_t length, uint8_t *domain, struct rwf_key *key,
                   struct rwf_qos *qos);

/* The five bytes of a quality, as in the key and in SERVICE records. */
void itemkey_qos_pack(const struct rwf_qos *qos, uint8_t out[5]);
struct rwf_qos itemkey_qos_unpack(const uint8_t in[5]);

#endif
