/* core_pair_client.c - the model clients: a front that notes letters, and requests. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core_pair.h"
#include "told.h"

/* ---- the front ---- */

struct pair_stream *pair_stream(struct pair_client *c, int32_t id)
{
    for (size_t i = 0; i < PAIR_STREAMS; i++) {
        if (c->streams[i].id == id || c->streams[i].id == 0) {
            c->streams[i].id = id;
            return &c->streams[i];
        }
    }
    fail_msg("too many streams");
    return NULL;
}

/* One more letter, if the client has room for a message. */
static int pair_note(struct pair_client *c, int32_t id, char letter)
{
    struct pair_stream *s = pair_stream(c, id);

    if (c->room == 0)
        return MD_ERR_FULL;
    if (c->room != PAIR_UNLIMITED)
        c->room--;
    c->queued++;
    assert_true(s->count + 1 < PAIR_LETTERS);
    s->letters[s->count++] = letter;
    return MD_OK;
}

static void pair_note_state(struct pair_client *c, int32_t id, const struct rwf_state *state)
{
    struct pair_stream *s = pair_stream(c, id);

    s->stream_state = state->stream_state;
    s->data_state = state->data_state;
    s->code = state->code;
    snprintf(s->text, sizeof(s->text), "%.*s", (int)state->text.length,
             (const char *)state->text.data);
}

static void pair_read_rows(struct pair_stream *s, const struct rwf_msg *msg)
{
    struct rwf_vector vector;
    struct rwf_vector_entry entry;

    assert_int_equal(rwf_vector_decode(msg->payload, &vector), RWF_OK);
    while (rwf_vector_next(&vector, &entry) > 0)
        s->fields++;
}

static void pair_read_fields(struct pair_stream *s, const struct rwf_msg *msg)
{
    struct rwf_field_list list;
    struct rwf_field field;
    uint64_t value;

    s->fields = 0;
    if (msg->container == RWF_TYPE_VECTOR)
        pair_read_rows(s, msg);
    if (msg->container != RWF_TYPE_FIELD_LIST ||
        rwf_field_list_decode(msg->payload, NULL, &list) < 0)
        return;
    while (rwf_field_list_next(&list, &field) > 0) {
        s->fields++;
        if (field.id == PAIR_FIELD && rwf_uint_decode(field.content, &value) == RWF_OK)
            s->counter = (uint32_t)value;
    }
}

uint8_t pair_unmade_class;
uint32_t pair_makes;

static int pair_front_make(const struct p2ps_form *form, const struct p2ps_record *record,
                           uint8_t *out, size_t size, struct p2ps_made *made)
{
    pair_makes++;
    if (record->peek.msg_class == pair_unmade_class)
        return RWF_ERR_MALFORMED;
    return p2ps_rwf_make(form, record, out, size, made);
}

static int pair_front_put(void *self, const struct p2ps_made *made, int32_t stream_id,
                          bool solicited, bool snapshot)
{
    struct pair_client *c = self;
    struct pair_stream *s = pair_stream(c, stream_id);
    uint8_t bytes[PAIR_RECORD_SIZE];
    struct rwf_msg msg;
    char letter = '?';

    assert_true(made->length <= sizeof(bytes));
    p2ps_rwf_write(bytes, made, stream_id, solicited, snapshot);
    assert_int_equal(rwf_msg_decode(rwf_bytes(bytes, made->length), &msg), RWF_OK);
    assert_int_equal(msg.stream_id, stream_id);
    if (msg.msg_class == RWF_CLASS_REFRESH)
        letter = msg.flags & RWF_REFRESH_SOLICITED ? 'I' : 'i';
    else if (msg.msg_class == RWF_CLASS_UPDATE)
        letter = 'U';
    else if (msg.msg_class == RWF_CLASS_GENERIC)
        letter = 'G';
    if (made->is_rwf && msg.msg_class == pair_unmade_class)
        return MD_ERR_MALFORMED;
    int err = pair_note(c, stream_id, letter);
    if (err != MD_OK)
        return err;
    if (msg.msg_class == RWF_CLASS_REFRESH)
        pair_note_state(c, stream_id, &msg.state);
    if (msg.msg_class == RWF_CLASS_REFRESH && msg.group_id.length == 4)
        s->group = md_be32(msg.group_id.data);
    if (msg.msg_class == RWF_CLASS_REFRESH)
        s->qos = msg.qos;
    if (msg.msg_class == RWF_CLASS_UPDATE)
        s->conf_count = msg.flags & RWF_UPDATE_HAS_CONF_INFO ? msg.conf_count : 0;
    s->flags = msg.flags;
    s->container = msg.container;
    s->payload_length = msg.payload.length < sizeof(s->payload) ? msg.payload.length : 0;
    if (s->payload_length)
        memcpy(s->payload, msg.payload.data, s->payload_length);
    s->has_key = rwf_msg_has_key(&msg);
    pair_read_fields(s, &msg);
    return MD_OK;
}

