/* names.c - see names.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "marketfeed/marketfeed.h"

static const struct {
    unsigned type;
    const char *name;
    const char *shorter;
} containers[] = {
    { RWF_TYPE_NO_DATA, "no_data", "NODATA" },
    { RWF_TYPE_OPAQUE, "opaque", "OPAQUE" },
    { RWF_TYPE_XML, "xml", "XML" },
    { RWF_TYPE_FIELD_LIST, "field_list", "FL" },
    { RWF_TYPE_ELEMENT_LIST, "element_list", "EL" },
    { RWF_TYPE_ANSI_PAGE, "ansi_page", "ANSI" },
    { RWF_TYPE_FILTER_LIST, "filter_list", "FLT" },
    { RWF_TYPE_VECTOR, "vector", "VEC" },
    { RWF_TYPE_MAP, "map", "MAP" },
    { RWF_TYPE_SERIES, "series", "SER" },
    { MF_CONTAINER, "marketfeed", "MF" },
    { RWF_TYPE_MSG, "message", "MSG" },
    { RWF_TYPE_JSON, "json", "JSON" },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *names_container(unsigned type)
{
    for (size_t i = 0; i < COUNT(containers); i++)
        if (containers[i].type == type)
            return containers[i].name;
    return "data";
}

int names_type(const char *name)
{
    char *end;
    unsigned long number = strtoul(name, &end, 10);

    if (*name && !*end)
        return number <= UINT8_MAX ? (int)number : -1;
    for (size_t i = 0; i < COUNT(containers); i++)
        if (strcasecmp(containers[i].name, name) == 0 ||
            strcasecmp(containers[i].shorter, name) == 0)
            return (int)containers[i].type;
    for (unsigned type = RWF_TYPE_INT; type <= RWF_TYPE_RMTES; type++)
        if (strcasecmp(rwf_type_name(type), name) == 0)
            return (int)type;
    return -1;
}

const char *names_map_action(unsigned action)
{
    static const char *const names[] = { "?", "UPDATE", "ADD", "DELETE" };

    return action < COUNT(names) ? names[action] : "?";
}

const char *names_vector_action(unsigned action)
{
    static const char *const names[] = { "?", "UPDATE", "SET", "CLEAR", "INSERT", "DELETE" };

    return action < COUNT(names) ? names[action] : "?";
}

const char *names_filter_action(unsigned action)
{
    static const char *const names[] = { "?", "UPDATE", "SET", "CLEAR" };

    return action < COUNT(names) ? names[action] : "?";
}

/* ---- flags ---- */

struct flag {
    unsigned bit;
    const char *name;
};

static const struct flag request_flags[] = {
    { RWF_REQUEST_HAS_EXT_HEADER, "HAS_EXT_HEADER" },
    { RWF_REQUEST_HAS_PRIORITY, "HAS_PRIORITY" },
    { RWF_REQUEST_STREAMING, "STREAMING" },
    { RWF_REQUEST_KEY_IN_UPDATES, "KEY_IN_UPDATES" },
    { RWF_REQUEST_CONF_INFO_IN_UPDATES, "CONF_INFO_IN_UPDATES" },
    { RWF_REQUEST_NO_REFRESH, "NO_REFRESH" },
    { RWF_REQUEST_HAS_QOS, "HAS_QOS" },
    { RWF_REQUEST_HAS_WORST_QOS, "HAS_WORST_QOS" },
    { RWF_REQUEST_PRIVATE_STREAM, "PRIVATE_STREAM" },
    { RWF_REQUEST_PAUSE, "PAUSE" },
    { RWF_REQUEST_HAS_VIEW, "HAS_VIEW" },
    { RWF_REQUEST_HAS_BATCH, "HAS_BATCH" },
    { RWF_REQUEST_QUALIFIED_STREAM, "QUALIFIED_STREAM" },
};

static const struct flag refresh_flags[] = {
    { RWF_REFRESH_HAS_EXT_HEADER, "HAS_EXT_HEADER" },
    { RWF_REFRESH_HAS_PERM_DATA, "HAS_PERM_DATA" },
    { RWF_REFRESH_HAS_KEY, "HAS_KEY" },
    { RWF_REFRESH_HAS_SEQ_NUM, "HAS_SEQ_NUM" },
    { RWF_REFRESH_SOLICITED, "SOLICITED" },
    { RWF_REFRESH_COMPLETE, "COMPLETE" },
    { RWF_REFRESH_HAS_QOS, "HAS_QOS" },
    { RWF_REFRESH_CLEAR_CACHE, "CLEAR_CACHE" },
    { RWF_REFRESH_DO_NOT_CACHE, "DO_NOT_CACHE" },
    { RWF_REFRESH_PRIVATE_STREAM, "PRIVATE_STREAM" },
    { RWF_REFRESH_HAS_POST_USER_INFO, "HAS_POST_USER_INFO" },
    { RWF_REFRESH_HAS_PART_NUM, "HAS_PART_NUM" },
    { RWF_REFRESH_HAS_REQ_KEY, "HAS_REQ_KEY" },
    { RWF_REFRESH_QUALIFIED_STREAM, "QUALIFIED_STREAM" },
};

