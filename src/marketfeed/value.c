/* value.c - one field's text to its RWF value, and its RWF content to text. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "table.h"

#define DAY_MS      86400000u
#define ESC         0x1b
#define BINARY_MAX  10 /* bytes of 6 bits in 64 */
#define YEARS_SHORT 1900

static const char month_names[12][3] = {
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
};

/* ---- reading ---- */

static enum mf_reason blank(unsigned type, struct rwf_value *out)
{
    *out = rwf_value_blank(type);
    return MF_KEPT;
}

/* Of a signed number: a zero without minus. */
static bool means_blank(const struct mf_options *options, const struct mf_entry *entry,
                        const struct mf_number *number)
{
    return number->is_blank || (entry->is_signed && options->zero_is_blank &&
                                number->magnitude == 0 && !number->is_negative);
}

static int64_t signed_of(const struct mf_number *number)
{
    return (int64_t)(number->is_negative ? 0 - number->magnitude : number->magnitude);
}

static enum mf_reason read_real(const struct mf_options *options, const struct mf_entry *entry,
                                struct rwf_bytes text, struct rwf_value *out)
{
    struct mf_number number;
    enum mf_reason reason = mf_number_real(text, &number);

    if (reason != MF_KEPT)
        return reason;
    if (means_blank(options, entry, &number))
        return blank(RWF_TYPE_REAL, out);
    *out = rwf_value_real(signed_of(&number), number.hint);
    return MF_KEPT;
}

static enum mf_reason time_of_ms(const struct mf_number *number, struct rwf_value *out)
{
    uint64_t ms = number->magnitude;

    if (ms >= DAY_MS || (number->is_negative && ms > 0))
        return MF_RANGE;
    *out = (struct rwf_value){ .type = RWF_TYPE_TIME,
                               .time = { .hour = (uint8_t)(ms / 3600000),
                                         .minute = (uint8_t)(ms / 60000 % 60),
                                         .second = (uint8_t)(ms / 1000 % 60),
                                         .milli = (uint16_t)(ms % 1000) } };
    return MF_KEPT;
}

static enum mf_reason read_integer(const struct mf_options *options, const struct mf_entry *entry,
                                   struct rwf_bytes text, struct rwf_value *out)
{
    static const uint8_t types[] = { [MF_CLASS_INT] = RWF_TYPE_INT,
                                     [MF_CLASS_UINT] = RWF_TYPE_UINT,
                                     [MF_CLASS_MS] = RWF_TYPE_TIME };
    struct mf_number number;
    enum mf_reason reason = mf_number_integer(text, &number);

    if (reason != MF_KEPT)
        return reason;
    if (means_blank(options, entry, &number))
        return blank(types[entry->class], out);
    if (entry->class == MF_CLASS_MS)
        return time_of_ms(&number, out);
    if (entry->class == MF_CLASS_UINT) {
        if (number.is_negative && number.magnitude > 0)
            return MF_RANGE;
        *out = rwf_value_uint(number.magnitude);
        return MF_KEPT;
    }
    if (number.magnitude > (uint64_t)INT64_MAX + number.is_negative)
        return MF_RANGE;
    *out = rwf_value_int(signed_of(&number));
    return MF_KEPT;
}

static enum mf_reason read_enum(struct rwf_bytes text, struct rwf_value *out)
{
    struct mf_digits digits = { 0 };

