/* relaysim_node.c - requesters and instances, and what they check. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cursor.h"
#include "base/err.h"
#include "relaysim.h"
#include "rrmp/record.h"

enum { PAYLOAD = 40, SVC = 3 };

#define BEAT_NS (1 * MD_NS_PER_S)
#define ASK_NS  (40 * MD_NS_PER_MS)

/* ---- sending -------------------------------------------------------------------------------- */

static bool put(struct world *w, struct node *node, const struct rrcp_msg *msg)
{
    return node_far_submit(&node->far, node->place.engine, w->now_ns, node->port, msg) !=
           MD_ERR_FULL;
}

static void beat(struct world *w, struct node *node)
{
    uint8_t bytes[128], row_bytes[16];
    struct rrmp_instance_row row = {
        .svc = SVC, .state = 3, .topic = rrmp_topic("IDN", 3), .version = 1
    };
    struct rrmp_record record = { .header = { .type = RRMP_INSTANCE, .svc = RRMP_SVC_NONE } };
    struct md_wr wr = md_wr_init(bytes, sizeof(bytes));

    if (w->now_ns < node->beat_ns)
        return;
    node->beat_ns = w->now_ns + BEAT_NS;
    if (node->is_source) {
        rrmp_instance_row_put(row_bytes, &row);
        record.u.instance = (struct rrmp_instance){ .interval_ms = 1000,
                                                    .service_count = 1,
                                                    .name = { (const uint8_t *)"src", 3 },
                                                    .services = row_bytes };
    } else {
        record.header.type = RRMP_QUERY;
    }
    rrmp_record_encode(&wr, &record);
    (void)put(w, node,
              &(struct rrcp_msg){ .bytes = bytes,
                                  .length = (uint32_t)md_wr_length(&wr),
                                  .topic = RRMP_TOPIC_CONTROL });
}

static void fill(uint8_t bytes[PAYLOAD], uint8_t type, uint64_t counter, uint64_t from)
{
    memset(bytes, 0, PAYLOAD);
    bytes[0] = type;
    bytes[1] = RRMP_VERSION << 4;
    md_put_be16(bytes + 2, SVC);
    md_put_be64(bytes + 8, counter);
    md_put_be64(bytes + 16, from);
}

/* By unicast; when the one before it was sent stands in it, too. */
static bool put_to(struct world *w, struct node *node, int to, struct rrcp_msg *msg,
                   uint8_t bytes[PAYLOAD])
{
    struct view *view = &node->views[to];

    md_put_be64(bytes + 24, view->sent_ns);
    if (!put(w, node, msg))
        return false;
    view->sent_ns = w->now_ns;
    return true;
}

/* To all. */
static void tick(struct world *w, struct node *node)
{
    uint8_t bytes[PAYLOAD];
    struct rrcp_msg msg = { .bytes = bytes, .length = PAYLOAD, .topic = rrmp_topic("IDN", 3) };

    if (w->is_quiet || (w->tick_rate == 1 && w->now_ns / STEP_NS % 4))
        return;
    for (int i = 0; i < w->tick_rate; i++) {
        fill(bytes, RRMP_UPDATE, node->ticks + 1, w->sessions[node->session]);
        if (!put(w, node, &msg))
            return;
        node->ticks++;
        w->ticks_sent++;
    }
}

static void answer(struct world *w, struct node *node, const struct backbone_event *request,
                   int from)
{
    uint8_t bytes[PAYLOAD];
    struct rrcp_msg msg = { .bytes = bytes,
                            .length = PAYLOAD,
                            .session = request->session,
                            .port = request->src_port,
                            .flags = RRCP_MSG_UNICAST };

    fill(bytes, RRMP_ACK, ++node->answers[from], w->sessions[node->session]);
    (void)put_to(w, node, from, &msg, bytes);
    if (node->answers[from] % 8 == 0) {
        /* An image for this node, in the stream. */
        fill(bytes, RRMP_IMAGE, node->ticks, w->sessions[node->session]);
        md_put_be64(bytes + 24, ++node->images[from]);
        msg.flags = 0;
        msg.port = 0;
        msg.topic = rrmp_topic("IDN", 3);
        (void)put(w, node, &msg);
    }
}

static void ask(struct world *w, struct node *node)
{
    uint8_t bytes[PAYLOAD];

    if (node->is_source || w->now_ns < node->ask_ns)
        return;
    node->ask_ns = w->now_ns + ASK_NS;
    for (int i = 0; i < w->session_count; i++) {
        struct view *view = &node->views[i];
        const struct node *to = w->owner[i] >= 0 ? &w->nodes[w->owner[i]] : NULL;

        if (!view->is_up || !to || !to->is_source || to->session != i || !view->is_offering)
            continue;
        struct rrcp_msg msg = { .bytes = bytes,
                                .length = PAYLOAD,
                                .session = w->sessions[i],
                                .port = 1,
                                .flags = RRCP_MSG_UNICAST };
        fill(bytes, RRMP_REQUEST, view->sent + 1, w->sessions[node->session]);
        if (put_to(w, node, i, &msg, bytes))
            view->sent++;
    }
}

