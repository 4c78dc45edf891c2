/* value.c - primitives, bytes to values and back; see rmds/rwf_value.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rmds/rwf_value.h"

#include "wire.h"

#define HINT_BLANK     32 /* the blank of REAL_4RB and REAL_8RB, seen anywhere */
#define HINT_LAST_FRAC RWF_HINT_FRACTION_256

static const struct rwf_time time_blank = { RWF_HOUR_BLANK,  RWF_MINUTE_BLANK, RWF_SECOND_BLANK,
                                            RWF_MILLI_BLANK, RWF_MICRO_BLANK,  RWF_NANO_BLANK };

/* ---- decode ---- */

int rwf_int_decode(struct rwf_bytes content, int64_t *value)
{
    if (content.length - 1 < 8) {
        *value = wire_load_signed(content.data, content.length);
        return RWF_OK;
    }
    *value = 0;
    return content.length == 0 ? RWF_BLANK : RWF_ERR_MALFORMED;
}

int rwf_uint_decode(struct rwf_bytes content, uint64_t *value)
{
    if (content.length - 1 < 8) {
        *value = wire_load(content.data, content.length);
        return RWF_OK;
    }
    *value = 0;
    return content.length == 0 ? RWF_BLANK : RWF_ERR_MALFORMED;
}

int rwf_enum_decode(struct rwf_bytes content, uint16_t *value)
{
    *value = 0;
    if (content.length - 1 < 2) {
        *value = (uint16_t)wire_load(content.data, content.length);
        return RWF_OK;
    }
    return content.length == 0 ? RWF_BLANK : RWF_ERR_MALFORMED;
}

int rwf_float_decode(struct rwf_bytes content, float *value)
{
    *value = 0;
    if (content.length == 0)
        return RWF_BLANK;
    if (content.length != 4)
        return content.length < 4 ? RWF_ERR_SHORT : RWF_ERR_MALFORMED;
    uint32_t bits = md_be32(content.data);
    memcpy(value, &bits, sizeof(*value));
    return RWF_OK;
}

int rwf_double_decode(struct rwf_bytes content, double *value)
{
    *value = 0;
    if (content.length == 0)
        return RWF_BLANK;
    if (content.length != 8)
        return content.length < 8 ? RWF_ERR_SHORT : RWF_ERR_MALFORMED;
    uint64_t bits = md_be64(content.data);
    memcpy(value, &bits, sizeof(*value));
    return RWF_OK;
}

/* Special hints, blanks and errors: what is not a plain value. */
static int real_decode_rare(struct rwf_bytes content, struct rwf_real *value)
{
    *value = (struct rwf_real){ 0 };
    if (content.length == 0)
        return RWF_BLANK;

    unsigned hint = content.data[0] & 0x3f;

    if (hint >= RWF_HINT_INFINITY && hint <= RWF_HINT_NOT_A_NUMBER) {
        value->hint = (uint8_t)hint;
        return RWF_OK;
    }
    if (content.length == 1 || hint == HINT_BLANK)
        return RWF_BLANK;
    hint &= 0x1f;
    if (hint > HINT_LAST_FRAC || content.length > 9)
        return RWF_ERR_MALFORMED;
    value->hint = (uint8_t)hint;
    value->value = wire_load_signed(content.data + 1, content.length - 1);
    return RWF_OK;
}

int rwf_real_decode(struct rwf_bytes content, struct rwf_real *value)
{
    if (content.length - 2 >= 8 || (content.data[0] & 0x3f) > HINT_LAST_FRAC)
        return real_decode_rare(content, value);
    value->hint = content.data[0] & 0x1f;
    value->value = wire_load_signed(content.data + 1, content.length - 1);
    return RWF_OK;
}

static void get_date(const uint8_t *p, struct rwf_date *date)
{
    date->day = p[0];
    date->month = p[1];
    date->year = md_be16(p + 2);
}

int rwf_date_decode(struct rwf_bytes content, struct rwf_date *value)
{
    *value = (struct rwf_date){ 0 };
    if (content.length == 0)
        return RWF_BLANK;
    if (content.length != 4)
        return content.length < 4 ? RWF_ERR_SHORT : RWF_ERR_MALFORMED;
    get_date(content.data, value);
    return rwf_date_is_blank(value) ? RWF_BLANK : RWF_OK;
}