static const struct flag status_flags[] = {
    { RWF_STATUS_HAS_EXT_HEADER, "HAS_EXT_HEADER" },
    { RWF_STATUS_HAS_PERM_DATA, "HAS_PERM_DATA" },
    { RWF_STATUS_HAS_KEY, "HAS_KEY" },
    { RWF_STATUS_HAS_GROUP_ID, "HAS_GROUP_ID" },
    { RWF_STATUS_HAS_STATE, "HAS_STATE" },
    { RWF_STATUS_CLEAR_CACHE, "CLEAR_CACHE" },
    { RWF_STATUS_PRIVATE_STREAM, "PRIVATE_STREAM" },
    { RWF_STATUS_HAS_POST_USER_INFO, "HAS_POST_USER_INFO" },
    { RWF_STATUS_HAS_REQ_KEY, "HAS_REQ_KEY" },
    { RWF_STATUS_QUALIFIED_STREAM, "QUALIFIED_STREAM" },
};

static const struct flag update_flags[] = {
    { RWF_UPDATE_HAS_EXT_HEADER, "HAS_EXT_HEADER" },
    { RWF_UPDATE_HAS_PERM_DATA, "HAS_PERM_DATA" },
    { RWF_UPDATE_HAS_KEY, "HAS_KEY" },
    { RWF_UPDATE_HAS_SEQ_NUM, "HAS_SEQ_NUM" },
    { RWF_UPDATE_HAS_CONF_INFO, "HAS_CONF_INFO" },
    { RWF_UPDATE_DO_NOT_CACHE, "DO_NOT_CACHE" },
    { RWF_UPDATE_DO_NOT_CONFLATE, "DO_NOT_CONFLATE" },
    { RWF_UPDATE_DO_NOT_RIPPLE, "DO_NOT_RIPPLE" },
    { RWF_UPDATE_HAS_POST_USER_INFO, "HAS_POST_USER_INFO" },
    { RWF_UPDATE_DISCARDABLE, "DISCARDABLE" },
};

static const struct flag close_flags[] = {
    { RWF_CLOSE_HAS_EXT_HEADER, "HAS_EXT_HEADER" },
    { RWF_CLOSE_ACK, "ACK" },
};

static const struct flag ack_flags[] = {
    { RWF_ACK_HAS_EXT_HEADER, "HAS_EXT_HEADER" },
    { RWF_ACK_HAS_TEXT, "HAS_TEXT" },
    { RWF_ACK_PRIVATE_STREAM, "PRIVATE_STREAM" },
    { RWF_ACK_HAS_SEQ_NUM, "HAS_SEQ_NUM" },
    { RWF_ACK_HAS_KEY, "HAS_KEY" },
    { RWF_ACK_HAS_NAK_CODE, "HAS_NAK_CODE" },
    { RWF_ACK_QUALIFIED_STREAM, "QUALIFIED_STREAM" },
};

static const struct flag generic_flags[] = {
    { RWF_GENERIC_HAS_EXT_HEADER, "HAS_EXT_HEADER" },
    { RWF_GENERIC_HAS_PERM_DATA, "HAS_PERM_DATA" },
    { RWF_GENERIC_HAS_KEY, "HAS_KEY" },
    { RWF_GENERIC_HAS_SEQ_NUM, "HAS_SEQ_NUM" },
    { RWF_GENERIC_COMPLETE, "COMPLETE" },
    { RWF_GENERIC_HAS_SECONDARY_SEQ_NUM, "HAS_SECONDARY_SEQ_NUM" },
    { RWF_GENERIC_HAS_PART_NUM, "HAS_PART_NUM" },
    { RWF_GENERIC_HAS_REQ_KEY, "HAS_REQ_KEY" },
    { RWF_GENERIC_PROVIDER_DRIVEN, "PROVIDER_DRIVEN" },
};