/* ---- checks --------------------------------------------------------------------------------- */

static void told(struct world *w, const struct node *node, int session)
{
    uint32_t *count = &w->told_count[node->session][session];
    uint64_t *times = w->told_ns[node->session][session];

    if (*count == 0 || times[(*count - 1) % TOLD_MAX] != w->now_ns)
        times[(*count)++ % TOLD_MAX] = w->now_ns;
}

static bool was_told(const struct world *w, int who, int of, const struct hole *h)
{
    for (int i = 0; i < TOLD_MAX; i++)
        if (w->told_ns[who][of][i] >= h->from_ns && w->told_ns[who][of][i] <= h->to_ns)
            return true;
    return false;
}

void check_holes(struct world *w)
{
    int left = 0;

    for (int i = 0; i < w->hole_count; i++) {
        const struct hole *h = &w->holes[i];

        if (was_told(w, h->from, h->to, h) || was_told(w, h->to, h->from, h))
            continue;
        if (w->now_ns > h->to_ns)
            fail(w, "unicast of %d to %d, sent at %" PRIu64 " ms, was lost and nobody was told",
                 h->from, h->to, (uint64_t)(h->from_ns / MD_NS_PER_MS));
        else
            w->holes[left++] = *h;
    }
    w->hole_count = left;
}

static void hole(struct world *w, int from, int to, uint64_t sent_ns)
{
    if (w->hole_count == HOLES_MAX)
        check_holes(w);
    if (w->hole_count == HOLES_MAX)
        fail(w, "more than %d messages by unicast are missing", HOLES_MAX);
    else
        w->holes[w->hole_count++] = (struct hole){
            .from_ns = sent_ns, .to_ns = w->now_ns + MD_NS_PER_S, .from = from, .to = to
        };
}

/* Images for this node alone are in the stream, in its order; what is lost is told there. */
static void check_image(struct world *w, const struct node *node, struct view *view, int from,
                        uint64_t counter, uint64_t ticks)
{
    if (ticks < view->last)
        fail(w, "session %d got an image of %d late", node->session, from);
    if (view->imaged && counter != view->imaged + 1)
        fail(w, "session %d lost images %" PRIu64 " to %" PRIu64 " of %d and was not told",
             node->session, view->imaged + 1, counter - 1, from);
    view->imaged = counter;
    view->images++;
    w->images_got++;
}

static void check_tick(struct world *w, const struct node *node, struct view *view, int from,
                       uint64_t counter)
{
    if (counter <= view->last)
        fail(w, "session %d got tick %" PRIu64 " of %d again, or late: it has %" PRIu64,
             node->session, counter, from, view->last);
    else if (view->knows_ticks && counter != view->last + 1 && !view->is_told)
        fail(w, "session %d lost ticks %" PRIu64 " to %" PRIu64 " of %d and was not told",
             node->session, view->last + 1, counter - 1, from);
    view->last = counter;
    view->is_told = false;
    view->knows_ticks = true;
    view->tick_ns = w->now_ns;
    w->ticks_got++;
}

static void check_unicast(struct world *w, const struct node *node, struct view *view, int from,
                          uint64_t counter, uint64_t sent_ns)
{
    if (counter <= view->asked)
        fail(w, "session %d got unicast %" PRIu64 " of %d again, or late", node->session, counter,
             from);
    if (counter != view->asked + 1)
        hole(w, from, node->session, sent_ns);
    view->asked = counter;
    view->answer_ns = w->now_ns;
}

static void message(struct world *w, struct node *node, const struct backbone_event *event,
                    int from)
{
    struct view *view = &node->views[from];
    bool is_unicast = event->flags & BACKBONE_FLAG_UNICAST;

    if (!view->is_up)
        fail(w, "session %d got a message of %d, which is not up", node->session, from);
    view->is_offering |= event->topic == RRMP_TOPIC_CONTROL && event->bytes[0] == RRMP_INSTANCE;
    if (event->topic == RRMP_TOPIC_CONTROL || (event->dst_port && event->dst_port != node->port))
        return;
    if (event->length != PAYLOAD || md_be64(event->bytes + 16) != event->session ||
        event->src_port != 1)
        fail(w, "session %d got another's message for one of %d", node->session, from);
    uint64_t counter = md_be64(event->bytes + 8);

    if (event->bytes[0] == RRMP_UPDATE)
        check_tick(w, node, view, from, counter);
    else if (event->bytes[0] == RRMP_IMAGE)
        check_image(w, node, view, from, md_be64(event->bytes + 24), counter);
    if (!is_unicast)
        return;
    check_unicast(w, node, view, from, counter, md_be64(event->bytes + 24));
    if (event->bytes[0] == RRMP_REQUEST)
        answer(w, node, event, from);
    else {
        view->answers++;
        w->answers_got++;
    }
}

