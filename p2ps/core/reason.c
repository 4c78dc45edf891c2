/* reason.c - see reason.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "reason.h"

#include <stdio.h>
#include <string.h>

#include "backlog.h"
#include "private.h"

static enum p2ps_reason conflated(const struct p2ps_core *core, uint32_t client)
{
    if (core->clients[client].is_merging)
        return P2PS_REASON_SLOW_MOUNT;
    return core->lag.is_on || core->lag.is_resuming ? P2PS_REASON_WORKER_BEHIND
                                                    : P2PS_REASON_LEFT_OUT;
}

/* One whose code says nothing of why. */
static enum p2ps_reason of_source(const struct rwf_state *state)
{
    if (state->data_state == RWF_DATA_SUSPECT)
        return P2PS_REASON_SOURCE_DOWN;
    return state->stream_state == RWF_STREAM_OPEN ? P2PS_REASON_SOURCE_UP : P2PS_REASON_CLOSED;
}

static enum p2ps_reason reason_of(const struct p2ps_core *core, uint32_t client,
                                  const struct rwf_state *state, bool is_of_item)
{
    if (core->tells_unreadable)
        return P2PS_REASON_UNREADABLE;
    switch (state->code) {
    case RWF_CODE_JIT_CONFLATION_STARTED:
        return conflated(core, client);
    case RWF_CODE_REALTIME_RESUMED:
        return P2PS_REASON_REAL_TIME;
    case RWF_CODE_GAP_DETECTED:
    case RWF_CODE_GAP_FILL:
        return P2PS_REASON_GAP;
    case RWF_CODE_NOT_FOUND:
    case RWF_CODE_SOURCE_UNKNOWN:
        return P2PS_REASON_NOT_FOUND;
    case RWF_CODE_NOT_ENTITLED:
    case RWF_CODE_USER_UNKNOWN_TO_PERM_SYS:
    case RWF_CODE_DACS_USER_ACCESS_TO_APP_DENIED:
    case RWF_CODE_APP_AUTHORIZATION_FAILED:
        return P2PS_REASON_DENIED;
    case RWF_CODE_DACS_DOWN:
        return P2PS_REASON_AUTHORITY;
    case RWF_CODE_NO_RESOURCES:
    case RWF_CODE_TOO_MANY_ITEMS:
    case RWF_CODE_EXCEEDED_MAX_MOUNTS_PER_USER:
    case RWF_CODE_DACS_MAX_LOGINS_REACHED:
        return P2PS_REASON_LIMIT;
    case RWF_CODE_INVALID_ARGUMENT:
    case RWF_CODE_USAGE_ERROR:
    case RWF_CODE_ALREADY_OPEN:
    case RWF_CODE_UNSUPPORTED_VIEW_TYPE:
    case RWF_CODE_INVALID_VIEW:
    case RWF_CODE_UNABLE_TO_REQUEST_AS_BATCH:
    case RWF_CODE_NO_BATCH_VIEW_SUPPORT_IN_REQ:
        return P2PS_REASON_BAD_REQUEST;
    default:
        return is_of_item ? of_source(state) : P2PS_REASON_OTHER;
    }
}

static void count(struct p2ps_core *core, uint32_t client, enum p2ps_reason reason)
{
    uint32_t *of_client = &p2ps_backlog_of(core, client)->reasons[reason];

    core->stats.reasons[reason]++;
    *of_client += *of_client < UINT32_MAX;
}

void p2ps_reason_count(struct p2ps_core *core, uint32_t client, const struct rwf_state *state,
                       bool is_of_item)
{
    count(core, client, reason_of(core, client, state, is_of_item));
}

void p2ps_reason_cut(struct p2ps_core *core, uint32_t client)
{
    count(core, client, P2PS_REASON_CUT_SLOW);
}

/* ---- as text ---- */

static enum p2ps_reason most_of(const uint32_t of[P2PS_REASONS], uint32_t left)
{
    enum p2ps_reason most = P2PS_REASONS;

    for (unsigned i = 0; i < P2PS_REASONS; i++) {
        if (left >> i & 1 && of[i] > 0 && (most == P2PS_REASONS || of[i] > of[most]))
            most = (enum p2ps_reason)i;
    }
    return most;
}

void p2ps_reasons_text(const uint32_t of[P2PS_REASONS], char *out, size_t size)
{
#define NAME(name, reason) name
    static const char *const names[P2PS_REASONS] = { P2PS_REASON_ROWS(NAME, ) };
#undef NAME
    uint32_t left = UINT32_MAX;
    enum p2ps_reason reason;
    size_t at = 0;

    out[0] = '\0';
    while ((reason = most_of(of, left)) != P2PS_REASONS) {
        char one[48];
        int length =
            snprintf(one, sizeof(one), "%s%s %u", at ? ", " : "", names[reason], of[reason]);
        if (length < 0 || at + (size_t)length + 1 > size)
            return;
        memcpy(out + at, one, (size_t)length + 1);
        at += (size_t)length;
        left &= ~(1u << reason);
    }
}
