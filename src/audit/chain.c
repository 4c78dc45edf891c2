/* chain.c - see chain.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "chain.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/utf8.h"

#define SUM_DIGITS (AUDIT_SUM_SIZE - 1)

static const char digits[] = "0123456789abcdef";

static const char *const kinds[ENTITLE_RECORD_KINDS] = {
    [ENTITLE_RECORD_LOGIN] = "login",    [ENTITLE_RECORD_REISSUE] = "reissue",
    [ENTITLE_RECORD_LOGOUT] = "logout",  [ENTITLE_RECORD_OPEN] = "open",
    [ENTITLE_RECORD_REVOKE] = "revoke",  [ENTITLE_RECORD_CLOSE] = "close",
    [ENTITLE_RECORD_LOCK] = "lock",      [ENTITLE_RECORD_POST] = "post",
    [ENTITLE_RECORD_START] = "start",    [ENTITLE_RECORD_STOP] = "stop",
    [ENTITLE_RECORD_RELOAD] = "reload",  [ENTITLE_RECORD_WITHHELD] = "withheld",
    [ENTITLE_RECORD_ORDER] = "order",    [ENTITLE_RECORD_SHADOW] = "shadow",
    [ENTITLE_RECORD_DRY_RUN] = "dryrun",
};

static const char *const texts[ENTITLE_RECORD_TEXTS] = {
    [ENTITLE_TEXT_USER] = "user",    [ENTITLE_TEXT_APPLICATION] = "app",
    [ENTITLE_TEXT_POSITION] = "pos", [ENTITLE_TEXT_ADDRESS] = "addr",
    [ENTITLE_TEXT_TLS] = "tls",      [ENTITLE_TEXT_CERT] = "cert",
    [ENTITLE_TEXT_BY] = "by",        [ENTITLE_TEXT_SERVICE] = "svc",
    [ENTITLE_TEXT_ITEM] = "item",    [ENTITLE_TEXT_LOCK] = "lock",
    [ENTITLE_TEXT_WHY] = "why",      [ENTITLE_TEXT_FILE] = "file",
    [ENTITLE_TEXT_WAS] = "was",      [ENTITLE_TEXT_NOW] = "now",
    [ENTITLE_TEXT_RULE] = "rule",    [ENTITLE_TEXT_ORDER] = "order",
    [ENTITLE_TEXT_WHO] = "who",
};

static void write_sum(const unsigned char *sum, unsigned size, char out[AUDIT_SUM_SIZE])
{
    for (unsigned i = 0; i < size; i++) {
        out[2 * i] = digits[sum[i] >> 4];
        out[2 * i + 1] = digits[sum[i] & 15];
    }
    out[2 * size] = '\0';
}

void audit_sum(const void *bytes, size_t length, char out[AUDIT_SUM_SIZE])
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned size = 0;

    if (!EVP_Digest(bytes, length, sum, &size, EVP_sha256(), NULL))
        size = 0;
    write_sum(sum, size, out);
}

struct audit_summing {
    EVP_MD_CTX *context;
    bool is_wrong;
};

struct audit_summing *audit_sum_begin(void)
{
    struct audit_summing *summing = calloc(1, sizeof(*summing));

    if (summing && !(summing->context = EVP_MD_CTX_new())) {
        free(summing);
        summing = NULL;
    }
    if (summing)
        summing->is_wrong = !EVP_DigestInit_ex(summing->context, EVP_sha256(), NULL);
    return summing;
}

void audit_sum_add(struct audit_summing *summing, const void *bytes, size_t length)
{
    summing->is_wrong |= !EVP_DigestUpdate(summing->context, bytes, length);
}

void audit_sum_end(struct audit_summing *summing, char out[AUDIT_SUM_SIZE])
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned size = 0;

    if (summing->is_wrong || !EVP_DigestFinal_ex(summing->context, sum, &size))
        size = 0;
    write_sum(sum, size, out);
    EVP_MD_CTX_free(summing->context);
    free(summing);
}

/* ---- writing ---- */

/* A line that is being written, at most AUDIT_LINE_MAX bytes. */
struct line {
    char *bytes;
    size_t length;
};

