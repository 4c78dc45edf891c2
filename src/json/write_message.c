/* write_message.c - messages of RWF as JSON, and errors. See json/write.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "write_message.h"
#include "names.h"

/* ---- members that several classes have ---- */

/* The names are literals: their lengths are known when the program is built. */
#define member_flag(w, is_set, text) put_flag((w), (is_set), (text), sizeof(text) - 1)
#define member_bytes(w, is_there, name, bytes)                                                     \
    put_bytes((w), (is_there), (name), sizeof(name) - 1, (bytes))
#define member_uint(w, is_there, name, value)                                                      \
    put_number((w), (is_there), (name), sizeof(name) - 1, (value))

static inline void put_flag(struct json_writer *w, bool is_set, const char *text, size_t length)
{
    if (!is_set)
        return;
    json_comma(&w->out);
    json_put(&w->out, text, length);
}

static inline void put_bytes(struct json_writer *w, bool is_there, const char *name, size_t length,
                             struct rwf_bytes bytes)
{
    if (!is_there)
        return;
    json_comma(&w->out);
    json_put(&w->out, name, length);
    json_base64(&w->out, bytes);
}

static inline void put_number(struct json_writer *w, bool is_there, const char *name, size_t length,
                              uint32_t value)
{
    if (!is_there)
        return;
    json_comma(&w->out);
    json_put(&w->out, name, length);
    json_uint(&w->out, value);
}

static void member_user(struct json_writer *w, bool is_there, const struct rwf_msg *msg)
{
    if (!is_there)
        return;
    json_member(&w->out, "\"PostUserInfo\":{\"Address\":\"");
    for (int shift = 24; shift >= 0; shift -= 8) {
        json_uint(&w->out, msg->post_user_addr >> shift & 0xFF);
        if (shift)
            json_lit(&w->out, ".");
    }
    json_lit(&w->out, "\",\"UserID\":");
    json_uint(&w->out, msg->post_user_id);
    json_lit(&w->out, "}");
}

static void member_service(struct json_writer *w, const struct rwf_key *key)
{
    const struct json_write_context *context = w->context;
    struct rwf_bytes name = { 0 };

    if (!(key->flags & RWF_KEY_HAS_SERVICE_ID))
        return;
    if (context->service_name)
        name = context->service_name(context->owner, key->service_id);
    json_lit(&w->out, "\"Service\":");
    if (name.length)
        json_string(&w->out, name);
    else
        json_uint(&w->out, key->service_id);
}

/* The values of an array, `[1,2]`. */
static void put_items(struct json_writer *w, struct rwf_bytes content)
{
    struct rwf_array array;
    struct rwf_bytes item;

    json_lit(&w->out, "[");
    if (rwf_array_decode(content, &array) == RWF_OK) {
        while (rwf_array_next(&array, &item) > 0) {
            json_comma(&w->out);
            if (json_write_value(w, array.item_type, item, NULL) < 0)
                json_lit(&w->out, "null"); /* it cannot be read: the array stays JSON */
        }
    }
    json_lit(&w->out, "]");
}

static void member_name(struct json_writer *w, const struct rwf_key *key, bool is_login)
{
    const struct json_names *types = is_login ? &json_login_name_types : &json_name_types;
    bool is_secret =
        is_login && key->flags & RWF_KEY_HAS_NAME_TYPE &&
        (key->name_type == RWF_NAME_LOGIN_AUTHN_TOKEN || key->name_type == RWF_NAME_LOGIN_COOKIE);

    if (key->flags & RWF_KEY_HAS_NAME_TYPE && key->name_type != RWF_NAME_RIC) {
        json_member(&w->out, "\"NameType\":");
        json_write_name(w, json_name(types, key->name_type), key->name_type);
    }
    if ((!(key->flags & RWF_KEY_HAS_NAME) && !w->names.length) || is_secret)
        return;
    json_member(&w->out, "\"Name\":");
    if (w->names.length)
        put_items(w, w->names);
    else if (key->name.length)
        json_string(&w->out, key->name);
    else
        json_lit(&w->out, "null");
}

