/* tls_context.c - see tls_context.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tls_context.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <time.h>

#include "base/err.h"
#include "base/secret.h"
#include "netio/diagnose.h"

/* Of TLS 1.2, with forward secrecy and AEAD only; those of 1.3 are all like that. */
#define CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:DHE+CHACHA20:!aNULL:!PSK"

void tls_describe(char *text, size_t size, const char *what)
{
    unsigned long code = ERR_get_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;

    snprintf(text, size, "%s%s%s", what, reason ? ": " : "", reason ? reason : "");
    ERR_clear_error();
}

struct first_finding {
    char *text;
    size_t size;
};

static void take_first(void *arg, bool is_error, enum net_tls_file file, const char *text)
{
    static const char *const names[] = {
        [NET_TLS_CERTIFICATE] = "certificate",
        [NET_TLS_KEY] = "key",
        [NET_TLS_CA] = "CA",
        [NET_TLS_CRL] = "CRL",
    };
    struct first_finding *first = arg;

    if (is_error && !first->text[0])
        snprintf(first->text, first->size, "%s %s", names[file], text);
}

/* Names a fault that the files show. OpenSSL's own reason stays for all other faults. */
static void explain(char *error, size_t size, const struct net_tls_config *config, const char *what)
{
    char reason[256];
    struct first_finding first = { error, size };

    tls_describe(reason, sizeof(reason), what);
    if (size)
        error[0] = '\0';
    if (size && net_tls_examine(config, take_first, &first) == 0)
        snprintf(error, size, "%s", reason);
}

/* Trust: the given roots, or for a client the system's. */
static bool load_trust(SSL_CTX *context, const struct net_tls_config *config)
{
    if (config->ca)
        return SSL_CTX_load_verify_locations(context, config->ca, NULL) == 1;
    return config->is_server || config->skip_verify ||
           SSL_CTX_set_default_verify_paths(context) == 1;
}

/* Each certificate of a chain needs a list of its issuer that is in force: a list that has ended,
 * or that is missing, refuses the peer. */
static bool load_revoked(SSL_CTX *context, const char *path)
{
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    X509_LOOKUP *lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());

    return lookup && X509_load_crl_file(lookup, path, X509_FILETYPE_PEM) > 0 &&
           X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL) == 1;
}

/* A session that is resumed shows no certificate: one that was revoked meanwhile would live on. */
static void set_sessions(SSL_CTX *context, bool has_client_certificates)
{
    (void)SSL_CTX_set_session_id_context(context, (const uint8_t *)"rmds", 4);
    if (!has_client_certificates)
        return;
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
}

/* A private key that every user of the host can read is nobody's identity; who writes the roots or
 * the lists decides who is trusted. */
static bool is_refused(const char *path, enum md_secret_kind kind)
{
    char why[640];
    FILE *file = path ? fopen(path, "re") : NULL;
    bool is_open =
        file && md_secret_look(fileno(file), path, kind, why, sizeof(why)) == MD_SECRET_REFUSED;

    if (file)
        fclose(file);
    return is_open;
}

int tls_context_create(const struct net_tls_config *config, char *error, size_t error_size,
                       SSL_CTX **out)
{
    SSL_CTX *context = SSL_CTX_new(config->is_server ? TLS_server_method() : TLS_client_method());
    int oldest = config->require_tls13 ? TLS1_3_VERSION : TLS1_2_VERSION;
    char what[160] = "TLS";

    *out = NULL;
    ERR_clear_error();
    if (!context || SSL_CTX_set_min_proto_version(context, oldest) != 1)
        goto fail;
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    /* Peers that just close are the rule; a cut stream shows in the frames above. */
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION);
    snprintf(what, sizeof(what), "ciphers");
    if (SSL_CTX_set_cipher_list(context, config->ciphers ? config->ciphers : CIPHERS) != 1)
        goto fail;
    snprintf(what, sizeof(what), "certificate %s", config->certificate ? config->certificate : "");
    if (config->is_server && !config->certificate)
        goto fail;
    if (config->certificate &&
        SSL_CTX_use_certificate_chain_file(context, config->certificate) != 1)
        goto fail;
    snprintf(what, sizeof(what), "key %s", config->key ? config->key : "");
    if (is_refused(config->key, MD_SECRET_KEY))
        goto fail;
    if (config->certificate &&
        (!config->key || SSL_CTX_use_PrivateKey_file(context, config->key, SSL_FILETYPE_PEM) != 1 ||
         SSL_CTX_check_private_key(context) != 1))
        goto fail;
    snprintf(what, sizeof(what), "CA %s", config->ca ? config->ca : "");
    if (is_refused(config->ca, MD_SECRET_RULES) || !load_trust(context, config) ||
        ((config->require_client_certificate || config->request_client_certificate) && !config->ca))
        goto fail;
    int verify = SSL_VERIFY_NONE;
    if (config->require_client_certificate)
        verify = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    else if (config->request_client_certificate || (!config->is_server && !config->skip_verify))
        verify = SSL_VERIFY_PEER;
    SSL_CTX_set_verify(context, verify, NULL);
    snprintf(what, sizeof(what), "CRL %s", config->crl ? config->crl : "");
    if (is_refused(config->crl, MD_SECRET_RULES) ||
        (config->crl && !load_revoked(context, config->crl)))
        goto fail;
    if (config->is_server)
        set_sessions(context, verify != SSL_VERIFY_NONE);
    *out = context;
    return MD_OK;
fail:
    explain(error, error_size, config, what);
    SSL_CTX_free(context);
    return MD_ERR_SYS;
}

static int64_t seconds_of(const ASN1_TIME *time)
{
    struct tm tm;

    return time && ASN1_TIME_to_tm(time, &tm) == 1 ? timegm(&tm) : 0;
}

int64_t tls_context_expires(const SSL_CTX *context)
{
    const X509 *certificate = SSL_CTX_get0_certificate(context);

    return certificate ? seconds_of(X509_get0_notAfter(certificate)) : 0;
}

/* OpenSSL takes any list of an issuer that is in force, so the last of them to end counts. Returns
 * 0 if one never ends. */
static int64_t issuer_ends(const STACK_OF(X509_OBJECT) * objects, const X509_CRL *of)
{
    int64_t last = 0;

    for (int i = 0; i < sk_X509_OBJECT_num(objects); i++) {
        X509_CRL *list = X509_OBJECT_get0_X509_CRL(sk_X509_OBJECT_value(objects, i));

        if (!list || X509_NAME_cmp(X509_CRL_get_issuer(list), X509_CRL_get_issuer(of)) != 0)
            continue;
        int64_t ends = seconds_of(X509_CRL_get0_nextUpdate(list));
        if (ends == 0)
            return 0;
        if (ends > last)
            last = ends;
    }
    return last;
}

int64_t tls_context_crl_expires(const SSL_CTX *context)
{
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    int64_t first = 0;

    X509_STORE_lock(store); /* a handshake may add certificates to the store */
    const STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(store);
    for (int i = 0; i < sk_X509_OBJECT_num(objects); i++) {
        X509_CRL *list = X509_OBJECT_get0_X509_CRL(sk_X509_OBJECT_value(objects, i));
        int64_t ends = list ? issuer_ends(objects, list) : 0;
        if (ends && (first == 0 || ends < first))
            first = ends;
    }
    X509_STORE_unlock(store);
    return first;
}
