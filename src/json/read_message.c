/* read_message.c - messages of JSON as messages of RWF. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <stdio.h>

#include "reader.h"

#define ID_MAX INT32_MAX

/* The members that every message has; of each class others follow. */
struct head {
    uint32_t object;
    unsigned msg_class;
    struct rwf_msg msg;
    uint32_t attrib; /* the elements of the key, NO_TOKEN: none */
    uint32_t payload;
    uint32_t view;
};

static bool missing(struct json_reader *r, uint32_t object, const char *key)
{
    return FAIL(r, json_at(r, object)->at, "JSON Missing required key '%s'", key);
}

static bool read_flag(struct json_reader *r, struct head *h, const char *key, bool absent,
                      uint16_t flag)
{
    uint32_t token = json_find(r, h->object, key);
    bool value = absent;

    if (token != NO_TOKEN && !json_to_bool(r, token, key, &value))
        return false;
    h->msg.flags |= value ? flag : 0;
    return true;
}

/* Sets `flag` when the member is there. */
static bool read_number(struct json_reader *r, struct head *h, const char *key, int64_t max,
                        uint16_t flag, int64_t *out)
{
    uint32_t token = json_find(r, h->object, key);

    *out = 0;
    if (token == NO_TOKEN)
        return true;
    h->msg.flags |= flag;
    return json_to_int(r, token, key, 0, max, out);
}

static bool read_base64(struct json_reader *r, struct head *h, const char *key, uint16_t flag,
                        struct rwf_bytes *out)
{
    uint32_t token = json_find(r, h->object, key);

    if (token == NO_TOKEN || flag == 0)
        return true;
    if (!json_bytes(r, token, key, out))
        return false;
    h->msg.flags |= out->length ? flag : 0;
    return true;
}

/* ---- the key ---- */

static bool read_service(struct json_reader *r, uint32_t token, struct rwf_key *key)
{
    int64_t number;

    if (json_at(r, token)->kind == JSON_STRING) {
        struct rwf_bytes name = json_text(r, token);
        number = r->context.service_id ? r->context.service_id(r->context.owner, name) : -1;
        if (number < 0)
            return true; /* p2ps answers with a status: an error would leave clients waiting */
    } else if (!json_to_int(r, token, "Service", 0, UINT16_MAX, &number)) {
        return false;
    }
    key->flags |= RWF_KEY_HAS_SERVICE_ID;
    key->service_id = (uint16_t)number;
    return true;
}

static bool read_name(struct json_reader *r, uint32_t token, struct rwf_key *key)
{
    if (json_at(r, token)->kind == JSON_ARRAY) {
        r->list = token;
        for (uint32_t i = token + 1; i < json_at(r, token)->next; i = json_at(r, i)->next) {
            if (!json_expect(r, i, JSON_STRING, "Name"))
                return false;
        }
        return true;
    }
    key->flags |= RWF_KEY_HAS_NAME;
    if (json_is_null(r, token))
        return true;
    if (!json_expect(r, token, JSON_STRING, "Name"))
        return false;
    key->name = json_text(r, token);
    return key->name.length <= 255 ? true : FAIL_VALUE(r, token);
}

