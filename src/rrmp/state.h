/* rrmp/state.h - RWF states and codes that the engines send; the order of sequence numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RRMP_STATE_H
#define RRMP_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* Stream state << 3 | data state, as in the records; the numbers are those of the data format. */
enum rrmp_state {
    RRMP_STATE_OPEN_OK = 1 << 3 | 1,
    RRMP_STATE_OPEN_SUSPECT = 1 << 3 | 2,
    RRMP_STATE_CLOSED_RECOVER = 3 << 3 | 2,
    RRMP_STATE_CLOSED = 4 << 3 | 2,
};

#define RRMP_DATA_OK 1

enum rrmp_code {
    RRMP_CODE_NONE = 0,
    RRMP_CODE_NOT_FOUND = 1,
    RRMP_CODE_TIMEOUT = 2,
    RRMP_CODE_PREEMPTED = 6,
    RRMP_CODE_FAILOVER_STARTED = 9,
    RRMP_CODE_FAILOVER_COMPLETED = 10,
    RRMP_CODE_GAP_DETECTED = 11,
    RRMP_CODE_NO_RESOURCES = 12,
    RRMP_CODE_TOO_MANY_ITEMS = 13,
};

/* NAK codes of an acknowledgement. */
enum rrmp_nak {
    RRMP_NAK_DENIED_BY_SRC = 2,
    RRMP_NAK_SOURCE_DOWN = 3,
    RRMP_NAK_NO_RESOURCES = 5,
    RRMP_NAK_NO_RESPONSE = 6,
    RRMP_NAK_GATEWAY_DOWN = 7,
};

/* a is later than b, for numbers that wrap. */
static inline bool rrmp_after(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

#endif
