/* output.c - lines that go out to an authority, and the ends of sessions. See authority.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

static void make_room(struct p2ps_authority *a)
{
    if (a->output_sent == 0)
        return;
    memmove(a->output, a->output + a->output_sent, a->output_used - a->output_sent);
    explicit_bzero(a->output + a->output_used - a->output_sent, a->output_sent);
    a->output_used -= a->output_sent;
    a->output_sent = 0;
}

struct authority_out authority_begin(struct p2ps_authority *a)
{
    if (OUTPUT_MAX - a->output_used < P2PS_AUTHORITY_LINE_MAX)
        make_room(a);
    size_t room = OUTPUT_MAX - a->output_used;
    return (struct authority_out){
        .bytes = a->output + a->output_used,
        .size = room < P2PS_AUTHORITY_LINE_MAX ? room : P2PS_AUTHORITY_LINE_MAX,
    };
}

bool authority_finish(struct p2ps_authority *a, struct authority_out *out)
{
    authority_out_end(out);
    if (out->is_full) {
        explicit_bzero(out->bytes, out->used);
        return false;
    }
    a->output_used += out->used;
    return true;
}

const char *p2ps_authority_output(const struct p2ps_authority *a, size_t *length)
{
    *length = a->output_used - a->output_sent;
    return a->output + a->output_sent;
}

void p2ps_authority_sent(struct p2ps_authority *a, size_t length)
{
    explicit_bzero(a->output + a->output_sent, length);
    a->output_sent += length;
    if (a->output_sent < a->output_used)
        return;
    a->output_sent = a->output_used = 0;
    a->ends_waiting = 0;
}

/* ---- ends of sessions ---- */

static bool has_room(const struct p2ps_authority *a)
{
    return a->is_greeted && a->output_used - a->output_sent < ENDS_MAX;
}

void authority_tell_lost(struct p2ps_authority *a)
{
    if (a->ends_untold == 0 || !has_room(a))
        return;
    struct authority_out out = authority_begin(a);
    authority_out_text(&out, "event", authority_view("lost"));
    authority_out_number(&out, "ends", a->ends_untold);
    if (authority_finish(a, &out))
        a->ends_untold = 0;
}

static bool write_end(struct p2ps_authority *a, struct entitle_view session,
                      struct entitle_view reason)
{
    struct authority_out out = authority_begin(a);

    authority_out_text(&out, "event", authority_view("end"));
    authority_out_text(&out, "session", session);
    authority_out_text(&out, "reason", reason);
    return authority_finish(a, &out);
}

void p2ps_authority_end(struct p2ps_authority *a, struct entitle_view session,
                        struct entitle_view reason)
{
    if (session.length == 0)
        return;
    authority_tell_lost(a);
    /* A reason that was cut within a character is no UTF-8. */
    if (has_room(a) &&
        (write_end(a, session, reason) || write_end(a, session, authority_view("closed")))) {
        a->stats.ends++;
        a->ends_waiting++;
        return;
    }
    a->stats.ends_lost++;
    a->ends_untold += a->is_greeted;
}