static bool read_key(struct json_reader *r, struct head *h, uint32_t at)
{
    struct rwf_key *key = &h->msg.key;
    const struct json_names *types =
        h->msg.domain == RWF_DOMAIN_LOGIN ? &json_login_name_types : &json_name_types;
    unsigned type;
    int64_t number;

    if (!json_expect(r, at, JSON_OBJECT, "Key"))
        return false;
    for (uint32_t i = at + 1; i < json_at(r, at)->next; i = json_at(r, i + 1)->next) {
        uint32_t value = i + 1;

        if (json_is(r, i, "Service")) {
            if (!read_service(r, value, key))
                return false;
        } else if (json_is(r, i, "Name")) {
            if (!read_name(r, value, key))
                return false;
        } else if (json_is(r, i, "NameType")) {
            /* A dictionary is asked for with the name type of a login. */
            if (json_at(r, value)->kind == JSON_STRING && json_is(r, value, "Name"))
                continue;
            if (!json_to_number(r, value, "NameType", types, 255, &type))
                return false;
            key->flags |= RWF_KEY_HAS_NAME_TYPE;
            key->name_type = (uint8_t)type;
        } else if (json_is(r, i, "Filter")) {
            if (!json_to_int(r, value, "Filter", 0, UINT32_MAX, &number))
                return false;
            key->flags |= RWF_KEY_HAS_FILTER;
            key->filter = (uint32_t)number;
        } else if (json_is(r, i, "Identifier")) {
            if (!json_to_int(r, value, "Identifier", INT32_MIN, INT32_MAX, &number))
                return false;
            key->flags |= RWF_KEY_HAS_IDENTIFIER;
            key->identifier = (int32_t)number;
        } else if (json_is(r, i, "Elements") || json_is(r, i, "ElementList")) {
            h->attrib = value;
            key->flags |= RWF_KEY_HAS_ATTRIB;
            key->attrib_type = RWF_TYPE_ELEMENT_LIST;
        } else if (r->context.catches_keys) {
            return json_fail_key(r, i);
        }
    }
    /* A login by a token says no name here; in RWF it says one of a zero byte. */
    if (h->msg.domain == RWF_DOMAIN_LOGIN && key->flags & RWF_KEY_HAS_NAME_TYPE &&
        key->name_type == RWF_NAME_LOGIN_AUTHN_TOKEN && !(key->flags & RWF_KEY_HAS_NAME)) {
        key->flags |= RWF_KEY_HAS_NAME;
        key->name = rwf_bytes("\0", 1);
    }
    return true;
}

/* ---- members of the classes ---- */

static bool read_qos(struct json_reader *r, struct head *h, const char *key, uint16_t flag,
                     struct rwf_qos *out)
{
    uint32_t token = json_find(r, h->object, key);
    struct rwf_value value;

    if (token == NO_TOKEN)
        return true;
    if (!json_read_value(r, RWF_TYPE_QOS, token, NULL, &value))
        return false;
    h->msg.flags |= value.is_blank ? 0 : flag;
    *out = value.qos;
    return true;
}

static bool read_priority(struct json_reader *r, struct head *h)
{
    uint32_t at = json_find(r, h->object, "Priority");
    int64_t number[2] = { 1, 1 };

    if (at == NO_TOKEN)
        return true;
    if (!json_expect(r, at, JSON_OBJECT, "Priority"))
        return false;
    uint32_t class_at = json_find(r, at, "Class");
    uint32_t count_at = json_find(r, at, "Count");
    if ((class_at != NO_TOKEN && !json_to_int(r, class_at, "Class", 0, 255, &number[0])) ||
        (count_at != NO_TOKEN && !json_to_int(r, count_at, "Count", 0, UINT16_MAX, &number[1])))
        return false;
    h->msg.flags |= RWF_REQUEST_HAS_PRIORITY;
    h->msg.priority_class = (uint8_t)number[0];
    h->msg.priority_count = (uint16_t)number[1];
    return true;
}

static bool read_request(struct json_reader *r, struct head *h)
{
    uint32_t view = json_find(r, h->object, "View");

    if (view != NO_TOKEN && !json_expect(r, view, JSON_ARRAY, "View"))
        return false;
    if (view != NO_TOKEN && json_at(r, view)->next > view + 1) {
        h->view = view;
        h->msg.flags |= RWF_REQUEST_HAS_VIEW;
        h->msg.container = RWF_TYPE_ELEMENT_LIST;
    }
    bool refresh = true;
    uint32_t token = json_find(r, h->object, "Refresh");
    if (token != NO_TOKEN && !json_to_bool(r, token, "Refresh", &refresh))
        return false;
    h->msg.flags |= refresh ? 0 : RWF_REQUEST_NO_REFRESH;
    return read_flag(r, h, "Streaming", true, RWF_REQUEST_STREAMING) &&
           read_flag(r, h, "KeyInUpdates", true, RWF_REQUEST_KEY_IN_UPDATES) &&
           read_flag(r, h, "ConfInfoInUpdates", false, RWF_REQUEST_CONF_INFO_IN_UPDATES) &&
           read_flag(r, h, "Pause", false, RWF_REQUEST_PAUSE) &&
           read_flag(r, h, "Private", false, RWF_REQUEST_PRIVATE_STREAM) &&
           read_flag(r, h, "Qualified", false, RWF_REQUEST_QUALIFIED_STREAM) &&
           read_priority(r, h) && read_qos(r, h, "Qos", RWF_REQUEST_HAS_QOS, &h->msg.qos) &&
           read_qos(r, h, "WorstQos", RWF_REQUEST_HAS_WORST_QOS, &h->msg.worst_qos) &&
           read_base64(r, h, "ExtHdr", RWF_REQUEST_HAS_EXT_HEADER, &h->msg.ext_header);
}