static int member_key(struct json_writer *w, bool is_there, const struct rwf_key *key,
                      uint8_t domain)
{
    int rc = RWF_OK;

    if (!is_there)
        return rc;
    json_member(&w->out, "\"Key\":{");
    member_service(w, key);
    member_name(w, key, domain == RWF_DOMAIN_LOGIN);
    member_uint(w, key->flags & RWF_KEY_HAS_FILTER, "\"Filter\":", key->filter);
    if (key->flags & RWF_KEY_HAS_IDENTIFIER) {
        json_member(&w->out, "\"Identifier\":");
        json_int(&w->out, key->identifier);
    }
    if (key->flags & RWF_KEY_HAS_ATTRIB)
        rc = json_write_payload(w, key->attrib_type, key->attrib, NULL);
    json_lit(&w->out, "}");
    return rc;
}

static void member_state(struct json_writer *w, const struct rwf_state *state)
{
    json_member(&w->out, "\"State\":");
    if (w->depth == 0) /* not of a message within this one */
        w->stream_at = (size_t)(w->out.pos - w->start) + sizeof("{\"Stream\":\"") - 1;
    json_write_state(w, state);
}

/* ---- the classes ---- */

static int write_refresh(struct json_writer *w, const struct rwf_msg *msg)
{
    unsigned flags = msg->flags;
    int rc = member_key(w, flags & RWF_REFRESH_HAS_KEY, &msg->key, msg->domain);

    member_state(w, &msg->state);
    member_bytes(w, flags & RWF_REFRESH_HAS_EXT_HEADER, "\"ExtHdr\":", msg->ext_header);
    member_flag(w, !(flags & RWF_REFRESH_COMPLETE), "\"Complete\":false");
    if (flags & RWF_REFRESH_HAS_QOS) {
        json_member(&w->out, "\"Qos\":");
        json_write_qos(w, &msg->qos);
    }
    member_flag(w, !(flags & RWF_REFRESH_CLEAR_CACHE), "\"ClearCache\":false");
    member_flag(w, flags & RWF_REFRESH_DO_NOT_CACHE, "\"DoNotCache\":true");
    member_flag(w, flags & RWF_REFRESH_PRIVATE_STREAM, "\"Private\":true");
    member_flag(w, flags & RWF_REFRESH_QUALIFIED_STREAM, "\"Qualified\":true");
    member_user(w, flags & RWF_REFRESH_HAS_POST_USER_INFO, msg);
    member_uint(w, flags & RWF_REFRESH_HAS_PART_NUM, "\"PartNumber\":", msg->part_num);
    member_bytes(w, flags & RWF_REFRESH_HAS_PERM_DATA, "\"PermData\":", msg->perm_data);
    member_uint(w, flags & RWF_REFRESH_HAS_SEQ_NUM, "\"SeqNumber\":", msg->seq_num);
    if (!(flags & RWF_REFRESH_SOLICITED)) {
        if (w->depth == 0)
            w->solicited_at = (size_t)(w->out.pos - w->start);
        json_lit(&w->out, JSON_UNSOLICITED);
    }
    return rc;
}

static int write_update(struct json_writer *w, const struct rwf_msg *msg)
{
    unsigned flags = msg->flags;

    json_lit(&w->out, ",\"UpdateType\":");
    json_write_name(w, json_name(&json_update_types, msg->update_type), msg->update_type);
    member_flag(w, flags & RWF_UPDATE_DO_NOT_CONFLATE, "\"DoNotConflate\":true");
    member_flag(w, flags & RWF_UPDATE_DO_NOT_RIPPLE, "\"DoNotRipple\":true");
    member_flag(w, flags & RWF_UPDATE_DISCARDABLE, "\"Discardable\":true");
    member_flag(w, flags & RWF_UPDATE_DO_NOT_CACHE, "\"DoNotCache\":true");
    int rc = member_key(w, flags & RWF_UPDATE_HAS_KEY, &msg->key, msg->domain);
    member_user(w, flags & RWF_UPDATE_HAS_POST_USER_INFO, msg);
    member_bytes(w, flags & RWF_UPDATE_HAS_PERM_DATA, "\"PermData\":", msg->perm_data);
    member_uint(w, flags & RWF_UPDATE_HAS_SEQ_NUM, "\"SeqNumber\":", msg->seq_num);
    if (flags & RWF_UPDATE_HAS_CONF_INFO) {
        json_member(&w->out, "\"ConflationInfo\":{\"Count\":");
        json_uint(&w->out, msg->conf_count);
        json_lit(&w->out, ",\"Time\":");
        json_uint(&w->out, msg->conf_time_ms);
        json_lit(&w->out, "}");
    }
    member_bytes(w, flags & RWF_UPDATE_HAS_EXT_HEADER, "\"ExtHdr\":", msg->ext_header);
    return rc;
}

