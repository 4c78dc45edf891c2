/* tls_files.c - see netio/diagnose.h: what is wrong with the files of a TLS configuration. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/secret.h"
#include "netio/diagnose.h"

#define EXPIRY_WARNING_DAYS 30

struct examination {
    net_tls_finding_fn fn;
    void *arg;
    unsigned errors;
};

static __attribute__((format(printf, 4, 5))) void find(struct examination *examination,
                                                       bool is_error, enum net_tls_file file,
                                                       const char *format, ...)
{
    char text[640];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    examination->errors += is_error;
    examination->fn(examination->arg, is_error, file, text);
}

/* A key with a passphrase must not ask the terminal for it. */
static int no_passphrase(char *out, int size, int is_writing, void *arg)
{
    (void)out;
    (void)size;
    (void)is_writing;
    *(bool *)arg = true;
    return -1;
}

/* NULL: it was reported. */
static FILE *open_file(struct examination *examination, enum net_tls_file file, const char *path)
{
    struct stat status;
    FILE *stream = fopen(path, "re");

    if (!stream) {
        find(examination, true, file, "%s: %s", path, strerror(errno));
        return NULL;
    }
    if (fstat(fileno(stream), &status) == 0 && S_ISDIR(status.st_mode)) {
        find(examination, true, file, "%s: it is a folder; name a file in PEM form", path);
        fclose(stream);
        return NULL;
    }
    return stream;
}

/* Which kind of PEM block a file starts with, for the case that another was expected. */
static const char *first_block(const char *path)
{
    static const struct {
        const char *mark, *text;
    } kinds[] = {
        { "PRIVATE KEY-----", "a private key is in it" },
        { "CERTIFICATE REQUEST-----", "a certificate request is in it" },
        { "PUBLIC KEY-----", "a public key is in it" },
        { "CERTIFICATE-----", "a certificate is in it" },
        { "X509 CRL-----", "a list of revoked certificates is in it" },
    };
    char line[256];
    const char *found = "nothing in PEM form is in it";
    bool is_found = false;
    FILE *stream = fopen(path, "re");

    while (stream && !is_found && fgets(line, sizeof(line), stream))
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !is_found; i++)
            if (strncmp(line, "-----BEGIN ", 11) == 0 && strstr(line, kinds[i].mark)) {
                found = kinds[i].text;
                is_found = true;
            }
    if (stream)
        fclose(stream);
    return found;
}

static void examine_dates(struct examination *examination, enum net_tls_file file, const char *path,
                          const X509 *certificate)
{
    int days = 0;
    int seconds = 0;
    struct tm tm;
    char text[32] = "?";

    if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm) == 1)
        strftime(text, sizeof(text), "%Y-%m-%d", &tm);
    if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0)
        find(examination, true, file,
             "%s: the certificate is not valid yet; look at the clock of this host", path);
    if (ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(certificate)) != 1)
        return;
    if (days < 0 || seconds < 0)
        find(examination, true, file, "%s: the certificate expired on %s; renew it", path, text);
    else if (days < EXPIRY_WARNING_DAYS)
        find(examination, false, file, "%s: the certificate expires on %s, in %d days; renew it",
             path, text, days);
}

/* A file of roots or lists decides who is trusted, so not everybody may write it. */
static void examine_writers(struct examination *examination, enum net_tls_file file,
                            const char *path, FILE *stream)
{
    char why[640];

    if (md_secret_look(fileno(stream), path, MD_SECRET_RULES, why, sizeof(why)) ==
        MD_SECRET_REFUSED)
        find(examination, true, file, "%s", why);
}

static X509 *examine_certificate(struct examination *examination, enum net_tls_file file,
                                 const char *path)
{
    FILE *stream = open_file(examination, file, path);
    X509 *certificate = stream ? PEM_read_X509(stream, NULL, NULL, NULL) : NULL;

    if (stream && !certificate)
        find(examination, true, file, "%s: %s; expected a certificate (BEGIN CERTIFICATE)", path,
             first_block(path));
    if (certificate)
        examine_dates(examination, file, path, certificate);
    if (stream && file == NET_TLS_CA)
        examine_writers(examination, file, path, stream);
    if (stream)
        fclose(stream);
    return certificate;
}