/* The number of a user, in quotes. */
static bool read_user_id(struct json_reader *r, uint32_t token, int64_t *out)
{
    struct rwf_bytes raw = json_raw(r, token);

    *out = 0;
    for (size_t i = 0; i < raw.length; i++) {
        unsigned digit = raw.data[i] - (unsigned)'0';

        *out = *out * 10 + digit;
        if (digit > 9 || *out > UINT32_MAX)
            return FAIL_VALUE(r, token);
    }
    return true;
}

/* The address is dotted or a number, the user a number or one in quotes. */
static bool read_user(struct json_reader *r, struct head *h, uint16_t flag)
{
    uint32_t at = json_find(r, h->object, "PostUserInfo");
    int64_t number = 0;

    if (at == NO_TOKEN)
        return true;
    if (!json_expect(r, at, JSON_OBJECT, "PostUserInfo"))
        return false;
    uint32_t address = json_find(r, at, "Address");
    uint32_t user = json_find(r, at, "UserID");
    if (address == NO_TOKEN || user == NO_TOKEN)
        return missing(r, at, address == NO_TOKEN ? "Address" : "UserID");
    if (json_at(r, address)->kind == JSON_STRING) {
        char text[INET_ADDRSTRLEN];
        struct in_addr in;
        struct rwf_bytes raw = json_raw(r, address);

        snprintf(text, sizeof(text), "%.*s", (int)(raw.length < 32 ? raw.length : 32),
                 (const char *)raw.data);
        if (inet_pton(AF_INET, text, &in) != 1)
            return FAIL_VALUE(r, address);
        number = ntohl(in.s_addr);
    } else if (!json_to_int(r, address, "Address", 0, UINT32_MAX, &number)) {
        return false;
    }
    h->msg.flags |= flag;
    h->msg.post_user_addr = (uint32_t)number;
    if (json_at(r, user)->kind == JSON_STRING
            ? !read_user_id(r, user, &number)
            : !json_to_int(r, user, "UserID", 0, UINT32_MAX, &number))
        return false;
    h->msg.post_user_id = (uint32_t)number;
    return true;
}

static bool read_post(struct json_reader *r, struct head *h)
{
    int64_t post_id, part, seq, rights;

    if (!read_flag(r, h, "Ack", false, RWF_POST_ACK) ||
        !read_flag(r, h, "Complete", true, RWF_POST_COMPLETE) ||
        !read_number(r, h, "PostID", UINT32_MAX, RWF_POST_HAS_POST_ID, &post_id) ||
        !read_number(r, h, "PartNumber", 32767, RWF_POST_HAS_PART_NUM, &part) ||
        !read_number(r, h, "SeqNumber", UINT32_MAX, RWF_POST_HAS_SEQ_NUM, &seq) ||
        !read_number(r, h, "PostUserRights", 32767, RWF_POST_HAS_POST_USER_RIGHTS, &rights) ||
        !read_base64(r, h, "PermData", RWF_POST_HAS_PERM_DATA, &h->msg.perm_data) ||
        !read_base64(r, h, "ExtHdr", RWF_POST_HAS_EXT_HEADER, &h->msg.ext_header) ||
        !read_user(r, h, 0))
        return false;
    h->msg.post_id = (uint32_t)post_id;
    h->msg.part_num = (uint16_t)part;
    h->msg.seq_num = (uint32_t)seq;
    h->msg.post_rights = (uint16_t)rights;
    return true;
}

static bool read_generic(struct json_reader *r, struct head *h)
{
    int64_t part, seq, second;

    if (!read_flag(r, h, "Complete", true, RWF_GENERIC_COMPLETE) ||
        !read_number(r, h, "PartNumber", 32767, RWF_GENERIC_HAS_PART_NUM, &part) ||
        !read_number(r, h, "SeqNumber", UINT32_MAX, RWF_GENERIC_HAS_SEQ_NUM, &seq) ||
        !read_number(r, h, "SecSeqNumber", UINT32_MAX, RWF_GENERIC_HAS_SECONDARY_SEQ_NUM,
                     &second) ||
        !read_base64(r, h, "PermData", RWF_GENERIC_HAS_PERM_DATA, &h->msg.perm_data) ||
        !read_base64(r, h, "ExtHdr", RWF_GENERIC_HAS_EXT_HEADER, &h->msg.ext_header))
        return false;
    h->msg.part_num = (uint16_t)part;
    h->msg.seq_num = (uint32_t)seq;
    h->msg.secondary_seq_num = (uint32_t)second;
    return true;
}