static int pair_front_login(void *self, const struct omm_login_refresh *refresh)
{
    int err = pair_note(self, refresh->stream_id, 'L');

    if (err != MD_OK)
        return err;
    struct pair_client *c = self;
    struct pair_stream *stream = pair_stream(c, refresh->stream_id);
    pair_note_state(self, refresh->stream_id, &refresh->state);
    stream->has_authentication = refresh->has_authentication;
    stream->has_permission_expressions = refresh->permission_expressions;
    stream->token_error = refresh->authentication_error;
    stream->reissue_s = refresh->reissue_s;
    if (refresh->has_authentication)
        snprintf(stream->text, sizeof(stream->text), "%.*s",
                 (int)refresh->authentication_text.length,
                 (const char *)refresh->authentication_text.data);
    return MD_OK;
}

static char pair_status_letter(const struct rwf_state *state)
{
    if (state->stream_state == RWF_STREAM_CLOSED_RECOVER)
        return 'R';
    if (state->stream_state != RWF_STREAM_OPEN)
        return 'X';
    if (state->code == RWF_CODE_JIT_CONFLATION_STARTED)
        return 'J';
    if (state->code == RWF_CODE_REALTIME_RESUMED)
        return 'j';
    return state->data_state == RWF_DATA_SUSPECT ? '!' : 'S';
}

static int pair_front_status(void *self, const struct omm_status *status)
{
    int err = pair_note(self, status->stream_id, pair_status_letter(&status->state));

    if (err == MD_OK) {
        pair_note_state(self, status->stream_id, &status->state);
        pair_stream(self, status->stream_id)->flags = status->flags;
    }
    return err;
}

static int pair_front_ack(void *self, const struct omm_ack *ack)
{
    int err = pair_note(self, ack->stream_id, ack->nak_code ? 'N' : 'A');

    if (err == MD_OK)
        pair_stream(self, ack->stream_id)->code = ack->nak_code;
    return err;
}

static int pair_front_rtt(void *self, int32_t stream_id, const struct omm_rtt *rtt)
{
    ((struct pair_client *)self)->rtt = *rtt;
    return pair_note(self, stream_id, 'T');
}

static void pair_note_said(struct pair_client *c, const struct omm_service *service)
{
    const struct rwf_bytes said[2] = { service->load, service->links };

    c->filters = service->filters;
    if (service->filters & OMM_FILTER_INFO) {
        c->offered_count = service->qos_count;
        c->offers_range = service->supports_qos_range;
        memcpy(c->offered, service->qos, sizeof(c->offered));
        snprintf(c->path, sizeof(c->path), "%.*s",
                 service->path_count ? (int)service->paths[0].length : 0,
                 service->path_count ? (const char *)service->paths[0].data : "");
    }
    if (service->filters & OMM_FILTER_STATE)
        c->is_offered_up = service->is_up;
    for (int i = 0; i < 2; i++) {
        assert_true(said[i].length <= sizeof(c->said[i]));
        c->said_length[i] = said[i].length;
        if (said[i].length)
            memcpy(c->said[i], said[i].data, said[i].length);
    }
}

static int pair_front_directory(void *self, const struct omm_directory_head *head,
                                const struct omm_service services[], size_t count)
{
    char letter = !head->is_update                       ? 'D'
                  : services[0].action == RWF_MAP_ADD    ? '+'
                  : services[0].action == RWF_MAP_DELETE ? '-'
                                                         : 'd';
    int err = pair_note(self, head->stream_id, letter);

    if (err == MD_OK && count > 0)
        pair_note_said(self, &services[0]);
    if (err == MD_OK && count > 0)
        pair_stream(self, head->stream_id)->data_state = services[0].is_up ? 1 : 2;
    if (err == MD_OK)
        pair_stream(self, head->stream_id)->fields = (uint32_t)count;
    return err;
}

static int pair_front_group(void *self, int32_t stream_id, uint16_t service_id,
                            const struct omm_group *group)
{
    struct pair_client *c = self;

    (void)service_id;
    c->group_stream_state = group->has_status ? group->status.stream_state : 0;
    c->group_state = group->has_status ? group->status.data_state : 0;
    c->group[0] = group->group.length == 4 ? md_be32(group->group.data) : 0;
    c->group[1] = group->merged_to.length == 4 ? md_be32(group->merged_to.data) : 0;
    return pair_note(self, stream_id, group->has_status ? 'g' : 'm');
}

static int pair_front_dictionary(void *self, struct rwf_bytes message)
{
    return pair_note(self, rwf_peek_stream_id(message), 'M');
}