static void put(struct line *line, const void *bytes, size_t length)
{
    memcpy(line->bytes + line->length, bytes, length);
    line->length += length;
}

static void putf(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void putf(struct line *line, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int length =
        vsnprintf(line->bytes + line->length, AUDIT_LINE_MAX - line->length, format, arguments);
    va_end(arguments);
    line->length += length > 0 ? (size_t)length : 0;
}

/* A byte that is no UTF-8 is \u00NN: two names stay two, and the line is JSON. So is a brace: the
 * one at the end of a line is its only one, and a line without it is not whole. */
static void put_string(struct line *line, const char *key, struct entitle_view text)
{
    putf(line, ",\"%s\":\"", key);
    for (size_t i = 0; i < text.length;) {
        const unsigned char *at = (const unsigned char *)text.data + i;
        bool is_plain = *at >= 0x20 && *at < 0x7f && *at != '"' && *at != '\\' && *at != '}';
        size_t take = is_plain ? 1 : *at >= 0x80 ? md_utf8_length(at, text.length - i) : 0;

        if (take > 0)
            put(line, at, take);
        else
            putf(line, "\\u%04x", *at);
        i += take ? take : 1;
    }
    put(line, "\"", 1);
}

static void put_hex(struct line *line, const char *key, struct entitle_view bytes)
{
    putf(line, ",\"%s\":\"", key);
    for (size_t i = 0; i < bytes.length; i++) {
        put(line, &digits[(unsigned char)bytes.data[i] >> 4], 1);
        put(line, &digits[(unsigned char)bytes.data[i] & 15], 1);
    }
    put(line, "\"", 1);
}

static struct line begin(const struct audit_chain *chain, uint64_t wall_ns, const char *event,
                         char *out)
{
    struct line line = { out, 0 };
    time_t seconds = (time_t)(wall_ns / 1000000000u);
    struct tm tm;

    gmtime_r(&seconds, &tm);
    putf(&line,
         "{\"n\":%" PRIu64 ",\"prev\":\"%s\",\"t\":\"%04d-%02d-%02dT%02d:%02d:%02d.%06uZ\","
         "\"e\":\"%s\"",
         chain->n + 1, chain->head, tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
         tm.tm_min, tm.tm_sec, (unsigned)(wall_ns % 1000000000u / 1000u), event);
    return line;
}

/* The line is whole: it is the head of the chain. */
static size_t end(struct audit_chain *chain, struct line *line)
{
    put(line, "}", 1);
    chain->n++;
    audit_sum(line->bytes, line->length, chain->head);
    put(line, "\n", 1);
    return line->length;
}

void audit_chain_init(struct audit_chain *chain)
{
    chain->n = 0;
    memset(chain->head, '0', SUM_DIGITS);
    chain->head[SUM_DIGITS] = '\0';
}

static bool has_verdict(enum entitle_record_kind kind)
{
    return kind == ENTITLE_RECORD_LOGIN || kind == ENTITLE_RECORD_REISSUE ||
           kind == ENTITLE_RECORD_OPEN || kind == ENTITLE_RECORD_POST;
}

size_t audit_chain_record(struct audit_chain *chain, unsigned ring, uint64_t wall_ns,
                          const struct entitle_record *record, char *out)
{
    struct line line = begin(chain, wall_ns, kinds[record->kind], out);

    if (has_verdict(record->kind))
        putf(&line, ",\"v\":\"%s\"", record->is_denied ? "deny" : "allow");
    for (unsigned i = 0; i < ENTITLE_RECORD_TEXTS; i++) {
        if (record->text[i].length == 0)
            continue;
        if (i == ENTITLE_TEXT_LOCK)
            put_hex(&line, texts[i], record->text[i]);
        else
            put_string(&line, texts[i], record->text[i]);
        if (i == ENTITLE_TEXT_ITEM)
            putf(&line, ",\"dom\":%u", record->domain);
    }
    if (record->is_snapshot)
        putf(&line, ",\"snap\":true");
    if (record->code)
        putf(&line, ",\"code\":%u", record->code);
    if (record->count)
        putf(&line, ",\"count\":%" PRIu32, record->count);
    if (record->session)
        putf(&line, ",\"sid\":\"%u.%u\"", ring, record->session);
    return end(chain, &line);
}

size_t audit_chain_lost(struct audit_chain *chain, unsigned ring, uint64_t wall_ns, uint64_t count,
                        char *out)
{
    struct line line = begin(chain, wall_ns, "lost", out);

    putf(&line, ",\"count\":%" PRIu64 ",\"queue\":%u", count, ring);
    return end(chain, &line);
}

size_t audit_chain_cut(struct audit_chain *chain, uint64_t wall_ns, const char *part, size_t length,
                       char *out)
{
    struct line line = begin(chain, wall_ns, "cut", out);
    char sum[AUDIT_SUM_SIZE];

    audit_sum(part, length, sum);
    putf(&line, ",\"bytes\":%zu,\"sha256\":\"%s\"", length, sum);
    return end(chain, &line);
}

/* ---- reading ---- */

static const char *skip(const char *at, const char *stop, const char *text)
{
    size_t length = strlen(text);

    return at && (size_t)(stop - at) >= length && memcmp(at, text, length) == 0 ? at + length
                                                                                : NULL;
}

static const char *read_number(const char *at, const char *stop, uint64_t *number)
{
    const char *from = at;

    *number = 0;
    while (at && at < stop && *at >= '0' && *at <= '9' && at - from < 19)
        *number = *number * 10 + (uint64_t)(*at++ - '0');
    return at == from ? NULL : at;
}

static const char *read_sum(const char *at, const char *stop, char sum[AUDIT_SUM_SIZE])
{
    if (!at || stop - at < SUM_DIGITS)
        return NULL;
    memcpy(sum, at, SUM_DIGITS);
    sum[SUM_DIGITS] = '\0';
    return strspn(sum, digits) == SUM_DIGITS ? at + SUM_DIGITS : NULL;
}

/* Behind the time: where ,"e": begins. */
static const char *read_head(const char *line, size_t length, uint64_t *n,
                             char prev[AUDIT_SUM_SIZE])
{
    const char *stop = line + length;
    const char *at = read_number(skip(line, stop, "{\"n\":"), stop, n);

    at = skip(read_sum(skip(at, stop, ",\"prev\":\""), stop, prev), stop, "\",\"t\":\"");
    if (!at || stop - at < 29 || memchr(line, '}', length) != stop - 1)
        return NULL;
    return skip(at + 27, stop, "\"");
}

bool audit_line_read(const char *line, size_t length, uint64_t *n, char prev[AUDIT_SUM_SIZE])
{
    return read_head(line, length, n, prev) != NULL;
}

const char *audit_chain_follow(struct audit_chain *chain, const char *line, size_t length)
{
    char prev[AUDIT_SUM_SIZE];
    uint64_t n;

    if (!audit_line_read(line, length, &n, prev))
        return "this is no line of an audit trail";
    if (n != chain->n + 1)
        return "its number does not follow on the line before";
    if (strcmp(prev, chain->head) != 0)
        return "its prev is not the SHA-256 of the line before: one of the two was changed";
    chain->n = n;
    audit_sum(line, length, chain->head);
    return NULL;
}

bool audit_line_accounts(const char *line, size_t length, const char *part, size_t part_length)
{
    char prev[AUDIT_SUM_SIZE], said[AUDIT_SUM_SIZE], sum[AUDIT_SUM_SIZE];
    const char *stop = line + length;
    uint64_t n, bytes;
    const char *at = skip(read_head(line, length, &n, prev), stop, ",\"e\":\"cut\",\"bytes\":");

    at = skip(read_number(at, stop, &bytes), stop, ",\"sha256\":\"");
    if (!read_sum(at, stop, said) || bytes != part_length)
        return false;
    audit_sum(part, part_length, sum);
    return strcmp(sum, said) == 0;
}

uint64_t audit_line_lost(const char *line, size_t length)
{
    char prev[AUDIT_SUM_SIZE];
    uint64_t n, count;
    const char *at =
        skip(read_head(line, length, &n, prev), line + length, ",\"e\":\"lost\",\"count\":");

    return read_number(at, line + length, &count) ? count : 0;
}