static bool read_state(struct json_reader *r, struct head *h)
{
    uint32_t token = json_find(r, h->object, "State");
    struct rwf_value value;

    h->msg.state = (struct rwf_state){ .stream_state = RWF_STREAM_OPEN, .data_state = RWF_DATA_OK };
    if (token == NO_TOKEN)
        return true;
    if (!json_read_value(r, RWF_TYPE_STATE, token, NULL, &value))
        return false;
    h->msg.state = value.state;
    return true;
}

static bool read_refresh(struct json_reader *r, struct head *h)
{
    int64_t part, seq;

    if (!read_flag(r, h, "Complete", true, RWF_REFRESH_COMPLETE) ||
        !read_flag(r, h, "ClearCache", true, RWF_REFRESH_CLEAR_CACHE) ||
        !read_flag(r, h, "DoNotCache", false, RWF_REFRESH_DO_NOT_CACHE) ||
        !read_flag(r, h, "Private", false, RWF_REFRESH_PRIVATE_STREAM) ||
        !read_flag(r, h, "Solicited", true, RWF_REFRESH_SOLICITED) ||
        !read_number(r, h, "PartNumber", 32767, RWF_REFRESH_HAS_PART_NUM, &part) ||
        !read_number(r, h, "SeqNumber", UINT32_MAX, RWF_REFRESH_HAS_SEQ_NUM, &seq) ||
        !read_base64(r, h, "PermData", RWF_REFRESH_HAS_PERM_DATA, &h->msg.perm_data) ||
        !read_base64(r, h, "ExtHdr", RWF_REFRESH_HAS_EXT_HEADER, &h->msg.ext_header) ||
        !read_qos(r, h, "Qos", RWF_REFRESH_HAS_QOS, &h->msg.qos) ||
        !read_user(r, h, RWF_REFRESH_HAS_POST_USER_INFO) || !read_state(r, h))
        return false;
    h->msg.part_num = (uint16_t)part;
    h->msg.seq_num = (uint32_t)seq;
    h->msg.group_id = rwf_bytes("\0", 2);
    return true;
}

static bool read_update(struct json_reader *r, struct head *h)
{
    uint32_t type_at = json_find(r, h->object, "UpdateType");
    unsigned type = 0;
    int64_t seq;

    if (type_at != NO_TOKEN &&
        !json_to_number(r, type_at, "UpdateType", &json_update_types, 255, &type))
        return false;
    if (!read_flag(r, h, "DoNotConflate", false, RWF_UPDATE_DO_NOT_CONFLATE) ||
        !read_flag(r, h, "DoNotRipple", false, RWF_UPDATE_DO_NOT_RIPPLE) ||
        !read_flag(r, h, "DoNotCache", false, RWF_UPDATE_DO_NOT_CACHE) ||
        !read_flag(r, h, "Discardable", false, RWF_UPDATE_DISCARDABLE) ||
        !read_number(r, h, "SeqNumber", UINT32_MAX, RWF_UPDATE_HAS_SEQ_NUM, &seq) ||
        !read_base64(r, h, "PermData", RWF_UPDATE_HAS_PERM_DATA, &h->msg.perm_data) ||
        !read_base64(r, h, "ExtHdr", RWF_UPDATE_HAS_EXT_HEADER, &h->msg.ext_header) ||
        !read_user(r, h, RWF_UPDATE_HAS_POST_USER_INFO))
        return false;
    h->msg.update_type = (uint8_t)type;
    h->msg.seq_num = (uint32_t)seq;
    return true;
}

static bool read_status(struct json_reader *r, struct head *h)
{
    if (json_find(r, h->object, "State") != NO_TOKEN)
        h->msg.flags |= RWF_STATUS_HAS_STATE;
    return read_flag(r, h, "ClearCache", false, RWF_STATUS_CLEAR_CACHE) &&
           read_flag(r, h, "Private", false, RWF_STATUS_PRIVATE_STREAM) &&
           read_base64(r, h, "PermData", RWF_STATUS_HAS_PERM_DATA, &h->msg.perm_data) &&
           read_base64(r, h, "ExtHdr", RWF_STATUS_HAS_EXT_HEADER, &h->msg.ext_header) &&
           read_user(r, h, RWF_STATUS_HAS_POST_USER_INFO) && read_state(r, h);
}