static const struct flag post_flags[] = {
    { RWF_POST_HAS_EXT_HEADER, "HAS_EXT_HEADER" },
    { RWF_POST_HAS_POST_ID, "HAS_POST_ID" },
    { RWF_POST_HAS_KEY, "HAS_KEY" },
    { RWF_POST_HAS_SEQ_NUM, "HAS_SEQ_NUM" },
    { RWF_POST_COMPLETE, "COMPLETE" },
    { RWF_POST_ACK, "ACK" },
    { RWF_POST_HAS_PERM_DATA, "HAS_PERM_DATA" },
    { RWF_POST_HAS_PART_NUM, "HAS_PART_NUM" },
    { RWF_POST_HAS_POST_USER_RIGHTS, "HAS_POST_USER_RIGHTS" },
};

static const struct {
    const struct flag *flags;
    size_t count;
} class_flags[] = {
    [0] = { NULL, 0 },
    [RWF_CLASS_REQUEST] = { request_flags, COUNT(request_flags) },
    [RWF_CLASS_REFRESH] = { refresh_flags, COUNT(refresh_flags) },
    [RWF_CLASS_STATUS] = { status_flags, COUNT(status_flags) },
    [RWF_CLASS_UPDATE] = { update_flags, COUNT(update_flags) },
    [RWF_CLASS_CLOSE] = { close_flags, COUNT(close_flags) },
    [RWF_CLASS_ACK] = { ack_flags, COUNT(ack_flags) },
    [RWF_CLASS_GENERIC] = { generic_flags, COUNT(generic_flags) },
    [RWF_CLASS_POST] = { post_flags, COUNT(post_flags) },
};

/* These are flags of the message, not of a member that is shown. */
static bool is_shown(const char *name)
{
    return strncmp(name, "HAS_", 4) != 0 || strcmp(name, "HAS_VIEW") == 0 ||
           strcmp(name, "HAS_BATCH") == 0;
}

static void append(char *text, size_t size, const char *more)
{
    size_t length = strlen(text);

    snprintf(text + length, size - length, "%s%s", length ? "|" : "", more);
}

void names_flags(const struct rwf_msg *msg, char *text, size_t size)
{
    unsigned left = msg->flags;
    char number[16];

    text[0] = '\0';
    if (msg->msg_class >= COUNT(class_flags))
        return;
    for (size_t i = 0; i < class_flags[msg->msg_class].count; i++) {
        const struct flag *flag = &class_flags[msg->msg_class].flags[i];

        if ((left & flag->bit) && is_shown(flag->name))
            append(text, size, flag->name);
        left &= ~flag->bit;
    }
    if (left) {
        snprintf(number, sizeof(number), "0x%x", left);
        append(text, size, number);
    }
}

static bool has(const struct rwf_msg *msg, const char *name)
{
    if (msg->msg_class >= COUNT(class_flags))
        return false;
    for (size_t i = 0; i < class_flags[msg->msg_class].count; i++) {
        const struct flag *flag = &class_flags[msg->msg_class].flags[i];

        if (strcmp(flag->name, name) == 0)
            return msg->flags & flag->bit;
    }
    return false;
}

struct names_members names_members(const struct rwf_msg *msg)
{
    bool is_refresh = msg->msg_class == RWF_CLASS_REFRESH;

    return (struct names_members){
        .seq_num = has(msg, "HAS_SEQ_NUM"),
        .secondary_seq_num = has(msg, "HAS_SECONDARY_SEQ_NUM"),
        .part_num = has(msg, "HAS_PART_NUM"),
        .conf_info = has(msg, "HAS_CONF_INFO"),
        .priority = has(msg, "HAS_PRIORITY"),
        .post_id = has(msg, "HAS_POST_ID"),
        .post_user = has(msg, "HAS_POST_USER_INFO") || msg->msg_class == RWF_CLASS_POST,
        .post_rights = has(msg, "HAS_POST_USER_RIGHTS"),
        .nak_code = has(msg, "HAS_NAK_CODE"),
        .text = has(msg, "HAS_TEXT"),
        .qos = has(msg, "HAS_QOS"),
        .worst_qos = has(msg, "HAS_WORST_QOS"),
        .state = is_refresh || has(msg, "HAS_STATE"),
        .group_id = is_refresh || has(msg, "HAS_GROUP_ID"),
        .perm_data = has(msg, "HAS_PERM_DATA"),
        .ext_header = has(msg, "HAS_EXT_HEADER"),
        .req_key = has(msg, "HAS_REQ_KEY"),
    };
}
