/* multibuffer.h - AES-GCM by Intel's Multi-Buffer Crypto library. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEAL_MULTIBUFFER_H
#define SEAL_MULTIBUFFER_H

#include "cipher.h"

/* MD_ERR_NOT_FOUND: the library is not installed, older than the header of the build, not for this
 * processor, or the build had none. */
int seal_multibuffer_open(struct seal_cipher *out);

#endif
