/* sample.c - see sample.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sample.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "dictionary.h"
#include "xml.h"

#define PAYLOAD_MAX 65000

/* A file being read. */
struct reading {
    struct sample *sample;
    const struct rwf_dictionary *dictionary;
    struct sample_item *item; /* the open one */
    struct rwf_encoder encoder;
    struct xml xml;
    const char *what; /* the complaint */
    bool in_list;     /* a refresh or update is open */
    bool is_image;
    bool is_perf; /* the format of the performance tools */
    uint8_t update_type;
    uint8_t payload[PAYLOAD_MAX];
};

static const struct {
    const char *name;
    uint8_t type;
} type_names[] = {
    { "INT", RWF_TYPE_INT },
    { "UINT", RWF_TYPE_UINT },
    { "FLOAT", RWF_TYPE_FLOAT },
    { "DOUBLE", RWF_TYPE_DOUBLE },
    { "REAL", RWF_TYPE_REAL },
    { "ENUM", RWF_TYPE_ENUM },
    { "DATE", RWF_TYPE_DATE },
    { "TIME", RWF_TYPE_TIME },
    { "DATETIME", RWF_TYPE_DATETIME },
    { "ASCII", RWF_TYPE_ASCII },
    { "UTF8", RWF_TYPE_UTF8 },
    { "RMTES", RWF_TYPE_RMTES },
    { "BUFFER", RWF_TYPE_BUFFER },
    /* as the performance tools write them */
    { "RSSL_DT_INT", RWF_TYPE_INT },
    { "RSSL_DT_UINT", RWF_TYPE_UINT },
    { "RSSL_DT_REAL", RWF_TYPE_REAL },
    { "RSSL_DT_ENUM", RWF_TYPE_ENUM },
    { "RSSL_DT_DATE", RWF_TYPE_DATE },
    { "RSSL_DT_TIME", RWF_TYPE_TIME },
    { "RSSL_DT_DATETIME", RWF_TYPE_DATETIME },
    { "RSSL_DT_FLOAT", RWF_TYPE_FLOAT },
    { "RSSL_DT_DOUBLE", RWF_TYPE_DOUBLE },
    { "RSSL_DT_BUFFER", RWF_TYPE_BUFFER },
    { "RSSL_DT_ASCII_STRING", RWF_TYPE_ASCII },
    { "RSSL_DT_UTF8_STRING", RWF_TYPE_UTF8 },
    { "RSSL_DT_RMTES_STRING", RWF_TYPE_RMTES },
};

static unsigned type_number(const char *name)
{
    for (size_t i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++) {
        if (strcmp(type_names[i].name, name) == 0)
            return type_names[i].type;
    }
    return RWF_TYPE_UNKNOWN;
}

static bool parse_number(const char *text, long long low, long long high, long long *out)
{
    char *end;

    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == 0 && *out >= low && *out <= high;
}

/* MM/DD/YYYY and HH:MM:SS:mmm[:uuu[:nnn]] of the performance tools, in our spelling. */
static void respell(const char *text, unsigned type, char out[64])
{
    unsigned month, day, year;
    size_t colons = 0, length = 0;

    snprintf(out, 64, "%s", text);
    if (type == RWF_TYPE_DATE && sscanf(text, "%2u/%2u/%4u", &month, &day, &year) == 3)
        snprintf(out, 64, "%04u-%02u-%02u", year, month, day);
    if (type != RWF_TYPE_TIME)
        return;
    for (const char *p = text; *p && length < 63; p++) {
        if (*p == ':' && ++colons >= 3) {
            if (colons == 3)
                out[length++] = '.';
            continue;
        }
        out[length++] = *p;
    }
    out[length] = 0;
}

static bool read_hex(const char *text, uint8_t *out, size_t *length)
{
    static const char digits[] = "0123456789abcdef";

    *length = 0;
    for (; text[0] && text[1]; text += 2) {
        const char *high = strchr(digits, text[0] | 0x20), *low = strchr(digits, text[1] | 0x20);
        if (!high || !low || !*high || !*low)
            return false;
        out[(*length)++] = (uint8_t)((high - digits) << 4 | (low - digits));
    }
    return *text == 0;
}

/* A decimal with a hint of its own. */
static bool read_real(const char *text, const char *hint, struct rwf_real *real)
{
    long long number;

    if (!hint)
        return rwf_real_from_text(rwf_text(text), real) == RWF_OK;
    if (!parse_number(hint, 0, RWF_HINT_FRACTION_256, &number) ||
        rwf_real_from_text(rwf_text(text), real) != RWF_OK)
        return false;
    return rwf_real_from_double(rwf_real_to_double(real), (uint8_t)number, real) == RWF_OK;
}

static bool read_value(const char *text, unsigned type, const char *hint, uint8_t *buffer,
                       struct rwf_value *value)
{
    char spelled[64], *end;
    long long number;
    size_t length;

