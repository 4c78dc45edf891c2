/* base/slice.h - a view of bytes, as lists of what is to be written are made of. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MD_SLICE_H
#define MD_SLICE_H

#include <stddef.h>
#include <stdint.h>

struct md_slice {
    const uint8_t *bytes;
    size_t length;
};

#endif