static int write_status(struct json_writer *w, const struct rwf_msg *msg)
{
    unsigned flags = msg->flags;
    int rc = member_key(w, flags & RWF_STATUS_HAS_KEY, &msg->key, msg->domain);

    if (flags & RWF_STATUS_HAS_STATE)
        member_state(w, &msg->state);
    member_flag(w, flags & RWF_STATUS_CLEAR_CACHE, "\"ClearCache\":true");
    member_flag(w, flags & RWF_STATUS_PRIVATE_STREAM, "\"Private\":true");
    member_flag(w, flags & RWF_STATUS_QUALIFIED_STREAM, "\"Qualified\":true");
    member_user(w, flags & RWF_STATUS_HAS_POST_USER_INFO, msg);
    member_bytes(w, flags & RWF_STATUS_HAS_EXT_HEADER, "\"ExtHdr\":", msg->ext_header);
    member_bytes(w, flags & RWF_STATUS_HAS_PERM_DATA, "\"PermData\":", msg->perm_data);
    return rc;
}

static int write_ack(struct json_writer *w, const struct rwf_msg *msg)
{
    unsigned flags = msg->flags;

    json_lit(&w->out, ",\"AckID\":");
    json_uint(&w->out, msg->ack_id);
    if (flags & RWF_ACK_HAS_NAK_CODE) {
        json_lit(&w->out, ",\"NakCode\":");
        json_write_name(w, json_name(&json_nak_codes, msg->nak_code), msg->nak_code);
    }
    if (flags & RWF_ACK_HAS_TEXT) {
        json_lit(&w->out, ",\"Text\":");
        json_string(&w->out, msg->text);
    }
    member_flag(w, flags & RWF_ACK_PRIVATE_STREAM, "\"Private\":true");
    member_uint(w, flags & RWF_ACK_HAS_SEQ_NUM, "\"SeqNumber\":", msg->seq_num);
    int rc = member_key(w, flags & RWF_ACK_HAS_KEY, &msg->key, msg->domain);
    member_bytes(w, flags & RWF_ACK_HAS_EXT_HEADER, "\"ExtHdr\":", msg->ext_header);
    member_flag(w, flags & RWF_ACK_QUALIFIED_STREAM, "\"Qualified\":true");
    return rc;
}

static int write_generic(struct json_writer *w, const struct rwf_msg *msg)
{
    unsigned flags = msg->flags;
    int rc = member_key(w, flags & RWF_GENERIC_HAS_KEY, &msg->key, msg->domain);

    member_uint(w, flags & RWF_GENERIC_HAS_SEQ_NUM, "\"SeqNumber\":", msg->seq_num);
    member_uint(w, flags & RWF_GENERIC_HAS_SECONDARY_SEQ_NUM,
                "\"SecSeqNumber\":", msg->secondary_seq_num);
    member_uint(w, flags & RWF_GENERIC_HAS_PART_NUM, "\"PartNumber\":", msg->part_num);
    member_bytes(w, flags & RWF_GENERIC_HAS_PERM_DATA, "\"PermData\":", msg->perm_data);
    member_bytes(w, flags & RWF_GENERIC_HAS_EXT_HEADER, "\"ExtHdr\":", msg->ext_header);
    member_flag(w, !(flags & RWF_GENERIC_COMPLETE), "\"Complete\":false");
    member_flag(w, flags & RWF_GENERIC_PROVIDER_DRIVEN, "\"ProviderDriven\":true");
    return rc;
}

