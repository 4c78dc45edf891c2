/* known_keys.c - the members that messages have; catchUnknownJsonKeys refuses all others. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"

/* Of all classes together: a member of another class does no harm. */
static const char *const known[] = {
    "ID",         "Type",           "Domain",      "Key",         "Streaming",
    "Refresh",    "KeyInUpdates",   "Pause",       "Priority",    "ConfInfoInUpdates",
    "Private",    "Qualified",      "Qos",         "WorstQos",    "View",
    "ViewType",   "ExtHdr",         "Ack",         "PostID",      "PostUserInfo",
    "PartNumber", "PostUserRights", "SeqNumber",   "PermData",    "SecSeqNumber",
    "Complete",   "State",          "ClearCache",  "DoNotCache",  "Solicited",
    "UpdateType", "DoNotConflate",  "DoNotRipple", "Discardable", "ConflationInfo",
    "AckID",      "NakCode",        "Text",        "Debug",       "ProviderDriven",
    "Fields",     "FieldList",      "Elements",    "ElementList", "FilterList",
    "Map",        "Vector",         "Series",      "Message",     "Opaque",
    "Xml",        "Json",           "AnsiPage",
};

bool json_fail_key(struct json_reader *r, uint32_t token)
{
    struct rwf_bytes name = json_raw(r, token);

    return FAIL(r, json_at(r, token)->at, "JSON Unexpected Key. Received '%.*s'",
                (int)(name.length < 64 ? name.length : 64), (const char *)name.data);
}

bool json_catch_keys(struct json_reader *r, uint32_t object)
{
    if (!r->context.catches_keys)
        return true;
    for (uint32_t i = object + 1; i < json_at(r, object)->next; i = json_at(r, i + 1)->next) {
        size_t at = 0;

        while (at < sizeof(known) / sizeof(known[0]) && !json_is(r, i, known[at]))
            at++;
        if (at == sizeof(known) / sizeof(known[0]))
            return json_fail_key(r, i);
    }
    return true;
}
