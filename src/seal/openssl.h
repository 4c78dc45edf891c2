/* openssl.h - AES-GCM by OpenSSL. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEAL_OPENSSL_H
#define SEAL_OPENSSL_H

#include "cipher.h"

/* MD_ERR_SYS: OpenSSL has no AES. */
int seal_openssl_open(struct seal_cipher *out);

#endif