static bool time_size_is_legal(size_t size)
{
    return size == 2 || size == 3 || size == 5 || size == 7 || size == 8;
}

/* Parts that are absent are 0, or blank when all that are there are blank. */
static int get_time(const uint8_t *p, size_t size, struct rwf_time *time)
{
    struct rwf_time t = { .hour = p[0], .minute = p[1] };
    bool blank = t.hour == RWF_HOUR_BLANK && t.minute == RWF_MINUTE_BLANK;

    if (size >= 3) {
        t.second = p[2];
        blank = blank && t.second == RWF_SECOND_BLANK;
    }
    if (size >= 5) {
        t.milli = md_be16(p + 3);
        blank = blank && t.milli == RWF_MILLI_BLANK;
    }
    if (size >= 7) {
        t.micro = md_be16(p + 5);
        if (size == 8) { /* three bits of the nanoseconds stand above the eleven of micro */
            t.nano = (uint16_t)((t.micro >> 11 & 7) << 8 | p[7]);
            t.micro &= 0x7ff;
            blank = blank && t.nano == RWF_NANO_BLANK;
        }
        blank = blank && t.micro == RWF_MICRO_BLANK;
    }
    *time = blank ? time_blank : t;
    return blank ? RWF_BLANK : RWF_OK;
}

int rwf_time_decode(struct rwf_bytes content, struct rwf_time *value)
{
    *value = time_blank;
    if (content.length == 0)
        return RWF_BLANK;
    if (!time_size_is_legal(content.length))
        return RWF_ERR_MALFORMED;
    return get_time(content.data, content.length, value);
}

int rwf_datetime_decode(struct rwf_bytes content, struct rwf_datetime *value)
{
    *value = (struct rwf_datetime){ .time = time_blank };
    if (content.length == 0)
        return RWF_BLANK;
    if (content.length < 4 || !time_size_is_legal(content.length - 4))
        return RWF_ERR_MALFORMED;
    get_date(content.data, &value->date);
    int rc = get_time(content.data + 4, content.length - 4, &value->time);
    return rwf_date_is_blank(&value->date) ? rc : RWF_OK;
}

void wire_rd_qos(struct md_rd *rd, struct rwf_qos *qos)
{
    uint8_t byte = md_rd_u8(rd);

    *qos =
        (struct rwf_qos){ .timeliness = byte >> 5, .rate = byte >> 1 & 0xf, .dynamic = byte & 1 };
    if (qos->timeliness > RWF_TIMELINESS_DELAYED_UNKNOWN)
        qos->time_info = md_rd_u16(rd);
    if (qos->rate > RWF_RATE_JIT_CONFLATED)
        qos->rate_info = md_rd_u16(rd);
}

int rwf_qos_decode(struct rwf_bytes content, struct rwf_qos *value)
{
    struct md_rd rd = md_rd_init(content.data, content.length);

    *value = (struct rwf_qos){ 0 };
    if (content.length == 0)
        return RWF_BLANK;
    wire_rd_qos(&rd, value);
    if (!md_rd_ok(&rd))
        return RWF_ERR_SHORT;
    return md_rd_left(&rd) == 0 ? RWF_OK : RWF_ERR_MALFORMED;
}

void wire_rd_state(struct md_rd *rd, struct rwf_state *state)
{
    uint8_t byte = md_rd_u8(rd);

    state->stream_state = byte >> 3;
    state->data_state = byte & 7;
    state->code = md_rd_u8(rd);
    state->text = wire_rd_buf15(rd);
}

int rwf_state_decode(struct rwf_bytes content, struct rwf_state *value)
{
    struct md_rd rd = md_rd_init(content.data, content.length);

    *value = (struct rwf_state){ 0 };
    if (content.length == 0)
        return RWF_BLANK;
    wire_rd_state(&rd, value);
    return md_rd_ok(&rd) ? RWF_OK : RWF_ERR_SHORT;
}