    *value = (struct rwf_value){ .type = (uint8_t)type };
    if (!*text) {
        value->is_blank = true;
        return true;
    }
    respell(text, type, spelled);
    switch (type) {
    case RWF_TYPE_INT:
        if (!parse_number(text, INT64_MIN, INT64_MAX, &number))
            return false;
        value->i = number;
        return true;
    case RWF_TYPE_UINT:
        errno = 0;
        value->u = strtoull(text, &end, 10);
        return errno == 0 && *end == 0 && *text != '-';
    case RWF_TYPE_ENUM:
        if (!parse_number(text, 0, 65535, &number))
            return false;
        value->u = (uint64_t)number;
        return true;
    case RWF_TYPE_FLOAT:
        value->f = strtof(text, &end);
        return *end == 0;
    case RWF_TYPE_DOUBLE:
        value->d = strtod(text, &end);
        return *end == 0;
    case RWF_TYPE_REAL:
        return read_real(text, hint, &value->real);
    case RWF_TYPE_DATE:
        return rwf_date_from_text(rwf_text(spelled), &value->date) == RWF_OK;
    case RWF_TYPE_TIME:
        return rwf_time_from_text(rwf_text(spelled), &value->time) == RWF_OK;
    case RWF_TYPE_DATETIME:
        return rwf_datetime_from_text(rwf_text(text), &value->datetime) == RWF_OK;
    case RWF_TYPE_BUFFER:
        if (!read_hex(text, buffer, &length))
            return false;
        value->bytes = rwf_bytes(buffer, length);
        return true;
    default:
        value->bytes = rwf_text(text);
        return true;
    }
}

static int add_field(struct reading *r)
{
    const char *id = xml_attribute(&r->xml, r->is_perf ? "fieldId" : "id");
    const char *type_name = xml_attribute(&r->xml, r->is_perf ? "dataType" : "type");
    const char *text = xml_attribute(&r->xml, r->is_perf ? "data" : "value");
    const struct rwf_field_def *def = NULL;
    struct rwf_value value;
    long long fid;
    uint8_t buffer[XML_TEXT_MAX / 2];

    r->what = "a field needs id=\"-32768..32767\"";
    if (!id || !parse_number(id, INT16_MIN, INT16_MAX, &fid))
        return MD_ERR_MALFORMED;
    if (r->dictionary)
        def = rwf_dictionary_field(r->dictionary, (int)fid);
    unsigned type = type_name ? type_number(type_name) : def ? def->rwf_type : RWF_TYPE_UNKNOWN;
    r->what = "unknown type; one of INT UINT FLOAT DOUBLE REAL ENUM DATE TIME DATETIME ASCII UTF8 "
              "RMTES BUFFER, or none for a field of the dictionary";
    if (type == RWF_TYPE_UNKNOWN)
        return MD_ERR_MALFORMED;
    r->what = "the value does not fit its type";
    if (!read_value(text ? text : "", type, xml_attribute(&r->xml, "hint"), buffer, &value))
        return MD_ERR_MALFORMED;
    int rc = rwf_field_add(&r->encoder, (int16_t)fid, &value);
    r->what = "more fields than one message holds";
    return rc;
}

static int begin_item(struct reading *r, const char *name, const char *domain)
{
    long long number = RWF_DOMAIN_MARKET_PRICE;

    r->what = "an item has name=\"...\" and domain=\"1..255\"";
    if (!name || strlen(name) > 255 || (domain && !parse_number(domain, 1, 255, &number)))
        return MD_ERR_MALFORMED;
    r->what = "out of memory";
    void *items = realloc(r->sample->items, (r->sample->count + 1) * sizeof(*r->sample->items));
    if (!items)
        return MD_ERR_NOMEM;
    r->sample->items = items;
    r->item = &r->sample->items[r->sample->count];
    *r->item = (struct sample_item){ .domain = (uint8_t)number, .name = strdup(name) };
    if (!r->item->name)
        return MD_ERR_NOMEM;
    r->sample->count++;
    return MD_OK;
}

static int begin_list(struct reading *r, bool is_image)
{
    const char *type = xml_attribute(&r->xml, r->is_perf ? "updateType" : "type");
    long long number = 0;

    r->what = "a refresh or an update stands within an item, and not within another";
    if (!r->item || r->in_list)
        return MD_ERR_MALFORMED;
    if (type && !is_image && !parse_number(type, 0, 255, &number)) {
        r->what = "the type of an update is a number from 0 to 255";
        if (!r->is_perf)
            return MD_ERR_MALFORMED;
        number = 0;
    }
    r->in_list = true;
    r->is_image = is_image;
    r->update_type = (uint8_t)number;
    rwf_encoder_init(&r->encoder, r->payload, sizeof(r->payload));
    return rwf_field_list_start(&r->encoder, NULL);
}

