/* ws_front.c - how JSON plugs in to the core: records and structs to text. See core/front.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "dictionaries.h"
#include "rssl_front.h"
#include "rwf_forms.h"
#include "worker.h"
#include "ws_front.h"

#define ID_MAX      24 /* `{"ID":` and a number */
#define TEXT_FACTOR 8  /* JSON is so many times longer than RWF, or it is not sent */

static struct p2ps_ws *ws_of(const struct p2ps_mount *mount)
{
    return mount->worker->ws;
}

static struct rwf_bytes service_name(void *owner, uint16_t id)
{
    const struct p2ps_worker *worker = owner;

    return p2ps_core_service_name(worker->core, id);
}

struct json_write_context p2ps_ws_context(const struct p2ps_ws *ws)
{
    return (struct json_write_context){
        .dictionary = p2ps_dictionary_types(ws->config.dictionaries),
        .expands_enums = ws->config.expands_enums,
        .service_name = service_name,
        .owner = ws->worker,
    };
}

/* ---- items ---- */

static int make(const struct p2ps_form *form, const struct p2ps_record *record, uint8_t *out,
                size_t size, struct p2ps_made *made)
{
    const struct p2ps_ws *ws = (const struct p2ps_ws *)(const void *)form->front;
    const struct json_write_context context = p2ps_ws_context(ws);
    struct json_written written;
    int rc = p2ps_rwf_make(form, record, ws->rwf, ws->rwf_size, made);

    if (rc != RWF_OK || made->length == 0)
        return rc;
    rc = json_write_message(&context, rwf_bytes(made->bytes, made->length), out, size, &written);
    *made = (struct p2ps_made){
        .bytes = out,
        .length = written.length,
        .state_at = (uint32_t)written.stream_at,
        .solicited_at = (uint32_t)written.solicited_at,
    };
    return rc;
}

