/* write_value.c - primitives of RWF as JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"
#include "write_message.h"

void json_write_name(struct json_writer *w, const struct json_name *name, unsigned number)
{
    if (name)
        json_put_name(&w->out, name);
    else
        json_uint(&w->out, number);
}

void json_write_qos(struct json_writer *w, const struct rwf_qos *qos)
{
    json_lit(&w->out, "{\"Timeliness\":");
    json_write_name(w, json_name(&json_timeliness, qos->timeliness), qos->timeliness);
    json_lit(&w->out, ",\"Rate\":");
    json_write_name(w, json_name(&json_rates, qos->rate), qos->rate);
    if (qos->dynamic)
        json_lit(&w->out, ",\"Dynamic\":true");
    if (qos->timeliness == RWF_TIMELINESS_DELAYED) {
        json_lit(&w->out, ",\"TimeInfo\":");
        json_uint(&w->out, qos->time_info);
    }
    if (qos->rate == RWF_RATE_TIME_CONFLATED) {
        json_lit(&w->out, ",\"RateInfo\":");
        json_uint(&w->out, qos->rate_info);
    }
    json_lit(&w->out, "}");
}

void json_write_state(struct json_writer *w, const struct rwf_state *state)
{
    json_lit(&w->out, "{\"Stream\":");
    json_write_name(w, json_name(&json_stream_states, state->stream_state), state->stream_state);
    json_lit(&w->out, ",\"Data\":");
    json_write_name(w, json_name(&json_data_states, state->data_state), state->data_state);
    if (state->code) {
        json_lit(&w->out, ",\"Code\":");
        json_write_name(w, json_name(&json_codes, state->code), state->code);
    }
    if (state->text.length) {
        json_lit(&w->out, ",\"Text\":");
        json_string(&w->out, state->text);
    }
    json_lit(&w->out, "}");
}

static int write_array(struct json_writer *w, struct rwf_bytes content)
{
    struct rwf_array array;
    struct rwf_bytes item;
    int rc = rwf_array_decode(content, &array);

    if (rc < 0)
        return rc;
    json_lit(&w->out, "{\"Type\":");
    json_write_name(w, json_name(&json_types, array.item_type), array.item_type);
    json_lit(&w->out, ",\"Data\":[");
    while (rc >= 0 && (rc = rwf_array_next(&array, &item)) > 0) {
        json_comma(&w->out);
        rc = json_write_value(w, array.item_type, item, NULL);
    }
    json_lit(&w->out, "]}");
    return rc;
}

static void write_text(struct json_writer *w, const struct rwf_value *value)
{
    switch (value->type) {
    case RWF_TYPE_ASCII:
    case RWF_TYPE_UTF8:
        json_string(&w->out, value->bytes);
        break;
    case RWF_TYPE_RMTES:
        json_rmtes(&w->out, value->bytes);
        break;
    default:
        json_base64(&w->out, value->bytes);
        break;
    }
}

static int write_decoded(struct json_writer *w, const struct rwf_value *value)
{
    struct json_out *out = &w->out;

    switch (value->type) {
    case RWF_TYPE_INT:
        json_int(out, value->i);
        break;
    case RWF_TYPE_UINT:
    case RWF_TYPE_ENUM:
        json_uint(out, value->u);
        break;
    case RWF_TYPE_FLOAT:
        json_float(out, value->f);
        break;
    case RWF_TYPE_DOUBLE:
        json_double(out, value->d);
        break;
    case RWF_TYPE_REAL:
        json_real(out, &value->real);
        break;
    case RWF_TYPE_DATE:
        json_date(out, &value->date);
        break;
    case RWF_TYPE_TIME:
        json_time(out, &value->time);
        break;
    case RWF_TYPE_DATETIME:
        json_datetime(out, &value->datetime);
        break;
    case RWF_TYPE_QOS:
        json_write_qos(w, &value->qos);
        break;
    case RWF_TYPE_STATE:
        json_write_state(w, &value->state);
        break;
    case RWF_TYPE_ARRAY:
        return write_array(w, value->bytes);
    default:
        write_text(w, value);
        break;
    }
    return RWF_OK;
}

int json_write_value(struct json_writer *w, unsigned type, struct rwf_bytes content,
                     const struct rwf_sets *sets)
{
    struct rwf_value value;

    if (rwf_type_is_container(type))
        return w->container(w, type, content, sets);
    int rc = rwf_value_decode(type, content, &value);
    if (rc < 0)
        return rc;
    if (value.is_blank) {
        json_lit(&w->out, "null");
        return RWF_OK;
    }
    return write_decoded(w, &value);
}