static bool read_ack(struct json_reader *r, struct head *h)
{
    uint32_t code_at = json_find(r, h->object, "NakCode");
    uint32_t text_at = json_find(r, h->object, "Text");
    int64_t ack_id, seq;
    unsigned code = 0;

    if (!read_number(r, h, "AckID", UINT32_MAX, 0, &ack_id) ||
        !read_number(r, h, "SeqNumber", UINT32_MAX, RWF_ACK_HAS_SEQ_NUM, &seq) ||
        !read_flag(r, h, "Private", false, RWF_ACK_PRIVATE_STREAM) ||
        !read_base64(r, h, "ExtHdr", RWF_ACK_HAS_EXT_HEADER, &h->msg.ext_header))
        return false;
    if (code_at != NO_TOKEN) {
        if (!json_to_number(r, code_at, "NakCode", &json_nak_codes, 255, &code))
            return false;
        h->msg.flags |= RWF_ACK_HAS_NAK_CODE;
        h->msg.nak_code = (uint8_t)code;
    }
    if (text_at != NO_TOKEN && !json_is_null(r, text_at)) {
        if (!json_expect(r, text_at, JSON_STRING, "Text"))
            return false;
        h->msg.flags |= RWF_ACK_HAS_TEXT;
        h->msg.text = json_text(r, text_at);
    }
    h->msg.ack_id = (uint32_t)ack_id;
    h->msg.seq_num = (uint32_t)seq;
    return true;
}

static const uint16_t key_flags[] = {
    [RWF_CLASS_REFRESH] = RWF_REFRESH_HAS_KEY, [RWF_CLASS_STATUS] = RWF_STATUS_HAS_KEY,
    [RWF_CLASS_UPDATE] = RWF_UPDATE_HAS_KEY,   [RWF_CLASS_GENERIC] = RWF_GENERIC_HAS_KEY,
    [RWF_CLASS_POST] = RWF_POST_HAS_KEY,       [RWF_CLASS_ACK] = RWF_ACK_HAS_KEY,
};

static bool read_class(struct json_reader *r, struct head *h)
{
    switch (h->msg_class) {
    case RWF_CLASS_REQUEST:
        return read_request(r, h);
    case RWF_CLASS_POST:
        return read_post(r, h);
    case RWF_CLASS_GENERIC:
        return read_generic(r, h);
    case RWF_CLASS_REFRESH:
        return read_refresh(r, h);
    case RWF_CLASS_UPDATE:
        return read_update(r, h);
    case RWF_CLASS_STATUS:
        return read_status(r, h);
    case RWF_CLASS_ACK:
        return read_ack(r, h);
    case RWF_CLASS_CLOSE:
        return read_flag(r, h, "Ack", false, RWF_CLOSE_ACK) &&
               read_base64(r, h, "ExtHdr", RWF_CLOSE_HAS_EXT_HEADER, &h->msg.ext_header);
    default:
        return true;
    }
}

/* ---- encoding ---- */

/* Field names become ids, unknown names are left out. */
static bool encode_view(struct json_reader *r, const struct head *h)
{
    uint32_t end = json_at(r, h->view)->next;

    rwf_element_list_start(&r->enc, NULL);
    rwf_element_add_uint(&r->enc, ":ViewType", 1);
    rwf_element_start(&r->enc, rwf_text(":ViewData"), RWF_TYPE_ARRAY);
    rwf_array_start(&r->enc, RWF_TYPE_INT, 2);
    for (uint32_t i = h->view + 1; i < end; i = json_at(r, i)->next) {
        int64_t number = 0;

        if (json_at(r, i)->kind == JSON_STRING) {
            struct rwf_bytes name = json_text(r, i);
            const struct rwf_field_def *field = rwf_dictionary_field_named(
                r->context.dictionary, (const char *)name.data, name.length);
            if (!field)
                continue;
            number = field->fid;
        } else if (!json_to_int(r, i, "View", INT16_MIN, INT16_MAX, &number)) {
            return false;
        }
        const struct rwf_value value = rwf_value_int(number);
        rwf_array_add(&r->enc, &value);
    }
    rwf_array_finish(&r->enc);
    rwf_element_finish(&r->enc);
    rwf_element_list_finish(&r->enc);
    return true;
}