/* An array in the payload of a request: names or fields. */
static struct rwf_bytes find_array(struct rwf_bytes payload, const char *name)
{
    struct rwf_element_list list;
    struct rwf_element element;

    if (rwf_element_list_decode(payload, NULL, &list) != RWF_OK)
        return (struct rwf_bytes){ 0 };
    while (rwf_element_list_next(&list, &element) > 0) {
        if (rwf_element_is(&element, name) && element.type == RWF_TYPE_ARRAY)
            return element.content;
    }
    return (struct rwf_bytes){ 0 };
}

static void member_qos(struct json_writer *w, bool is_there, const char *name,
                       const struct rwf_qos *qos)
{
    if (!is_there)
        return;
    json_comma(&w->out);
    json_put(&w->out, name, strlen(name));
    json_write_qos(w, qos);
}

/* A batch and a view stand in members of JSON of their own; the payload is not written again. */
static int write_request(struct json_writer *w, struct rwf_msg *msg)
{
    unsigned flags = msg->flags;

    if (flags & RWF_REQUEST_HAS_BATCH && msg->container == RWF_TYPE_ELEMENT_LIST)
        w->names = find_array(msg->payload, ":ItemList");
    int rc = member_key(w, true, &msg->key, msg->domain);
    w->names = (struct rwf_bytes){ 0 };
    member_flag(w, !(flags & RWF_REQUEST_STREAMING), "\"Streaming\":false");
    member_flag(w, flags & RWF_REQUEST_NO_REFRESH, "\"Refresh\":false");
    member_flag(w, !(flags & RWF_REQUEST_KEY_IN_UPDATES), "\"KeyInUpdates\":false");
    member_flag(w, flags & RWF_REQUEST_CONF_INFO_IN_UPDATES, "\"ConfInfoInUpdates\":true");
    member_flag(w, flags & RWF_REQUEST_PAUSE, "\"Pause\":true");
    member_flag(w, flags & RWF_REQUEST_PRIVATE_STREAM, "\"Private\":true");
    member_flag(w, flags & RWF_REQUEST_QUALIFIED_STREAM, "\"Qualified\":true");
    if (flags & RWF_REQUEST_HAS_PRIORITY) {
        json_member(&w->out, "\"Priority\":{\"Class\":");
        json_uint(&w->out, msg->priority_class);
        json_lit(&w->out, ",\"Count\":");
        json_uint(&w->out, msg->priority_count);
        json_lit(&w->out, "}");
    }
    member_qos(w, flags & RWF_REQUEST_HAS_QOS, "\"Qos\":", &msg->qos);
    member_qos(w, flags & RWF_REQUEST_HAS_WORST_QOS, "\"WorstQos\":", &msg->worst_qos);
    member_bytes(w, flags & RWF_REQUEST_HAS_EXT_HEADER, "\"ExtHdr\":", msg->ext_header);
    if (flags & RWF_REQUEST_HAS_VIEW && msg->container == RWF_TYPE_ELEMENT_LIST) {
        json_member(&w->out, "\"View\":");
        put_items(w, find_array(msg->payload, ":ViewData"));
    }
    if (flags & (RWF_REQUEST_HAS_BATCH | RWF_REQUEST_HAS_VIEW))
        msg->container = RWF_TYPE_NO_DATA;
    return rc;
}

static int write_post(struct json_writer *w, const struct rwf_msg *msg)
{
    unsigned flags = msg->flags;
    int rc = member_key(w, flags & RWF_POST_HAS_KEY, &msg->key, msg->domain);

    member_user(w, true, msg);
    member_flag(w, flags & RWF_POST_ACK, "\"Ack\":true");
    member_uint(w, flags & RWF_POST_HAS_POST_ID, "\"PostID\":", msg->post_id);
    member_uint(w, flags & RWF_POST_HAS_SEQ_NUM, "\"SeqNumber\":", msg->seq_num);
    member_flag(w, !(flags & RWF_POST_COMPLETE), "\"Complete\":false");
    member_uint(w, flags & RWF_POST_HAS_PART_NUM, "\"PartNumber\":", msg->part_num);
    member_uint(w, flags & RWF_POST_HAS_POST_USER_RIGHTS, "\"PostUserRights\":", msg->post_rights);
    member_bytes(w, flags & RWF_POST_HAS_PERM_DATA, "\"PermData\":", msg->perm_data);
    member_bytes(w, flags & RWF_POST_HAS_EXT_HEADER, "\"ExtHdr\":", msg->ext_header);
    return rc;
}