static int pair_front_message(void *self, struct rwf_bytes message)
{
    static const struct told told = {
        .status = pair_front_status,
        .ack = pair_front_ack,
        .rtt = pair_front_rtt,
        .directory = pair_front_directory,
        .group = pair_front_group,
        .other = pair_front_dictionary,
    };

    return told_take(self, &told, message);
}

static void pair_front_flush(void *self)
{
    struct pair_client *c = self;

    c->flushes++;
    c->queued = 0;
    if (c->drains)
        c->room = c->room_max;
}

/* Five messages fill a frame of the model. */
static bool pair_front_is_full(const void *self)
{
    const struct pair_client *c = self;

    return c->queued >= 5;
}

static unsigned pair_front_fill(const void *self)
{
    const struct pair_client *c = self;

    return c->room == PAIR_UNLIMITED ? 0 : (c->room_max - c->room) * 100 / c->room_max;
}

static const char *pair_front_queue(const void *self, uint64_t *used, uint64_t *max)
{
    const struct pair_client *c = self;

    *used = c->unit ? c->used : pair_front_fill(self);
    *max = c->unit ? c->used_max : 100;
    return c->unit ? c->unit : "percent of its output";
}

static bool pair_front_has_ceiling(const void *self)
{
    return ((const struct pair_client *)self)->has_ceiling;
}

static void pair_front_close(void *self, const char *reason)
{
    struct pair_client *c = self;

    c->closed = true;
    snprintf(c->reason, sizeof(c->reason), "%s", reason);
}

static const char *pair_front_certificate(const void *self, uint64_t *expires_s)
{
    const struct pair_client *c = self;

    *expires_s = c->certificate_ends_s;
    return c->certificate_ends_s ? "desk1" : "";
}

static const char *pair_front_serial(const void *self)
{
    const struct pair_client *c = self;

    return c->serial ? c->serial : "";
}

static const struct p2ps_front pair_front = {
    .name = "model",
    .make = pair_front_make,
    .put = pair_front_put,
    .login_refresh = pair_front_login,
    .message = pair_front_message,
    .flush = pair_front_flush,
    .is_full = pair_front_is_full,
    .fill = pair_front_fill,
    .queue = pair_front_queue,
    .has_ceiling = pair_front_has_ceiling,
    .close = pair_front_close,
    .certificate = pair_front_certificate,
    .serial = pair_front_serial,
};

/* ---- clients ---- */

struct pair_client *pair_client_comes(struct pair *pair, unsigned n)
{
    struct pair_client *c = &pair->clients[n];

    *c = (struct pair_client){ .pair = pair, .room = PAIR_UNLIMITED, .room_max = 1 };
    assert_int_equal(
        p2ps_client_add(pair->sink, pair->now_ns, &pair_front, c, "10.1.1.1:5", 0x0a010101, &c->id),
        MD_OK);
    return c;
}

struct omm_login_request pair_login_request(void)
{
    return (struct omm_login_request){
        .stream_id = 1,
        .is_streaming = true,
        .user = rwf_text("joe"),
        .name_type = RWF_NAME_LOGIN_USER,
        .single_open = true,
        .allow_suspect_data = true,
        .permission_expressions = true,
    };
}

void pair_login(struct pair_client *c)
{
    struct omm_login_request request = pair_login_request();

    p2ps_client_login(c->pair->sink, c->pair->now_ns, c->id, &request);
    pair_settle(c->pair);
}

struct pair_client *pair_client(struct pair *pair, unsigned n)
{
    struct pair_client *c = pair_client_comes(pair, n);

    pair_login(c);
    assert_string_equal(pair_stream(c, 1)->letters, "L");
    return c;
}

struct omm_item_request pair_request(int32_t stream_id, const char *name)
{
    return (struct omm_item_request){
        .stream_id = stream_id,
        .domain = 6,
        .is_streaming = true,
        .key = { .flags = RWF_KEY_HAS_SERVICE_ID | RWF_KEY_HAS_NAME | RWF_KEY_HAS_NAME_TYPE,
                 .service_id = PAIR_SERVICE_ID,
                 .name = rwf_text(name),
                 .name_type = RWF_NAME_RIC },
        .container = RWF_TYPE_NO_DATA,
    };
}

void pair_ask_item(struct pair_client *c, const struct omm_item_request *request)
{
    p2ps_client_item(c->pair->sink, c->pair->now_ns, c->id, request);
    pair_settle(c->pair);
    pair_pass(c->pair, 20 * PAIR_MS);
}

void pair_open(struct pair_client *c, int32_t stream_id, const char *name)
{
    struct omm_item_request request = pair_request(stream_id, name);

    pair_ask_item(c, &request);
}

const char *pair_heard(struct pair_client *c, int32_t stream_id)
{
    return pair_stream(c, stream_id)->letters;
}