static bool encode(struct json_reader *r, const struct head *h)
{
    bool is_read = true;

    if (h->attrib != NO_TOKEN) {
        rwf_msg_attrib_start(&r->enc, &h->msg);
        is_read = json_read_container(r, RWF_TYPE_ELEMENT_LIST, h->attrib);
        rwf_msg_attrib_finish(&r->enc);
    } else {
        rwf_msg_start(&r->enc, &h->msg);
    }
    if (is_read && h->view != NO_TOKEN)
        is_read = encode_view(r, h);
    else if (is_read && h->payload != NO_TOKEN)
        is_read = json_read_container(r, h->msg.container, h->payload);
    if (!is_read)
        return false;
    rwf_msg_finish(&r->enc);
    if (rwf_encoder_error(&r->enc) != RWF_OK)
        return FAIL(r, json_at(r, h->object)->at,
                    "JSON RSSL Conversion Error. RSSL error code : %d", rwf_encoder_error(&r->enc));
    return true;
}

/* ---- the message ---- */

static bool read_domain(struct json_reader *r, struct head *h)
{
    uint32_t token = json_find(r, h->object, "Domain");
    unsigned domain = RWF_DOMAIN_MARKET_PRICE;

    if (token != NO_TOKEN && !json_to_number(r, token, "Domain", &json_domains, 255, &domain))
        return false;
    h->msg.domain = (uint8_t)domain;
    return true;
}

static bool read_class_name(struct json_reader *r, struct head *h, bool is_nested)
{
    uint32_t token = json_find(r, h->object, "Type");

    h->msg_class = is_nested ? RWF_CLASS_UPDATE : RWF_CLASS_REQUEST;
    if (token != NO_TOKEN &&
        !json_to_number(r, token, "Type", &json_classes, RWF_CLASS_POST, &h->msg_class))
        return false;
    if (h->msg_class == 0)
        return FAIL(r, json_at(r, token)->at, "JSON Unexpected Value. Received '0' for key 'Type'");
    h->msg.msg_class = (uint8_t)h->msg_class;
    return true;
}

static bool read_id(struct json_reader *r, struct head *h, struct json_read *read)
{
    uint32_t token = json_find(r, h->object, "ID");
    int64_t id = 0;

    if (token == NO_TOKEN)
        return missing(r, h->object, "ID");
    if (read && h->msg_class == RWF_CLASS_CLOSE && json_at(r, token)->kind == JSON_ARRAY) {
        r->list = token;
        for (uint32_t i = token + 1; i < json_at(r, token)->next; i = json_at(r, i)->next) {
            if (!json_to_int(r, i, "ID", INT32_MIN, ID_MAX, &id))
                return false;
        }
        return true;
    }
    if (!json_to_int(r, token, "ID", INT32_MIN, ID_MAX, &id))
        return false;
    h->msg.stream_id = (int32_t)id;
    return true;
}

bool json_read_message(struct json_reader *r, uint32_t object, bool is_nested,
                       struct json_read *read)
{
    struct head h = {
        .object = object,
        .attrib = NO_TOKEN,
        .payload = NO_TOKEN,
        .view = NO_TOKEN,
        .msg = { .priority_class = 1, .priority_count = 1 },
    };

    if (!read_class_name(r, &h, is_nested) || !read_id(r, &h, read) || !read_domain(r, &h) ||
        !json_catch_keys(r, object))
        return false;
    if (read && r->list != NO_TOKEN)
        return true; /* closes */
    uint32_t key = json_find(r, object, "Key");
    if (key == NO_TOKEN && h.msg_class == RWF_CLASS_REQUEST)
        return missing(r, object, "Key");
    if (key != NO_TOKEN && h.msg_class != RWF_CLASS_CLOSE) {
        if (!read_key(r, &h, key))
            return false;
        h.msg.flags |=
            h.msg_class < sizeof(key_flags) / sizeof(key_flags[0]) ? key_flags[h.msg_class] : 0;
        if (read)
            read->has_service = json_find(r, key, "Service") != NO_TOKEN;
    }
    h.msg.container = RWF_TYPE_NO_DATA;
    if (h.msg_class != RWF_CLASS_CLOSE)
        h.msg.container = (uint16_t)json_payload_type(r, object, &h.payload);
    return read_class(r, &h) && encode(r, &h);
}