int rwf_value_decode(unsigned type, struct rwf_bytes content, struct rwf_value *value)
{
    uint16_t code = 0;
    int rc;

    type = rwf_type_base(type);
    *value = (struct rwf_value){ .type = (uint16_t)type };
    switch (type) {
    case RWF_TYPE_INT:
        rc = rwf_int_decode(content, &value->i);
        break;
    case RWF_TYPE_UINT:
        rc = rwf_uint_decode(content, &value->u);
        break;
    case RWF_TYPE_FLOAT:
        rc = rwf_float_decode(content, &value->f);
        break;
    case RWF_TYPE_DOUBLE:
        rc = rwf_double_decode(content, &value->d);
        break;
    case RWF_TYPE_REAL:
        rc = rwf_real_decode(content, &value->real);
        break;
    case RWF_TYPE_DATE:
        rc = rwf_date_decode(content, &value->date);
        break;
    case RWF_TYPE_TIME:
        rc = rwf_time_decode(content, &value->time);
        break;
    case RWF_TYPE_DATETIME:
        rc = rwf_datetime_decode(content, &value->datetime);
        break;
    case RWF_TYPE_QOS:
        rc = rwf_qos_decode(content, &value->qos);
        break;
    case RWF_TYPE_STATE:
        rc = rwf_state_decode(content, &value->state);
        break;
    case RWF_TYPE_ENUM:
        rc = rwf_enum_decode(content, &code);
        value->u = code;
        break;
    default:
        if (type < RWF_TYPE_ARRAY || (type > RWF_TYPE_RMTES && type < RWF_TYPE_NO_DATA))
            value->type = RWF_TYPE_BUFFER; /* no such type */
        value->bytes = content;
        rc = content.length == 0 ? RWF_BLANK : RWF_OK;
        break;
    }
    value->is_blank = rc == RWF_BLANK;
    return rc < 0 ? rc : RWF_OK;
}

/* ---- encode ---- */

unsigned wire_time_size(const struct rwf_time *time)
{
    if (time->nano != 0)
        return 8;
    if (time->micro != 0)
        return 7;
    if (time->milli != 0)
        return 5;
    return time->second != 0 ? 3 : 2;
}

void wire_put_date(uint8_t *p, const struct rwf_date *date)
{
    p[0] = date->day;
    p[1] = date->month;
    md_put_be16(p + 2, date->year);
}

void wire_put_time(uint8_t *p, unsigned size, const struct rwf_time *time)
{
    p[0] = time->hour;
    p[1] = time->minute;
    if (size >= 3)
        p[2] = time->second;
    if (size >= 5)
        md_put_be16(p + 3, time->milli);
    if (size == 7)
        md_put_be16(p + 5, time->micro);
    if (size == 8) {
        md_put_be16(p + 5, (uint16_t)((time->nano >> 8 & 7) << 11 | (time->micro & 0x7ff)));
        p[7] = (uint8_t)time->nano;
    }
}

int wire_wr_qos(struct md_wr *wr, const struct rwf_qos *qos)
{
    if (qos->timeliness > 7 || qos->rate > 15)
        return RWF_ERR_RANGE;
    md_wr_u8(wr, (uint8_t)(qos->timeliness << 5 | qos->rate << 1 | qos->dynamic));
    if (qos->timeliness > RWF_TIMELINESS_DELAYED_UNKNOWN)
        md_wr_u16(wr, qos->time_info);
    if (qos->rate > RWF_RATE_JIT_CONFLATED)
        md_wr_u16(wr, qos->rate_info);
    return RWF_OK;
}

int wire_wr_state(struct md_wr *wr, const struct rwf_state *state)
{
    if (state->stream_state > 31 || state->data_state > 7 || state->text.length > RB15_MAX)
        return RWF_ERR_RANGE;
    md_wr_u8(wr, rwf_state_byte(state->stream_state, state->data_state));
    md_wr_u8(wr, state->code);
    wire_wr_buf15(wr, state->text);
    return RWF_OK;
}

