/* proof.c - is what a login shows enough for the user that it names? See rules.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/table.h"
#include "rules.h"

/* Takes as long whatever the first difference is, so that a password cannot be felt out. */
static bool same_secret(struct entitle_view a, struct entitle_view b)
{
    unsigned difference = a.length != b.length;
    size_t length = a.length < b.length ? a.length : b.length;

    for (size_t i = 0; i < length; i++)
        difference |= (unsigned)(uint8_t)a.data[i] ^ (unsigned)(uint8_t)b.data[i];
    return difference == 0;
}

uint64_t entitle_proof_of(const struct entitle_keys *keys)
{
    uint64_t proof = 0;

    if (keys->password.data)
        proof = md_hash_bytes(keys->password.data, keys->password.length) | 1;
    if (keys->hash.data)
        proof = (proof * 5 + md_hash_bytes(keys->hash.data, keys->hash.length)) | 1;
    if (keys->token.data)
        proof = (proof * 3 + md_hash_bytes(keys->token.data, keys->token.length)) | 1;
    if (keys->tokenhash.data)
        proof = (proof * 7 + md_hash_bytes(keys->tokenhash.data, keys->tokenhash.length)) | 1;
    return proof;
}

void entitle_ask_for_hash(struct entitle_view hash, bool is_decoy, struct entitle_answer *out)
{
    out->hash = hash;
    out->is_decoy = is_decoy;
    out->verdict = ENTITLE_PENDING;
}

static bool has_secret(const struct entitle_keys *keys)
{
    return keys->password.data || keys->hash.data || keys->token.data || keys->tokenhash.data ||
           keys->cert.data;
}

/* Without auth=, whoever needs no proof may show one. */
static bool takes(const struct entitle_keys *keys, enum entitle_by by)
{
    return keys->auth ? keys->auth >> by & 1 : !has_secret(keys);
}

bool entitle_takes_name(const struct entitle_keys *keys)
{
    return takes(keys, ENTITLE_BY_NAME);
}

/* The certificate is this user's: as cert= says, or by its own name. */
static bool has_certificate(const struct entitle_keys *keys, const struct entitle_query *query)
{
    if (query->certificate.length == 0)
        return false;
    return keys->cert.data ? entitle_fits(keys->cert, query->certificate)
                           : entitle_same(query->certificate, query->user);
}

static const char *refuse_certificate(const struct entitle_keys *keys,
                                      const struct entitle_query *query, struct entitle_answer *out)
{
    if (has_certificate(keys, query)) {
        out->by = ENTITLE_BY_CERT;
        out->is_certified = true;
        return NULL;
    }
    return query->certificate.length ? "the certificate is of another user"
                                     : "a client certificate is needed";
}

static const char *refuse_password(const struct entitle_keys *keys,
                                   const struct entitle_query *query, struct entitle_answer *out)
{
    if (keys->hash.data && query->password.length) {
        entitle_ask_for_hash(keys->hash, false, out);
        out->by = ENTITLE_BY_PASSWORD;
        return NULL;
    }
    if (keys->password.data && same_secret(keys->password, query->password)) {
        out->by = ENTITLE_BY_PASSWORD;
        return NULL;
    }
    return "user name or password refused";
}

static bool fits_token(const struct entitle_keys *keys, const struct entitle_query *query)
{
    if (keys->token.data)
        return same_secret(keys->token, query->token);
    return keys->tokenhash.data && query->shown &&
           same_secret(keys->tokenhash, entitle_text(query->shown->sum));
}

static const char *refuse_token(const struct entitle_keys *keys, const struct entitle_query *query,
                                struct entitle_answer *out)
{
    if (fits_token(keys, query)) {
        out->by = ENTITLE_BY_TOKEN;
        return NULL;
    }
    out->token_error = query->is_token ? ENTITLE_TOKEN_REFUSED : 0;
    return "token refused";
}

/* Each secret of the line is needed. */
static const char *refuse_secrets(const struct entitle_keys *keys,
                                  const struct entitle_query *query, struct entitle_answer *out)
{
    const char *why = keys->cert.data ? refuse_certificate(keys, query, out) : NULL;

    if (!why && (keys->token.data || keys->tokenhash.data))
        why = refuse_token(keys, query, out);
    if (!why && (keys->password.data || keys->hash.data))
        why = refuse_password(keys, query, out);
    return why;
}

/* One of those that auth= names is enough. */
static const char *refuse_each(const struct entitle_keys *keys, const struct entitle_query *query,
                               struct entitle_answer *out)
{
    const char *why = query->is_token ? "token refused" : "user name or password refused";

    if (takes(keys, ENTITLE_BY_CERT))
        why = refuse_certificate(keys, query, out);
    if (why && takes(keys, ENTITLE_BY_TOKEN) && query->token.length)
        why = refuse_token(keys, query, out);
    if (why && takes(keys, ENTITLE_BY_PASSWORD) && query->password.length)
        why = refuse_password(keys, query, out);
    if (takes(keys, ENTITLE_BY_NAME))
        why = NULL;
    out->token_error = why && query->is_token ? ENTITLE_TOKEN_REFUSED : 0;
    return why;
}

/* After a reload: the same secrets, and the kind of proof is enough still. */
static const char *refuse_again(const struct entitle_keys *keys, const struct entitle_query *query,
                                struct entitle_answer *out)
{
    out->by = query->by;
    if ((query->by == ENTITLE_BY_JWT || query->by == ENTITLE_BY_AUTHORITY || keys->auth) &&
        !takes(keys, query->by))
        return "the user has to log in in another way now";
    if ((keys->cert.data && !keys->auth) || query->by == ENTITLE_BY_CERT) {
        if (!has_certificate(keys, query))
            return "the certificate is not the user's any more";
        out->is_certified = true;
    }
    if (query->by == ENTITLE_BY_JWT || query->by == ENTITLE_BY_AUTHORITY ||
        (query->by == ENTITLE_BY_CERT && keys->auth))
        return NULL;
    return entitle_proof_of(keys) == query->proof ? NULL
                                                  : "the user's password or token has changed";
}

bool entitle_lacks_certificate(const struct entitle_keys *keys, const struct entitle_query *query)
{
    return query->needs_certificate && !has_certificate(keys, query);
}

const char *entitle_refuse_proof(const struct entitle_keys *keys, const struct entitle_query *query,
                                 struct entitle_answer *out)
{
    if (entitle_lacks_certificate(keys, query))
        return query->certificate.length ? "the certificate is of another user"
                                         : "a client certificate is needed";
    out->is_certified = query->needs_certificate;
    if (query->kind == ENTITLE_AGAIN)
        return refuse_again(keys, query, out);
    if (query->by == ENTITLE_BY_JWT) {
        out->by = query->by;
        return takes(keys, query->by) ? NULL : "the user may not log in with a signed token";
    }
    return keys->auth ? refuse_each(keys, query, out) : refuse_secrets(keys, query, out);
}