/* The next message of its stream need not follow the last one. */
static void begin_anew(struct view *view)
{
    view->answers = view->images = view->imaged = 0;
}

static void up(struct world *w, struct node *node, int from)
{
    struct view *view = &node->views[from];

    if (view->is_up)
        fail(w, "session %d is told twice that %d is up", node->session, from);
    view->is_up = true;
    view->knows_ticks = view->is_offering = false;
    begin_anew(view);
}

static void notice(struct world *w, struct node *node, const struct backbone_event *event, int from)
{
    struct view *view = &node->views[from];

    switch ((enum backbone_event_type)event->type) {
    case BACKBONE_PEER_UP:
        up(w, node, from);
        break;
    case BACKBONE_PEER_DOWN:
        if (!view->is_up)
            fail(w, "session %d is told that %d is down, which was not up", node->session, from);
        view->is_up = false;
        w->downs_told++;
        told(w, node, from);
        break;
    case BACKBONE_GAP:
        if (!view->is_up)
            fail(w, "session %d is told a gap of %d, which is not up", node->session, from);
        if (!(event->flags & BACKBONE_FLAG_UNICAST)) {
            view->is_told = true;
            begin_anew(view);
        }
        w->gaps_told++;
        told(w, node, from);
        break;
    case BACKBONE_TX_DROPPED:
        told(w, node, from);
        break;
    default:
        break;
    }
}

/* Answers go out behind the events: the engine may not be touched before. */
enum { REQUESTS_MAX = 256 };

static void node_events(struct world *w, struct node *node)
{
    static struct backbone_event requests[REQUESTS_MAX];
    struct backbone_event events[128];
    uint8_t kept[REQUESTS_MAX][PAYLOAD];
    int count, waiting = 0;

    while ((count = node_far_event(&node->far, node->place.engine, events, 128)) > 0)
        for (int i = 0; i < count; i++) {
            int from = world_session(w, events[i].session);

            if (from < 0 || from == node->session)
                continue;
            if (events[i].type != BACKBONE_MESSAGE) {
                notice(w, node, &events[i], from);
            } else if (events[i].length == PAYLOAD && events[i].bytes[0] == RRMP_REQUEST &&
                       waiting < REQUESTS_MAX) {
                memcpy(kept[waiting], events[i].bytes, PAYLOAD);
                requests[waiting] = events[i];
                requests[waiting].bytes = kept[waiting];
                waiting++;
            } else {
                message(w, node, &events[i], from);
            }
        }
    for (int i = 0; i < waiting; i++)
        message(w, node, &requests[i], world_session(w, requests[i].session));
}

/* ---- life ----------------------------------------------------------------------------------- */

void node_start(struct world *w, struct node *node)
{
    char name[32];
    struct rrcp_user user = { .receives = true };
    const uint32_t service = rrmp_topic("IDN", 3);
    int number = (int)(node - w->nodes);

    snprintf(name, sizeof(name), "node%d.1.rrcpd", number);
    memset(node->views, 0, sizeof(node->views));
    memset(node->answers, 0, sizeof(node->answers));
    memset(node->images, 0, sizeof(node->images));
    node->ticks = 0;
    node->beat_ns = 0;
    node->session = w->session_count;
    place_start(w, &node->place, name, number);
    node->port = rrcp_user_add(node->place.engine, &user);
    place_want(w, &node->place, &service, 1); /* sources hear each other, too */
    memset(&node->far, 0, sizeof(node->far));
    if (node_far_open(&node->far, node->place.engine, 64 << 10) != MD_OK)
        abort();
}

void node_stop(struct world *w, struct node *node)
{
    (void)w;
    node_far_close(&node->far);
    rrcp_destroy(node->place.engine);
    node->place.engine = NULL;
    node->place.is_up = false;
}

void node_run(struct world *w, struct node *node)
{
    const char *broken;

    place_receive(w, &node->place);
    node_events(w, node);
    beat(w, node);
    if (node->is_source)
        tick(w, node);
    ask(w, node);
    place_send(w, &node->place);
    node_events(w, node);
    if (w->now_ns / STEP_NS % 64 == 0 && (broken = relay_far_check(node->far.far)) != NULL)
        fail(w, "%s", broken);
}