/* The bits above the hint must be free, and 31, 32 mean nothing. */
static int wr_real(struct md_wr *wr, const struct rwf_real *real)
{
    if (real->hint > RWF_HINT_NOT_A_NUMBER || real->hint == 31 || real->hint == HINT_BLANK)
        return RWF_ERR_RANGE;
    md_wr_u8(wr, real->hint);
    if (real->hint <= HINT_LAST_FRAC) {
        unsigned n = wire_int_size(real->value);
        uint8_t bytes[8];

        wire_store8(bytes, (uint64_t)real->value, n);
        md_wr_bytes(wr, bytes, n);
    }
    return RWF_OK;
}

static int wr_value(struct md_wr *wr, const struct rwf_value *value)
{
    uint8_t bytes[WIRE_PRIMITIVE_MAX];
    unsigned n;

    switch (value->type) {
    case RWF_TYPE_INT:
        n = wire_int_size(value->i);
        wire_store8(bytes, (uint64_t)value->i, n);
        break;
    case RWF_TYPE_ENUM:
        if (value->u > UINT16_MAX)
            return RWF_ERR_RANGE;
        n = wire_uint_size(value->u);
        wire_store8(bytes, value->u, n);
        break;
    case RWF_TYPE_UINT:
        n = wire_uint_size(value->u);
        wire_store8(bytes, value->u, n);
        break;
    case RWF_TYPE_FLOAT:
        n = 4;
        wire_put_fixed(value->type, n, value, bytes);
        break;
    case RWF_TYPE_DOUBLE:
        n = 8;
        wire_put_fixed(value->type, n, value, bytes);
        break;
    case RWF_TYPE_REAL:
        return wr_real(wr, &value->real);
    case RWF_TYPE_DATE:
        n = 4;
        wire_put_date(bytes, &value->date);
        break;
    case RWF_TYPE_TIME:
        n = wire_time_size(&value->time);
        wire_put_time(bytes, n, &value->time);
        break;
    case RWF_TYPE_DATETIME:
        n = wire_time_size(&value->datetime.time);
        wire_put_date(bytes, &value->datetime.date);
        wire_put_time(bytes + 4, n, &value->datetime.time);
        n += 4;
        break;
    case RWF_TYPE_QOS:
        return wire_wr_qos(wr, &value->qos);
    case RWF_TYPE_STATE:
        return wire_wr_state(wr, &value->state);
    default:
        wire_wr_view(wr, value->bytes);
        return RWF_OK;
    }
    md_wr_bytes(wr, bytes, n);
    return RWF_OK;
}

int rwf_value_encode(const struct rwf_value *value, uint8_t *out, size_t size, size_t *length)
{
    struct md_wr wr = md_wr_init(out, size);
    int rc = value->is_blank ? RWF_OK : wr_value(&wr, value);

    if (rc == RWF_OK && !md_wr_ok(&wr))
        rc = RWF_ERR_FULL;
    *length = rc == RWF_OK ? md_wr_length(&wr) : 0;
    return rc;
}

/* ---- fixed width: set data and arrays with an item length ---- */

