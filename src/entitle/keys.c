/* keys.c - what a `user` or a `role` line says behind the name. See rules.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "rules.h"

enum kind {
    A_SECRET,
    A_HASH,
    A_LIST,
    A_PATTERN,
    A_NUMBER,
    A_RATE,
    A_NETWORK,
    A_SWITCH,
    AN_AUTH,
    A_CLAIM,
    POST_RIGHTS,
    A_SUM,
    A_TIME,
    A_WISH,
    QUALITIES
};

static const struct key {
    const char *name;
    enum kind kind;
    size_t at; /* in struct entitle_keys */
} keys_known[ENTITLE_KEYS] = {
#define KEY(name, kind, member)                                                                    \
    {                                                                                              \
        name, kind, offsetof(struct entitle_keys, member)                                          \
    }
    [ENTITLE_KEY_PASSWORD] = KEY("password", A_SECRET, password),
    [ENTITLE_KEY_TOKEN] = KEY("token", A_SECRET, token),
    [ENTITLE_KEY_HASH] = KEY("hash", A_HASH, hash),
    [ENTITLE_KEY_ROLE] = KEY("role", A_LIST, roles),
    [ENTITLE_KEY_MOUNTS] = KEY("mounts", A_NUMBER, mounts),
    [ENTITLE_KEY_ITEMS] = KEY("items", A_NUMBER, items),
    [ENTITLE_KEY_MESSAGES] = KEY("messages", A_RATE, messages),
    [ENTITLE_KEY_REQUESTS] = KEY("requests", A_RATE, requests),
    [ENTITLE_KEY_POSTS] = KEY("posts", A_RATE, posts),
    [ENTITLE_KEY_FROM] = KEY("from", A_NETWORK, from),
    [ENTITLE_KEY_APPLICATION] = KEY("application", A_LIST, application),
    [ENTITLE_KEY_POSITION] = KEY("position", A_PATTERN, position),
    [ENTITLE_KEY_STREAM] = KEY("stream", A_SWITCH, is_snapshot_only),
    [ENTITLE_KEY_AUTH] = KEY("auth", AN_AUTH, auth),
    [ENTITLE_KEY_CERT] = KEY("cert", A_SECRET, cert),
    [ENTITLE_KEY_CLAIM] = KEY("claim", A_CLAIM, claim),
    [ENTITLE_KEY_POST] = KEY("post", POST_RIGHTS, post_rights),
    [ENTITLE_KEY_TOKENHASH] = KEY("tokenhash", A_SUM, tokenhash),
    [ENTITLE_KEY_EXPIRES] = KEY("expires", A_TIME, expires_s),
    [ENTITLE_KEY_POSITIONS] = KEY("positions", A_NUMBER, positions),
    [ENTITLE_KEY_TLS] = KEY("tls", A_WISH, needs_tls),
    [ENTITLE_KEY_QOS] = KEY("qos", QUALITIES, qualities),
#undef KEY
};

/* ---- values ---- */

/* "N" or "N/BURST"; absent, the burst is what comes in a second. */
static bool parse_rate(struct entitle_view value, struct entitle_rate *out)
{
    const char *slash = memchr(value.data, '/', value.length);
    struct entitle_view first = { value.data, slash ? (size_t)(slash - value.data) : value.length };

    if (!entitle_number(first, &out->per_second))
        return false;
    out->burst = out->per_second;
    if (!slash)
        return true;
    return entitle_number((struct entitle_view){ slash + 1, value.length - first.length - 1 },
                          &out->burst) &&
           out->burst > 0;
}

/* An address: 4 bytes, or 16 with `is_v6`. */
struct address {
    uint8_t bytes[16];
    bool is_v6;
};

static bool read_address(struct entitle_view text, struct address *out)
{
    char copy[INET6_ADDRSTRLEN];

    if (text.length == 0 || text.length >= sizeof(copy))
        return false;
    memcpy(copy, text.data, text.length);
    copy[text.length] = 0;
    out->is_v6 = strchr(copy, ':') != NULL;
    return inet_pton(out->is_v6 ? AF_INET6 : AF_INET, copy, out->bytes) == 1;
}

/* "10.1.0.0/16", or an address by itself. */
static bool read_network(struct entitle_view text, struct address *out, uint32_t *bits)
{
    const char *slash = memchr(text.data, '/', text.length);
    struct entitle_view first = { text.data, slash ? (size_t)(slash - text.data) : text.length };

    if (!read_address(first, out))
        return false;
    uint32_t most = out->is_v6 ? 128 : 32;
    *bits = most;
    return !slash ||
           (entitle_number((struct entitle_view){ slash + 1, text.length - first.length - 1 },
                           bits) &&
            *bits <= most);
}