/* The members of a message behind its ID, without the last brace. */
static int write_members(struct json_writer *w, struct rwf_bytes message)
{
    struct rwf_msg msg;
    int rc = rwf_msg_decode(message, &msg);

    if (rc != RWF_OK)
        return rc;
    json_lit(&w->out, ",\"Type\":");
    json_write_name(w, json_name(&json_classes, msg.msg_class), msg.msg_class);
    if (msg.domain != RWF_DOMAIN_MARKET_PRICE) {
        json_lit(&w->out, ",\"Domain\":");
        json_write_name(w, json_name(&json_domains, msg.domain), msg.domain);
    }
    switch (msg.msg_class) {
    case RWF_CLASS_REFRESH:
        rc = write_refresh(w, &msg);
        break;
    case RWF_CLASS_UPDATE:
        rc = write_update(w, &msg);
        break;
    case RWF_CLASS_STATUS:
        rc = write_status(w, &msg);
        break;
    case RWF_CLASS_ACK:
        rc = write_ack(w, &msg);
        break;
    case RWF_CLASS_GENERIC:
        rc = write_generic(w, &msg);
        break;
    case RWF_CLASS_REQUEST:
        rc = write_request(w, &msg);
        break;
    case RWF_CLASS_POST:
        rc = write_post(w, &msg);
        break;
    case RWF_CLASS_CLOSE:
        member_flag(w, msg.flags & RWF_CLOSE_ACK, "\"Ack\":true");
        member_bytes(w, msg.flags & RWF_CLOSE_HAS_EXT_HEADER, "\"ExtHdr\":", msg.ext_header);
        break;
    default:
        break;
    }
    return rc < 0 ? rc : json_write_payload(w, msg.container, msg.payload, NULL);
}

int json_write_message(const struct json_write_context *context, struct rwf_bytes message,
                       uint8_t *out, size_t size, struct json_written *written)
{
    struct json_writer w = {
        .container = json_write_container,
        .members = write_members,
        .out = { .pos = out, .end = out + size },
        .context = context,
        .start = out,
    };
    struct rwf_peek peek;

    *written = (struct json_written){ 0 };
    int rc = rwf_peek(message, &peek);
    if (rc == RWF_OK)
        rc = write_members(&w, message);
    json_lit(&w.out, "}");
    if (rc < 0)
        return rc;
    if (w.out.is_full)
        return RWF_ERR_FULL;
    written->length = (size_t)(w.out.pos - out);
    if (peek.msg_class == RWF_CLASS_REFRESH) {
        written->stream_at = w.stream_at;
        written->solicited_at = w.solicited_at;
    }
    return RWF_OK;
}

/* ---- errors ---- */

size_t json_write_error(int64_t id, const struct json_error *error, uint8_t *out, size_t size)
{
    struct json_out o = { .pos = out, .end = out + size };

    json_lit(&o, "{\"ID\":");
    json_int(&o, id);
    json_lit(&o, ",\"Type\":\"Error\",\"Text\":");
    json_string(&o, error->text);
    json_lit(&o, ",\"Debug\":{\"File\":");
    json_string(&o, rwf_text(error->file));
    json_lit(&o, ",\"Line\":");
    json_int(&o, error->line);
    if (error->offset != SIZE_MAX) {
        json_lit(&o, ",\"Offset\":");
        json_uint(&o, error->offset);
    }
    json_lit(&o, ",\"Message\":");
    json_string(&o, error->message);
    json_lit(&o, "}}");
    return o.is_full ? 0 : (size_t)(o.pos - out);
}