static uint32_t float_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static uint64_t double_bits(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static int put_fixed_number(unsigned type, unsigned width, const struct rwf_value *value,
                            uint8_t *out)
{
    bool is_signed = type == RWF_TYPE_INT;
    uint64_t number = is_signed ? (uint64_t)value->i : value->u;
    unsigned need = is_signed ? wire_int_size(value->i) : wire_uint_size(value->u);
    uint8_t bytes[8];

    if (value->is_blank || need > width || width > 8)
        return RWF_ERR_RANGE;
    wire_store8(bytes, number, width);
    memcpy(out, bytes, width);
    return RWF_OK;
}

static int put_fixed_float(unsigned width, const struct rwf_value *value, uint8_t *out)
{
    if (value->is_blank)
        return RWF_ERR_RANGE;
    if (value->type == RWF_TYPE_FLOAT && width == 4) {
        md_put_be32(out, float_bits(value->f));
        return RWF_OK;
    }
    if (value->type == RWF_TYPE_DOUBLE && width == 8) {
        md_put_be64(out, double_bits(value->d));
        return RWF_OK;
    }
    return RWF_ERR_RANGE;
}

/* A time that has more parts than the form carries does not fit, blank ones do. */
static int put_fixed_time(unsigned width, const struct rwf_time *time, uint8_t *out)
{
    if (!time_size_is_legal(width))
        return RWF_ERR_RANGE;
    if (!rwf_time_is_blank(time) && wire_time_size(time) > width)
        return RWF_ERR_RANGE;
    wire_put_time(out, width, time);
    return RWF_OK;
}

int wire_put_fixed(unsigned type, unsigned width, const struct rwf_value *value, uint8_t *out)
{
    static const struct rwf_date no_date = { 0 };
    const struct rwf_date *date = &no_date;
    const struct rwf_time *time = &time_blank;

    switch (type) {
    case RWF_TYPE_INT:
    case RWF_TYPE_UINT:
    case RWF_TYPE_ENUM:
        return put_fixed_number(type, width, value, out);
    case RWF_TYPE_FLOAT:
    case RWF_TYPE_DOUBLE:
        return put_fixed_float(width, value, out);
    case RWF_TYPE_DATE:
        if (width != 4)
            return RWF_ERR_RANGE;
        wire_put_date(out, value->is_blank ? &no_date : &value->date);
        return RWF_OK;
    case RWF_TYPE_TIME:
        return put_fixed_time(width, value->is_blank ? &time_blank : &value->time, out);
    case RWF_TYPE_DATETIME:
        if (width < 4)
            return RWF_ERR_RANGE;
        if (!value->is_blank) {
            date = &value->datetime.date;
            time = &value->datetime.time;
        }
        wire_put_date(out, date);
        return put_fixed_time(width - 4, time, out + 4);
    default:
        return RWF_ERR_RANGE;
    }
}

/* ---- compare ---- */

bool rwf_date_is_blank(const struct rwf_date *date)
{
    return date->year == 0 && date->month == 0 && date->day == 0;
}

bool rwf_time_is_blank(const struct rwf_time *time)
{
    return time->hour == time_blank.hour && time->minute == time_blank.minute &&
           time->second == time_blank.second && time->milli == time_blank.milli &&
           time->micro == time_blank.micro && time->nano == time_blank.nano;
}

static bool date_equal(const struct rwf_date *a, const struct rwf_date *b)
{
    return a->year == b->year && a->month == b->month && a->day == b->day;
}

static bool time_equal(const struct rwf_time *a, const struct rwf_time *b)
{
    return a->hour == b->hour && a->minute == b->minute && a->second == b->second &&
           a->milli == b->milli && a->micro == b->micro && a->nano == b->nano;
}

bool rwf_value_equal(const struct rwf_value *a, const struct rwf_value *b)
{
    if (a->type != b->type || a->is_blank != b->is_blank)
        return false;
    if (a->is_blank)
        return true;
    switch (a->type) {
    case RWF_TYPE_INT:
    case RWF_TYPE_UINT:
    case RWF_TYPE_ENUM:
        return a->u == b->u;
    case RWF_TYPE_FLOAT:
        return float_bits(a->f) == float_bits(b->f);
    case RWF_TYPE_DOUBLE:
        return double_bits(a->d) == double_bits(b->d);
    case RWF_TYPE_REAL:
        return a->real.hint == b->real.hint && a->real.value == b->real.value;
    case RWF_TYPE_DATE:
        return date_equal(&a->date, &b->date);
    case RWF_TYPE_TIME:
        return time_equal(&a->time, &b->time);
    case RWF_TYPE_DATETIME:
        return date_equal(&a->datetime.date, &b->datetime.date) &&
               time_equal(&a->datetime.time, &b->datetime.time);
    case RWF_TYPE_QOS:
        return a->qos.timeliness == b->qos.timeliness && a->qos.rate == b->qos.rate &&
               a->qos.dynamic == b->qos.dynamic && a->qos.time_info == b->qos.time_info &&
               a->qos.rate_info == b->qos.rate_info;
    case RWF_TYPE_STATE:
        return a->state.stream_state == b->state.stream_state &&
               a->state.data_state == b->state.data_state && a->state.code == b->state.code &&
               rwf_bytes_equal(a->state.text, b->state.text);
    default:
        return rwf_bytes_equal(a->bytes, b->bytes);
    }
}