static bool each_is_network(struct entitle_view list)
{
    struct entitle_view one;
    struct address address;
    uint32_t bits;

    while (entitle_next(&list, &one)) {
        if (!read_network(one, &address, &bits))
            return false;
    }
    return true;
}

static const char *const expected[] = {
    [A_SECRET] = "a word; leave the key out if the user needs none",
    [A_HASH] = "a hash of $y$, $gy$, $7$, $6$, $5$ or $2b$; make one with: rmdsaccess hash",
    [A_LIST] = "a word, or words with commas between them",
    [A_PATTERN] = "a pattern",
    [A_NUMBER] = "a number (0..4294967295)",
    [A_RATE] = "a number, or NUMBER/BURST",
    [A_NETWORK] = "an address, or a network like 10.1.0.0/16",
    [A_SWITCH] = "yes or no",
    [AN_AUTH] = "some of password,token,jwt,cert,authority,none",
    [A_CLAIM] = "the claim of a token and its text, NAME:VALUE",
    [POST_RIGHTS] = "some of create,delete,perm, or none",
    [A_SUM] = "64 hexadecimal digits; make them with: rmdsaccess tokenhash",
    [A_TIME] = "a time like 2027-01-31 or 2027-01-31T18:00:00Z",
    [A_WISH] = "yes or no",
    [QUALITIES] = "conflated, delayed, or conflated,delayed",
};

/* A bit for each; 0: one of them is none. */
static uint8_t read_auth(struct entitle_view list)
{
    static const char *const words[ENTITLE_BYS] = {
        [ENTITLE_BY_NAME] = "none",   [ENTITLE_BY_PASSWORD] = "password",
        [ENTITLE_BY_TOKEN] = "token", [ENTITLE_BY_JWT] = "jwt",
        [ENTITLE_BY_CERT] = "cert",   [ENTITLE_BY_AUTHORITY] = "authority",
    };
    struct entitle_view one;
    unsigned bits = 0;

    while (entitle_next(&list, &one)) {
        unsigned by = 0;

        while (by < ENTITLE_BYS && !entitle_is(one, words[by]))
            by++;
        if (by == ENTITLE_BYS)
            return 0;
        bits |= 1u << by;
    }
    return (uint8_t)bits;
}

/* 0: one of them is none. */
static uint8_t read_qualities(struct entitle_view list)
{
    struct entitle_view one;
    unsigned bits = 0;

    while (entitle_next(&list, &one)) {
        if (entitle_is(one, "conflated"))
            bits |= ENTITLE_QUALITY_CONFLATED;
        else if (entitle_is(one, "delayed"))
            bits |= ENTITLE_QUALITY_DELAYED;
        else
            return 0;
    }
    return (uint8_t)bits;
}

/* Those of crypt(5) that take long enough to be of use. */
static bool is_hash(struct entitle_view value)
{
    static const char *const kinds[] = { "$y$", "$gy$", "$7$", "$6$", "$5$", "$2b$" };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t length = strlen(kinds[i]);
        if (value.length > length + 8 && value.length < ENTITLE_HASH_MAX &&
            memcmp(value.data, kinds[i], length) == 0)
            return true;
    }
    return false;
}

static bool take_value(const struct key *key, struct entitle_view value, void *place)
{
    switch (key->kind) {
    case A_NUMBER:
        return entitle_number(value, place);
    case A_RATE:
        return parse_rate(value, place);
    case A_SWITCH:
        *(bool *)place = entitle_is(value, "no");
        return *(bool *)place || entitle_is(value, "yes");
    case A_WISH:
        *(bool *)place = entitle_is(value, "yes");
        return *(bool *)place || entitle_is(value, "no");
    case A_TIME:
        return entitle_time_read(value, place);
    case A_SUM:
        *(struct entitle_view *)place = value;
        return entitle_sum_read(value);
    case A_CLAIM:
        *(struct entitle_view *)place = value;
        return value.length > 2 && value.data[0] != ':' &&
               memchr(value.data + 1, ':', value.length - 2);
    case AN_AUTH:
        *(uint8_t *)place = read_auth(value);
        return *(uint8_t *)place != 0;
    case POST_RIGHTS:
        return entitle_read_post_rights(value, place);
    case QUALITIES:
        *(uint8_t *)place = read_qualities(value);
        return *(uint8_t *)place != 0;
    case A_NETWORK:
        *(struct entitle_view *)place = value;
        return each_is_network(value);
    case A_HASH:
        *(struct entitle_view *)place = value;
        return is_hash(value);
    default:
        *(struct entitle_view *)place = value;
        return value.length > 0;
    }
}

/* ---- lines ---- */