    text = mf_strip(text);
    if (text.length == 0)
        return blank(RWF_TYPE_ENUM, out);
    const uint8_t *p = text.data;
    mf_digits_take(&digits, &p, text.data + text.length);
    if (digits.count != text.length)
        return MF_BAD_ENUM;
    if (digits.is_over || digits.value > UINT16_MAX)
        return MF_RANGE;
    *out = rwf_value_enum((uint16_t)digits.value);
    return MF_KEPT;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static unsigned two_digits(const uint8_t *p)
{
    return (p[0] - (unsigned)'0') * 10 + (p[1] - (unsigned)'0');
}

/* Two digits, one with a blank before it or without, two blanks. -1: none of these. */
static int read_day(const uint8_t **p, const uint8_t *end)
{
    const uint8_t *at = *p;

    if (end - at < 2)
        return -1;
    *p += 2;
    if (is_digit(at[0]) && is_digit(at[1]))
        return (int)two_digits(at);
    if (at[0] == ' ' && (at[1] == ' ' || is_digit(at[1])))
        return at[1] == ' ' ? 0 : at[1] - '0';
    if (!is_digit(at[0]) || at[1] != ' ')
        return -1;
    *p = at + 1;
    return at[0] - '0';
}

/* Three letters of any case, or blanks: 0. -1: neither. */
static int read_month(const uint8_t *p)
{
    if (memcmp(p, "   ", 3) == 0)
        return 0;
    for (int i = 0; i < 12; i++) {
        if ((p[0] & ~0x20) == month_names[i][0] && (p[1] & ~0x20) == month_names[i][1] &&
            (p[2] & ~0x20) == month_names[i][2])
            return i + 1;
    }
    return -1;
}

/* Four digits, two of this or the last century, four blanks: 0. -1: none of these. */
static int read_year(const uint8_t *p, size_t length)
{
    if (length == 4 && memcmp(p, "    ", 4) == 0)
        return 0;
    for (size_t i = 0; i < length; i++) {
        if (!is_digit(p[i]))
            return -1;
    }
    if (length == 2)
        return YEARS_SHORT + (int)two_digits(p);
    return length == 4 ? (int)(two_digits(p) * 100 + two_digits(p + 2)) : -1;
}

static enum mf_reason read_date(struct rwf_bytes text, struct rwf_value *out)
{
    const uint8_t *p = text.data;
    const uint8_t *end = p + text.length;

    if (mf_strip(text).length == 0)
        return blank(RWF_TYPE_DATE, out);
    int day = read_day(&p, end);
    if (day < 0 || end - p < 5 || p[0] != ' ' || p[4] != ' ')
        return MF_BAD_DATE;
    int month = read_month(p + 1);
    int year = read_year(p + 5, (size_t)(end - p - 5));
    if (month < 0 || year < 0)
        return MF_BAD_DATE;
    if (day > 31)
        return MF_RANGE;
    *out = (struct rwf_value){
        .type = RWF_TYPE_DATE,
        .date = { .year = (uint16_t)year, .month = (uint8_t)month, .day = (uint8_t)day }
    };
    out->is_blank = rwf_date_is_blank(&out->date);
    return MF_KEPT;
}

/* H:MM, HH:MM or HH:MM:SS. */
static enum mf_reason read_time(struct rwf_bytes text, struct rwf_value *out)
{
    struct mf_digits hour = { 0 };
    unsigned second = 0;

    text = mf_strip(text);
    if (text.length == 0)
        return blank(RWF_TYPE_TIME, out);
    const uint8_t *p = text.data;
    const uint8_t *end = p + text.length;
    mf_digits_take(&hour, &p, end);
    if (hour.count < 1 || hour.count > 2 || (end - p != 3 && end - p != 6))
        return MF_BAD_TIME;
    for (; p < end; p += 3) {
        if (p[0] != ':' || !is_digit(p[1]) || !is_digit(p[2]))
            return MF_BAD_TIME;
    }
    p = end - text.length + hour.count;
    unsigned minute = two_digits(p + 1);
    if (end - p == 6)
        second = two_digits(p + 4);
    if (hour.value > 23 || minute > 59 || second > 60)
        return MF_RANGE;
    *out = (struct rwf_value){ .type = RWF_TYPE_TIME,
                               .time = { .hour = (uint8_t)hour.value,
                                         .minute = (uint8_t)minute,
                                         .second = (uint8_t)second } };
    return MF_KEPT;
}

/* Six bits a byte from 40 on, the lowest first. */
static enum mf_reason read_binary(struct rwf_bytes text, struct rwf_value *out)
{
    uint64_t value = 0;