/* A list that has ended refuses every peer: to be warned of in time. Each list of the file. */
static void examine_revoked(struct examination *examination, const char *path)
{
    FILE *stream = open_file(examination, NET_TLS_CRL, path);
    unsigned count = 0;
    X509_CRL *list;

    if (!stream)
        return;
    examine_writers(examination, NET_TLS_CRL, path, stream);
    while ((list = PEM_read_X509_CRL(stream, NULL, NULL, NULL)) != NULL) {
        const ASN1_TIME *next = X509_CRL_get0_nextUpdate(list);
        char *issuer = X509_NAME_oneline(X509_CRL_get_issuer(list), NULL, 0);
        count++;
        if (next && X509_cmp_current_time(next) < 0)
            find(examination, false, NET_TLS_CRL,
                 "%s: the list of %.200s has ended; every peer whose certificate is of that issuer "
                 "is refused until a new one is here",
                 path, issuer ? issuer : "?");
        OPENSSL_free(issuer);
        X509_CRL_free(list);
    }
    if (count == 0)
        find(examination, true, NET_TLS_CRL,
             "%s: %s; expected a list of revoked certificates (BEGIN X509 CRL)", path,
             first_block(path));
    fclose(stream);
}

static EVP_PKEY *examine_key(struct examination *examination, const char *path)
{
    FILE *stream = open_file(examination, NET_TLS_KEY, path);
    bool asked = false;
    char why[640];

    if (!stream)
        return NULL;
    EVP_PKEY *key = PEM_read_PrivateKey(stream, NULL, no_passphrase, &asked);
    if (!key && asked)
        find(examination, true, NET_TLS_KEY,
             "%s: the key has a passphrase, nobody is there to type it; write the key without one: "
             "openssl pkey -in %s -out NEW",
             path, path);
    else if (!key)
        find(examination, true, NET_TLS_KEY, "%s: %s; expected a private key (BEGIN PRIVATE KEY)",
             path, first_block(path));
    if (md_secret_look(fileno(stream), path, MD_SECRET_KEY, why, sizeof(why)) == MD_SECRET_REFUSED)
        find(examination, true, NET_TLS_KEY, "%s", why);
    fclose(stream);
    return key;
}

unsigned net_tls_examine(const struct net_tls_config *config, net_tls_finding_fn fn, void *arg)
{
    struct examination examination = { .fn = fn, .arg = arg };
    bool has_certificate = config->certificate && config->certificate[0];
    bool has_key = config->key && config->key[0];
    X509 *certificate = NULL;
    EVP_PKEY *key = NULL;

    ERR_clear_error();
    if (has_certificate)
        certificate = examine_certificate(&examination, NET_TLS_CERTIFICATE, config->certificate);
    else if (config->is_server || has_key)
        find(&examination, true, NET_TLS_CERTIFICATE,
             "no file is named; name the certificate and those of its issuers, in PEM form");
    if (has_key)
        key = examine_key(&examination, config->key);
    else if (config->is_server || has_certificate)
        find(&examination, true, NET_TLS_KEY,
             "no file is named; name the private key of the certificate, in PEM form");
    if (certificate && key && X509_check_private_key(certificate, key) != 1)
        find(&examination, true, NET_TLS_KEY,
             "%s: the key does not fit the certificate %s; name the two that were made together",
             config->key, config->certificate);
    if (config->ca && config->ca[0])
        X509_free(examine_certificate(&examination, NET_TLS_CA, config->ca));
    else if (config->require_client_certificate)
        find(&examination, true, NET_TLS_CA,
             "no file is named, but tlsRequireClientCert is True; name the certificates of the "
             "authorities that sign those of clients");
    if (config->crl && config->crl[0])
        examine_revoked(&examination, config->crl);
    EVP_PKEY_free(key);
    X509_free(certificate);
    ERR_clear_error();
    return examination.errors;
}