static int end_list(struct reading *r)
{
    int rc = rwf_field_list_finish(&r->encoder);
    struct rwf_bytes bytes = rwf_encoder_bytes(&r->encoder);

    r->in_list = false;
    r->what = "more fields than one message holds";
    if (rc != RWF_OK)
        return rc;
    r->what = "out of memory";
    uint8_t *copy = malloc(bytes.length);
    if (!copy)
        return MD_ERR_NOMEM;
    memcpy(copy, bytes.data, bytes.length);
    if (r->is_image) {
        free(r->item->image);
        r->item->image = copy;
        r->item->image_length = (uint32_t)bytes.length;
        return MD_OK;
    }
    void *updates =
        realloc(r->item->updates, (r->item->update_count + 1) * sizeof(*r->item->updates));
    if (!updates) {
        free(copy);
        return MD_ERR_NOMEM;
    }
    r->item->updates = updates;
    r->item->updates[r->item->update_count++] = (struct sample_update){
        .payload = copy, .length = (uint32_t)bytes.length, .type = r->update_type
    };
    return MD_OK;
}

static int on_open(struct reading *r)
{
    const char *name = r->xml.name;

    if (strcmp(name, "msgFormat") == 0 && r->xml.depth == 1) {
        r->is_perf = true;
        return begin_item(r, "", NULL);
    }
    if (r->is_perf) {
        if (strcmp(name, "refreshMsg") == 0 || strcmp(name, "updateMsg") == 0)
            return begin_list(r, name[0] == 'r');
        return strcmp(name, "fieldEntry") == 0 && r->in_list ? add_field(r) : MD_OK;
    }
    if (strcmp(name, "sample") == 0 && r->xml.depth == 1)
        return MD_OK;
    if (strcmp(name, "item") == 0 && r->xml.depth == 2)
        return begin_item(r, xml_attribute(&r->xml, "name"), xml_attribute(&r->xml, "domain"));
    if (strcmp(name, "refresh") == 0 || strcmp(name, "update") == 0)
        return begin_list(r, name[0] == 'r');
    if (strcmp(name, "field") == 0 && r->in_list)
        return add_field(r);
    r->what = "expected <sample>, <item>, <refresh>, <update> or <field>, each within the one "
              "before, or <msgFormat>";
    return MD_ERR_MALFORMED;
}

static int on_close(struct reading *r)
{
    const char *name = r->xml.name;

    if (r->in_list && (strcmp(name, r->is_image ? "refresh" : "update") == 0 ||
                       strcmp(name, r->is_image ? "refreshMsg" : "updateMsg") == 0))
        return end_list(r);
    if (strcmp(name, "item") == 0)
        r->item = NULL;
    return MD_OK;
}

int sample_parse(struct sample *sample, const struct rwf_dictionary *dictionary, const char *file,
                 const char *text, size_t length, char *error, size_t error_size)
{
    struct reading *r = calloc(1, sizeof(*r));
    enum xml_event event;
    int rc = MD_OK;

    *sample = (struct sample){ .count = 0 };
    error[0] = 0;
    if (!r)
        return MD_ERR_NOMEM;
    r->sample = sample;
    r->dictionary = dictionary;
    xml_init(&r->xml, text, length);
    while (rc == MD_OK && (event = xml_next(&r->xml)) != XML_END) {
        if (event == XML_BAD) {
            r->what = r->xml.error;
            rc = MD_ERR_MALFORMED;
        } else {
            rc = event == XML_OPEN ? on_open(r) : on_close(r);
        }
    }
    if (rc == MD_OK && sample->count == 0) {
        r->what = "no <sample> with an <item> in it";
        rc = MD_ERR_MALFORMED;
    }
    if (rc != MD_OK) {
        snprintf(error, error_size, "%s:%u: %s", file, r->xml.line, r->what);
        sample_fini(sample);
    }
    free(r);
    return rc;
}

int sample_load(struct sample *sample, const struct rwf_dictionary *dictionary, const char *path,
                char *error, size_t error_size)
{
    size_t length;
    char *text = tool_file_read(path, SAMPLE_FILE_MAX, &length);

    *sample = (struct sample){ .count = 0 };
    if (!text) {
        snprintf(error, error_size, "cannot read %s: %s", path, strerror(errno));
        return MD_ERR_SYS;
    }
    int rc = sample_parse(sample, dictionary, path, text, length, error, error_size);
    free(text);
    return rc;
}

void sample_fini(struct sample *sample)
{
    for (size_t i = 0; i < sample->count; i++) {
        struct sample_item *item = &sample->items[i];
        for (uint32_t j = 0; j < item->update_count; j++)
            free(item->updates[j].payload);
        free(item->updates);
        free(item->image);
        free(item->name);
    }
    free(sample->items);
    *sample = (struct sample){ .count = 0 };
}

const struct sample_item *sample_find(const struct sample *sample, const char *name)
{
    for (size_t i = 0; i < sample->count; i++) {
        if (strcmp(sample->items[i].name, name) == 0)
            return &sample->items[i];
    }
    return NULL;
}
