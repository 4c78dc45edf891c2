/* tls_identity.c - who a peer is by its certificate. See tls_context.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tls_context.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

/* A zero within would be the end of it for whoever compares; a line of a log has no others. */
static bool take(const unsigned char *text, int length, char out[NET_IDENTITY_MAX])
{
    if (!text || length <= 0 || length >= NET_IDENTITY_MAX)
        return false;
    for (int i = 0; i < length; i++) {
        if (text[i] < 0x20 || text[i] == 0x7f)
            return false;
    }
    memcpy(out, text, (size_t)length);
    out[length] = '\0';
    return true;
}

static bool take_common_name(const X509_NAME *subject, char out[NET_IDENTITY_MAX])
{
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    unsigned char *text = NULL;

    if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0)
        return false;
    int length =
        ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    bool is_taken = take(text, length, out);
    OPENSSL_free(text);
    return is_taken;
}

static bool take_subject(const X509_NAME *subject, char out[NET_IDENTITY_MAX])
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    bool is_taken = false;

    if (bio && X509_NAME_print_ex(bio, subject, 0,
                                  XN_FLAG_RFC2253 & ~(unsigned)ASN1_STRFLGS_ESC_MSB) >= 0) {
        long length = BIO_get_mem_data(bio, &text);
        is_taken = length < NET_IDENTITY_MAX && take((unsigned char *)text, (int)length, out);
    }
    BIO_free(bio);
    return is_taken;
}

/* The first of that kind. */
static bool take_alternative(const X509 *certificate, int kind, char out[NET_IDENTITY_MAX])
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    bool is_taken = false;

    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        int type;
        const ASN1_IA5STRING *text =
            GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, i), &type);

        if (type != kind)
            continue;
        is_taken = take(ASN1_STRING_get0_data(text), ASN1_STRING_length(text), out);
        break;
    }
    GENERAL_NAMES_free(names);
    return is_taken;
}

static bool take_name(const X509 *certificate, enum net_identity which, char out[NET_IDENTITY_MAX])
{
    switch (which) {
    case NET_IDENTITY_CN:
        return take_common_name(X509_get_subject_name(certificate), out);
    case NET_IDENTITY_DN:
        return take_subject(X509_get_subject_name(certificate), out);
    case NET_IDENTITY_EMAIL:
        return take_alternative(certificate, GEN_EMAIL, out);
    case NET_IDENTITY_DNS:
        return take_alternative(certificate, GEN_DNS, out);
    case NET_IDENTITY_URI:
        return take_alternative(certificate, GEN_URI, out);
    }
    return false;
}

/* NULL: none is shown, or it is not trusted. */
static const X509 *trusted(const SSL *ssl)
{
    const X509 *certificate = SSL_get0_peer_certificate(ssl);
    bool is_trusted = certificate && SSL_get_verify_mode(ssl) & SSL_VERIFY_PEER &&
                      SSL_get_verify_result(ssl) == X509_V_OK;

    return is_trusted ? certificate : NULL;
}

bool tls_serial(const SSL *ssl, char out[NET_SERIAL_MAX])
{
    const X509 *certificate = trusted(ssl);
    BIGNUM *number =
        certificate ? ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), NULL) : NULL;
    char *digits = number ? BN_bn2hex(number) : NULL;
    const char *at = digits ? digits : "";
    bool is_taken = false;

    out[0] = '\0';
    while (at[0] == '0' && at[1])
        at++;
    if (digits && strlen(at) < NET_SERIAL_MAX) {
        size_t length = strlen(at);
        for (size_t i = 0; i <= length; i++)
            out[i] = (char)(at[i] >= 'A' && at[i] <= 'F' ? at[i] - 'A' + 'a' : at[i]);
        is_taken = true;
    }
    OPENSSL_free(digits);
    BN_free(number);
    ERR_clear_error();
    return is_taken;
}

bool tls_identity(const SSL *ssl, enum net_identity which, char out[NET_IDENTITY_MAX],
                  int64_t *expires_s)
{
    const X509 *certificate = trusted(ssl);
    struct tm tm;

    out[0] = '\0';
    *expires_s = 0;
    if (!certificate)
        return false;
    if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm) == 1)
        *expires_s = timegm(&tm);
    bool is_taken = take_name(certificate, which, out);
    ERR_clear_error();
    return is_taken;
}
