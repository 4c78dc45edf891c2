/* utf8.h - what is legal UTF-8; for src/rwf alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RWF_UTF8_H
#define RWF_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * The length of the legal UTF-8 character at `p`, of which `left` bytes (at least 1) may be read,
 * or 0. As RFC 3629 has it: no overlong form, no surrogate, nothing beyond U+10FFFF.
 */
size_t rwf_utf8_length(const uint8_t *p, size_t left);

#endif