static void unknown_key(struct entitle_parse *parse, const char *kind,
                        const struct entitle_user *user, struct entitle_view word)
{
    const char *names[ENTITLE_KEYS + 1] = { [ENTITLE_KEYS] = "disabled" };
    const char *equals = memchr(word.data, '=', word.length);
    struct entitle_view name = { word.data, equals ? (size_t)(equals - word.data) : word.length };

    for (unsigned i = 0; i < ENTITLE_KEYS; i++)
        names[i] = keys_known[i].name;
    const char *near = entitle_near(name, names, ENTITLE_KEYS + 1);
    entitle_complain(parse, "%s %.*s: key \"%.*s\" is unknown%s%s%s", kind,
                     ENTITLE_SHOWN(user->line.parts[0]), ENTITLE_SHOWN(name),
                     near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static bool is_of_user(enum kind kind)
{
    return kind == A_SECRET || kind == A_HASH || kind == A_SUM || kind == AN_AUTH;
}

static void parse_key(struct entitle_parse *parse, const char *kind, struct entitle_user *user,
                      struct entitle_view word)
{
    struct entitle_keys *keys = &user->keys;
    bool is_role = strcmp(kind, "role") == 0;

    if (entitle_is(word, "disabled")) {
        keys->is_disabled = true;
        return;
    }
    for (unsigned i = 0; i < ENTITLE_KEYS; i++) {
        const struct key *key = &keys_known[i];
        struct entitle_view value = entitle_value(word, key->name);

        if (!value.data)
            continue;
        if (is_role && is_of_user(key->kind))
            entitle_complain(parse, "role %.*s: %s= belongs to a user, not to a role",
                             ENTITLE_SHOWN(user->line.parts[0]), key->name);
        else if (!is_role && key->kind == A_CLAIM)
            entitle_complain(parse, "user %.*s: claim= belongs to a role, not to a user",
                             ENTITLE_SHOWN(user->line.parts[0]));
        else if (!take_value(key, value, (char *)keys + key->at))
            entitle_complain(parse, "%s %.*s: %s=\"%.*s\" is not %s", kind,
                             ENTITLE_SHOWN(user->line.parts[0]), key->name, ENTITLE_SHOWN(value),
                             expected[key->kind]);
        keys->set |= 1u << i;
        parse->rules->has_post_rights |= key->kind == POST_RIGHTS;
        return;
    }
    unknown_key(parse, kind, user, word);
}

/* auth= names what the line does not have: nobody could come in by it. */
static void tell_missing_secret(struct entitle_parse *parse, const struct entitle_user *user)
{
    const struct entitle_keys *keys = &user->keys;

    if (keys->auth >> ENTITLE_BY_PASSWORD & 1 && !keys->password.data && !keys->hash.data)
        entitle_complain(parse, "user %.*s: auth=password needs password= or hash=",
                         ENTITLE_SHOWN(user->line.parts[0]));
    if (keys->auth >> ENTITLE_BY_TOKEN & 1 && !keys->token.data && !keys->tokenhash.data)
        entitle_complain(parse,
                         "user %.*s: auth=token needs token= or tokenhash=; a signed token is "
                         "auth=jwt",
                         ENTITLE_SHOWN(user->line.parts[0]));
}

void entitle_parse_keys(struct entitle_parse *parse, const char *kind, struct entitle_user *user,
                        const struct entitle_view words[], int count)
{
    for (int i = 0; i < count; i++)
        parse_key(parse, kind, user, words[i]);
    if (user->keys.password.data && user->keys.hash.data)
        entitle_complain(parse, "user %.*s: password= or hash= is expected, not both",
                         ENTITLE_SHOWN(user->line.parts[0]));
    if (user->keys.token.data && user->keys.tokenhash.data)
        entitle_complain(parse, "user %.*s: token= or tokenhash= is expected, not both",
                         ENTITLE_SHOWN(user->line.parts[0]));
    tell_missing_secret(parse, user);
    if (user->keys.hash.data && !parse->rules->decoy.data)
        parse->rules->decoy = user->keys.hash;
}

static size_t size_of(enum kind kind)
{
    return kind == A_NUMBER                     ? sizeof(uint32_t)
           : kind == A_RATE                     ? sizeof(struct entitle_rate)
           : kind == A_SWITCH || kind == A_WISH ? sizeof(bool)
           : kind == A_TIME                     ? sizeof(uint64_t)
           : kind == AN_AUTH || kind == POST_RIGHTS || kind == QUALITIES
               ? sizeof(uint8_t)
               : sizeof(struct entitle_view);
}

void entitle_inherit_keys(struct entitle_keys *keys, const struct entitle_keys *more)
{
    keys->is_disabled |= more->is_disabled;
    for (unsigned i = 0; i < ENTITLE_KEYS; i++) {
        const struct key *key = &keys_known[i];

        if (i == ENTITLE_KEY_ROLE || i == ENTITLE_KEY_CLAIM || keys->set >> i & 1 ||
            !(more->set >> i & 1))
            continue;
        memcpy((char *)keys + key->at, (const char *)more + key->at, size_of(key->kind));
        keys->set |= 1u << i;
    }
}

/* ---- where somebody comes from, and with what ---- */

static bool is_within(const struct address *address, const struct address *network, uint32_t bits)
{
    uint32_t bytes = bits / 8;

    if (address->is_v6 != network->is_v6 || memcmp(address->bytes, network->bytes, bytes) != 0)
        return false;
    unsigned rest = bits % 8;
    return rest == 0 || (address->bytes[bytes] ^ network->bytes[bytes]) >> (8 - rest) == 0;
}

/* "10.1.0.7:5122", "[::1]:5122", or without the port. An IPv4 address within IPv6 is IPv4. */
static bool read_peer(struct entitle_view host, struct address *out)
{
    static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

    if (host.length == 0)
        return false;
    const char *colon = memchr(host.data, ':', host.length);
    const char *end = memchr(host.data, ']', host.length);
    if (host.data[0] == '[' && end) {
        host.length = (size_t)(end - host.data) - 1;
        host.data++;
    } else if (colon && !memchr(colon + 1, ':', host.length - (size_t)(colon + 1 - host.data))) {
        host.length = (size_t)(colon - host.data);
    }
    if (!read_address(host, out))
        return false;
    if (out->is_v6 && memcmp(out->bytes, mapped, sizeof(mapped)) == 0) {
        memmove(out->bytes, out->bytes + sizeof(mapped), 4);
        out->is_v6 = false;
    }
    return true;
}

static bool comes_from(struct entitle_view list, struct entitle_view host)
{
    struct address address, network;
    struct entitle_view one;
    uint32_t bits;

    if (!read_peer(host, &address))
        return false;
    while (entitle_next(&list, &one)) {
        if (read_network(one, &network, &bits) && is_within(&address, &network, bits))
            return true;
    }
    return false;
}

/* The reason is in *out. */
static bool has_expired(uint64_t expires_s, uint64_t now_s, struct entitle_answer *out)
{
    char time[ENTITLE_TIME_MAX];

    if (expires_s == 0 || (now_s && now_s < expires_s))
        return false;
    entitle_time_write(expires_s, time);
    snprintf(out->text, sizeof(out->text), "the user %s %s%s", now_s ? "expired at" : "expires at",
             time, now_s ? "" : ", and there is no clock here");
    return true;
}

#define USER_SHOWN(word)  ((word).length < 48 ? (int)(word).length : 48), (word).data
#define VALUE_SHOWN(word) ((word).length < 40 ? (int)(word).length : 40), (word).data

/* The text behind an address has its port, and what else is known of the connection. */
static struct entitle_view address_of(struct entitle_view host)
{
    const char *blank = host.length ? memchr(host.data, ' ', host.length) : NULL;
    size_t length = blank ? (size_t)(blank - host.data) : host.length;
    const char *port = length ? memrchr(host.data, ':', length) : NULL;

    return (struct entitle_view){ host.data, port ? (size_t)(port - host.data) : length };
}

static struct entitle_view or_none(struct entitle_view text)
{
    return text.length ? text : (struct entitle_view){ "(none)", 6 };
}

const char *entitle_keys_refuse(const struct entitle_keys *keys, const struct entitle_query *query,
                                struct entitle_answer *out)
{
    if (keys->is_disabled)
        return "the user is disabled";
    if (has_expired(keys->expires_s, query->now_s, out))
        return out->text;
    if (keys->needs_tls && query->is_plain) {
        snprintf(out->text, sizeof(out->text), "%.*s must use TLS",
                 query->user.length < 100 ? (int)query->user.length : 100, query->user.data);
        return out->text;
    }
    if (keys->from.data && !comes_from(keys->from, query->host)) {
        struct entitle_view address = address_of(query->host);
        snprintf(out->text, sizeof(out->text), "%.*s may not come from %.*s",
                 USER_SHOWN(query->user), VALUE_SHOWN(address));
        return out->text;
    }
    if (keys->application.data && !entitle_lists(keys->application, query->application)) {
        struct entitle_view application = or_none(query->application);
        out->reason = ENTITLE_APPLICATION;
        snprintf(out->text, sizeof(out->text), "the application %.*s is not allowed to %.*s",
                 VALUE_SHOWN(application), USER_SHOWN(query->user));
        return out->text;
    }
    if (keys->position.data && !entitle_fits(keys->position, query->position)) {
        struct entitle_view position = or_none(query->position);
        out->reason = ENTITLE_POSITION;
        snprintf(out->text, sizeof(out->text), "the position %.*s is not allowed to %.*s",
                 VALUE_SHOWN(position), USER_SHOWN(query->user));
        return out->text;
    }
    return NULL;
}