    if (mf_strip(text).length == 0)
        return blank(RWF_TYPE_UINT, out);
    for (size_t i = text.length; i > 0; i--) {
        uint8_t c = text.data[i - 1];
        if (c < 0x40 || c > 0x7f)
            return MF_BAD_BINARY;
        value = value << 6 | (c & 0x3fu);
    }
    if (text.length > BINARY_MAX)
        return MF_RANGE;
    *out = rwf_value_uint(value);
    return MF_KEPT;
}

enum mf_reason mf_value_read(const struct mf_options *options, const struct mf_entry *entry,
                             struct rwf_bytes text, struct rwf_value *out)
{
    switch ((enum mf_class)entry->class) {
    case MF_CLASS_REAL:
        return read_real(options, entry, text, out);
    case MF_CLASS_INT:
    case MF_CLASS_UINT:
    case MF_CLASS_MS:
        return read_integer(options, entry, text, out);
    case MF_CLASS_ENUM:
        return read_enum(text, out);
    case MF_CLASS_DATE:
        return read_date(text, out);
    case MF_CLASS_TIME:
    case MF_CLASS_TIME_SECONDS:
        return read_time(text, out);
    case MF_CLASS_BINARY:
        return read_binary(text, out);
    case MF_CLASS_TEXT:
        *out = rwf_value_bytes(RWF_TYPE_BUFFER, text);
        return MF_KEPT;
    case MF_CLASS_UNKNOWN:
        return MF_UNKNOWN;
    case MF_CLASS_NONE:
        break;
    }
    return MF_TYPE;
}

/* ---- writing ---- */

static void write_blank(const struct mf_options *options, const struct mf_entry *entry,
                        struct mf_text *out)
{
    out->length = 0;
    if (entry->class == MF_CLASS_DATE || entry->class == MF_CLASS_TIME ||
        entry->class == MF_CLASS_TIME_SECONDS) {
        out->length = entry->length < MF_NUMBER_MAX ? entry->length : MF_NUMBER_MAX;
        memset(out->bytes, ' ', out->length);
    } else if (entry->is_signed && !options->blank_is_empty) {
        memcpy(out->bytes, "+0", 2);
        out->length = 2;
    }
}

static enum mf_reason write_real(const struct mf_entry *entry, struct rwf_bytes content,
                                 struct mf_text *out)
{
    struct rwf_real real;
    int rc = rwf_real_decode(content, &real);

    if (rc < 0)
        return MF_RWF;
    return mf_text_real(&real, entry->length, out);
}

static enum mf_reason write_integer(const struct mf_entry *entry, struct rwf_bytes content,
                                    struct mf_text *out)
{
    uint64_t magnitude;
    int64_t value;
    uint16_t number;

    if (entry->class == MF_CLASS_UINT) {
        if (rwf_uint_decode(content, &magnitude) < 0)
            return MF_RWF;
        return mf_text_integer(magnitude, false, entry->is_signed, entry->length, out);
    }
    if (entry->class == MF_CLASS_ENUM) {
        if (rwf_enum_decode(content, &number) < 0)
            return MF_RWF;
        return mf_text_integer(number, false, false, entry->length, out);
    }
    if (rwf_int_decode(content, &value) < 0)
        return MF_RWF;
    if (value < 0 && !entry->is_signed)
        return MF_RANGE;
    return mf_text_integer(value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0,
                           entry->is_signed, entry->length, out);
}

static bool time_is_legal(const struct rwf_time *time)
{
    return time->hour <= 23 && time->minute <= 59 && time->second <= 60 && time->milli <= 999;
}

static enum mf_reason write_ms(const struct mf_entry *entry, const struct rwf_time *time,
                               struct mf_text *out)
{
    uint64_t ms = ((time->hour * 60ull + time->minute) * 60 + time->second) * 1000 + time->milli;
    bool is_cut = time->micro > 0 || time->nano > 0;

    if (time->second ==
        60) { /* a second that the format does not have: the end of the one before */
        ms = ((time->hour * 60ull + time->minute) * 60 + 60) * 1000 - 1;
        is_cut = true;
    }
    enum mf_reason reason = mf_text_integer(ms, false, entry->is_signed, entry->length, out);
    return reason == MF_KEPT && is_cut ? MF_DIGITS : reason;
}

static void put_two(uint8_t *p, unsigned number)
{
    p[0] = (uint8_t)('0' + number / 10);
    p[1] = (uint8_t)('0' + number % 10);
}

static enum mf_reason write_time(const struct mf_entry *entry, struct rwf_bytes content,
                                 struct mf_text *out)
{
    struct rwf_time time;

    if (rwf_time_decode(content, &time) < 0)
        return MF_RWF;
    if (rwf_time_is_blank(&time))
        return MF_SPECIAL; /* blank, which is no loss: see write_number() */
    if (!time_is_legal(&time))
        return MF_RANGE;
    if (entry->class == MF_CLASS_MS)
        return write_ms(entry, &time, out);
    bool has_seconds = entry->class == MF_CLASS_TIME_SECONDS;
    memcpy(out->bytes, "00:00:00", 8);
    put_two(out->bytes, time.hour);
    put_two(out->bytes + 3, time.minute);
    put_two(out->bytes + 6, time.second);
    out->length = has_seconds ? 8 : 5;
    bool is_cut =
        time.milli > 0 || time.micro > 0 || time.nano > 0 || (!has_seconds && time.second > 0);
    return is_cut ? MF_DIGITS : MF_KEPT;
}

static enum mf_reason write_date(struct rwf_bytes content, struct mf_text *out)
{
    struct rwf_date date;