/* `{"ID":n`, to which the text of a message is added. */
static size_t write_id(uint8_t out[ID_MAX], int32_t stream_id)
{
    static const char head[] = "{\"ID\":";
    uint32_t rest = stream_id < 0 ? 0 - (uint32_t)stream_id : (uint32_t)stream_id;
    uint8_t digits[12];
    size_t count = 0;

    do {
        digits[sizeof(digits) - ++count] = (uint8_t)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (stream_id < 0)
        digits[sizeof(digits) - ++count] = '-';
    memcpy(out, head, sizeof(head) - 1);
    memcpy(out + sizeof(head) - 1, digits + sizeof(digits) - count, count);
    return sizeof(head) - 1 + count;
}

/* A refresh says that it was not asked for, and that its stream is open: not so for all. */
static int put_refresh(struct ws_conn *conn, const struct p2ps_made *made, int32_t stream_id,
                       bool solicited, bool snapshot)
{
    static const char open[] = "Open\"";
    static const char snapshot_state[] = "NonStreaming\"";
    uint8_t id[ID_MAX];
    size_t id_length = write_id(id, stream_id);
    uint8_t *room =
        ws_out_reserve(conn, id_length + made->length + sizeof(snapshot_state), made->is_vital);
    size_t state_at = made->state_at;
    size_t solicited_at = solicited && made->solicited_at ? made->solicited_at : made->length;
    uint8_t *p = room;

    if (!room)
        return MD_ERR_FULL;
    bool changes = snapshot && state_at && memcmp(made->bytes + state_at, open, 5) == 0;
    memcpy(p, id, id_length);
    p += id_length;
    size_t at = changes ? state_at : 0;
    memcpy(p, made->bytes, at);
    p += at;
    if (changes) {
        memcpy(p, snapshot_state, sizeof(snapshot_state) - 1);
        p += sizeof(snapshot_state) - 1;
        at += sizeof(open) - 1;
    }
    memcpy(p, made->bytes + at, solicited_at - at);
    p += solicited_at - at;
    at = solicited_at == made->length ? solicited_at : solicited_at + JSON_UNSOLICITED_LEN;
    memcpy(p, made->bytes + at, made->length - at);
    p += made->length - at;
    ws_out_commit(conn, (size_t)(p - room));
    return MD_OK;
}

static int put_text(struct ws_conn *conn, const uint8_t *text, size_t length, int32_t stream_id,
                    bool is_vital)
{
    uint8_t id[ID_MAX];
    size_t id_length = write_id(id, stream_id);
    uint8_t *room = ws_out_reserve(conn, id_length + length, is_vital);

    if (!room)
        return MD_ERR_FULL;
    memcpy(room, id, id_length);
    memcpy(room + id_length, text, length);
    ws_out_commit(conn, id_length + length);
    return MD_OK;
}

/* ---- messages of RWF ---- */

static int send_bytes(struct p2ps_mount *mount, struct rwf_bytes bytes, int32_t stream_id)
{
    const struct p2ps_ws *ws = ws_of(mount);
    const struct json_write_context context = p2ps_ws_context(ws);
    struct json_written written;
    int rc = json_write_message(&context, bytes, ws->text, ws->text_size, &written);

    if (rc != RWF_OK)
        return MD_ERR_MALFORMED; /* also when it is too long: no room later helps */
    return put_text(mount->ws->conn, ws->text, written.length, stream_id, true);
}

static int message(void *self, struct rwf_bytes bytes)
{
    return send_bytes(self, bytes, rwf_peek_stream_id(bytes));
}

static struct rwf_encoder encoder(const struct p2ps_mount *mount)
{
    struct rwf_encoder enc;

    rwf_encoder_init(&enc, ws_of(mount)->rwf, ws_of(mount)->rwf_size);
    return enc;
}

static int put(void *self, const struct p2ps_made *made, int32_t stream_id, bool solicited,
               bool snapshot)
{
    struct p2ps_mount *mount = self;

    if (!made->is_vital && ws_queued(mount->ws->conn) > p2ps_ceiling_queue(&mount->ceiling))
        return MD_ERR_FULL;
    if (made->is_rwf)
        return send_bytes(mount, rwf_bytes(made->bytes, made->length), stream_id);
    if (solicited || snapshot)
        return put_refresh(mount->ws->conn, made, stream_id, solicited, snapshot);
    return put_text(mount->ws->conn, made->bytes, made->length, stream_id, made->is_vital);
}

/* ---- administrative messages ---- */

/* The login refresh is alone in its frame: clients take it for the answer to their handshake. */
static int login_refresh(void *self, const struct omm_login_refresh *refresh)
{
    struct p2ps_mount *mount = self;
    const struct p2ps_ws *ws = ws_of(mount);
    const struct json_write_context context = p2ps_ws_context(ws);
    struct rwf_encoder enc = encoder(mount);
    struct json_written written;
    struct omm_login_refresh mine = *refresh;

    mine.support_batch = 1 | 4;
    omm_login_refresh_encode(&enc, &mine);
    if (rwf_encoder_error(&enc) != RWF_OK ||
        json_write_message(&context, rwf_encoder_bytes(&enc), ws->text, ws->text_size - 128,
                           &written) != RWF_OK)
        return MD_ERR_FULL;
    /* The last brace makes room for what the login of RWF does not have. */
    written.length--;
    written.length +=
        (size_t)snprintf((char *)ws->text + written.length, 128,
                         ",\"Elements\":{\"PingTimeout\":%" PRIu64 ",\"MaxMsgSize\":%" PRIu32 "}}",
                         ws->config.ping_ns / 1000000000u, ws->config.message_max);
    ws_out_end_frame(mount->ws->conn);
    int err = put_text(mount->ws->conn, ws->text, written.length, refresh->stream_id, true);
    ws_out_end_frame(mount->ws->conn);
    mount->ws->login_stream = refresh->stream_id;
    return err;
}

int p2ps_ws_send_status(struct p2ps_mount *mount, int32_t stream_id, uint8_t domain,
                        const struct rwf_state *state)
{
    const struct omm_status status = { .stream_id = stream_id, .domain = domain, .state = *state };
    struct rwf_encoder enc = encoder(mount);

    if (omm_status_encode(&enc, &status) != RWF_OK)
        return MD_ERR_FULL;
    return message(mount, rwf_encoder_bytes(&enc));
}

bool p2ps_ws_send_text(struct p2ps_mount *mount, const char *text, size_t length)
{
    uint8_t *room = ws_out_reserve(mount->ws->conn, length, true);

    if (!room)
        return false;
    memcpy(room, text, length);
    ws_out_commit(mount->ws->conn, length);
    return true;
}

/* ---- the connection ---- */

static bool is_full(const void *self)
{
    const struct p2ps_mount *mount = self;

    return ws_queued(mount->ws->conn) > 16384;
}

static unsigned fill(const void *self)
{
    const struct p2ps_mount *mount = self;
    const struct ws_conn *conn = mount->ws->conn;

    const char *why;

    return p2ps_output_fill(ws_queued(conn), p2ps_mount_full(mount, &why),
                            (unsigned)((uint64_t)ws_queued(conn) * 100 / ws_queue_max(conn)));
}

static const char *queue(const void *self, uint64_t *used, uint64_t *max)
{
    const struct p2ps_mount *mount = self;
    const struct ws_conn *conn = mount->ws->conn;
    const char *why;
    uint64_t full = p2ps_mount_full(mount, &why);

    *used = ws_queued(conn);
    *max = ws_queue_max(conn);
    if (full >= *max)
        return "bytes of output";
    *max = full;
    return why;
}

static const struct p2ps_front front = {
    .name = "websocket",
    .tells_each_stream = true,
    .is_long = true,
    .make = make,
    .put = put,
    .login_refresh = login_refresh,
    .message = message,
    .flush = p2ps_mount_send,
    .is_full = is_full,
    .fill = fill,
    .queue = queue,
    .has_ceiling = p2ps_mount_has_ceiling,
    .close = p2ps_mount_cut,
    .resume = p2ps_mount_resume,
    .user = p2ps_mount_user,
    .certificate = p2ps_mount_certificate,
    .serial = p2ps_mount_serial,
};

/* ---- life ---- */

int p2ps_ws_create(struct p2ps_worker *worker, const struct p2ps_ws_config *config,
                   struct p2ps_ws **out)
{
    struct p2ps_ws *ws = calloc(1, sizeof(*ws));
    uint32_t message_max = worker->config.core.message_max;

    *out = ws;
    if (!ws)
        return MD_ERR_NOMEM;
    ws->front = front;
    ws->worker = worker;
    ws->config = *config;
    ws->rwf_size = message_max ? message_max : 4u << 20;
    ws->text_size = ws->rwf_size * TEXT_FACTOR;
    ws->rwf = malloc(ws->rwf_size);
    ws->text = malloc(ws->text_size);
    if (!ws->rwf || !ws->text || ws_pool_create(&config->pool, &ws->pool) != MD_OK)
        return MD_ERR_NOMEM;
    return json_reader_create(config->message_max, &ws->reader);
}

void p2ps_ws_destroy(struct p2ps_ws *ws)
{
    if (!ws)
        return;
    json_reader_destroy(ws->reader);
    ws_pool_destroy(ws->pool);
    free(ws->rwf);
    free(ws->text);
    free(ws);
}