    if (rwf_date_decode(content, &date) < 0)
        return MF_RWF;
    if (rwf_date_is_blank(&date))
        return MF_SPECIAL;
    if (date.month > 12 || date.day > 31 || date.year > 9999)
        return MF_RANGE;
    memset(out->bytes, ' ', 11);
    out->length = 11;
    if (date.day > 0)
        put_two(out->bytes, date.day);
    if (date.month > 0)
        memcpy(out->bytes + 3, month_names[date.month - 1], 3);
    if (date.year > 0) {
        put_two(out->bytes + 7, date.year / 100u);
        put_two(out->bytes + 9, date.year % 100u);
    }
    return MF_KEPT;
}

static enum mf_reason write_binary(const struct mf_entry *entry, struct rwf_bytes content,
                                   struct mf_text *out)
{
    unsigned length = entry->length < BINARY_MAX ? entry->length : BINARY_MAX;
    uint64_t value;

    if (rwf_uint_decode(content, &value) < 0)
        return MF_RWF;
    for (unsigned i = 0; i < length; i++, value >>= 6)
        out->bytes[i] = (uint8_t)(0x40 | (value & 0x3f));
    out->length = length;
    return value > 0 ? MF_LONG : MF_KEPT;
}

static enum mf_reason write_number(const struct mf_options *options, const struct mf_entry *entry,
                                   struct rwf_bytes content, struct mf_text *out)
{
    enum mf_reason reason = MF_KEPT;
    bool is_clock = false;

    out->length = 0;
    if (content.length == 0) {
        write_blank(options, entry, out);
        return MF_KEPT;
    }
    switch ((enum mf_class)entry->class) {
    case MF_CLASS_REAL:
        reason = write_real(entry, content, out);
        break;
    case MF_CLASS_DATE:
        reason = write_date(content, out);
        is_clock = true;
        break;
    case MF_CLASS_MS:
    case MF_CLASS_TIME:
    case MF_CLASS_TIME_SECONDS:
        reason = write_time(entry, content, out);
        is_clock = true;
        break;
    case MF_CLASS_BINARY:
        reason = write_binary(entry, content, out);
        break;
    default:
        reason = write_integer(entry, content, out);
        break;
    }
    if (reason == MF_SPECIAL || reason == MF_LONG || reason == MF_RANGE)
        write_blank(options, entry, out);
    return reason == MF_SPECIAL && is_clock ? MF_KEPT : reason;
}

/* 00 and the separators cannot stand in a record. */
static bool is_control(uint8_t c)
{
    return c == 0 || (c >= 0x1c && c <= 0x1f);
}

static int write_text(const struct mf_entry *entry, struct rwf_bytes content, uint8_t *out,
                      size_t size, size_t *length, enum mf_reason *reason, enum mf_reason *more)
{
    size_t kept = content.length;
    bool has_control = false;

    if (kept > entry->length && !memchr(content.data, ESC, content.length)) {
        kept = entry->length;
        *more = MF_CUT;
    }
    if (kept > size)
        return MD_ERR_FULL;
    for (size_t i = 0; i < kept; i++) {
        out[i] = is_control(content.data[i]) ? ' ' : content.data[i];
        has_control |= is_control(content.data[i]);
    }
    *length = kept;
    *reason = has_control ? MF_CONTROL : MF_KEPT;
    return MD_OK;
}

int mf_value_write(const struct mf_options *options, const struct mf_entry *entry,
                   struct rwf_bytes content, uint8_t *out, size_t size, size_t *length,
                   enum mf_reason *reason, enum mf_reason *more)
{
    struct mf_text text;

    *length = 0;
    *more = MF_KEPT;
    if (entry->class <= MF_CLASS_NONE) {
        *reason = entry->class == MF_CLASS_NONE ? MF_TYPE : MF_UNKNOWN;
        return MD_OK;
    }
    if (entry->class == MF_CLASS_TEXT)
        return write_text(entry, content, out, size, length, reason, more);
    *reason = write_number(options, entry, content, &text);
    if (*reason == MF_RWF)
        return MD_OK;
    if (text.length > size)
        return MD_ERR_FULL;
    memcpy(out, text.bytes, text.length);
    *length = text.length;
    return MD_OK;
}
