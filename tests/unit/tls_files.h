/* tls_files.h - a certificate of its own for a test, in a folder of its own. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_FILES_H
#define TLS_FILES_H

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct tls_files {
    char folder[256];
    char certificate[300];
    char key[300];
};

static inline void tls_files_extend(X509 *x509, int nid, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    X509_add_ext(x509, extension, -1);
    X509_EXTENSION_free(extension);
}

/* Self-signed, for localhost and the loopback addresses; `name` goes into the subject. */
static inline int tls_files_write(struct tls_files *files, const char *name)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x509 = X509_new();
    X509_NAME *subject = X509_get_subject_name(x509);
    FILE *file;
    int rc = -1;

    X509_set_version(x509, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x509), 86400);
    X509_set_pubkey(x509, key);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(x509, subject);
    tls_files_extend(x509, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1");
    tls_files_extend(x509, NID_basic_constraints, "critical,CA:TRUE");
    X509_sign(x509, key, EVP_sha256());
    if ((file = fopen(files->certificate, "w")) != NULL) {
        rc = PEM_write_X509(file, x509) == 1 ? 0 : -1;
        fclose(file);
    }
    if ((file = fopen(files->key, "w")) != NULL) {
        if (fchmod(fileno(file), 0600) != 0)
            rc = -1;
        if (PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) != 1)
            rc = -1;
        fclose(file);
    }
    X509_free(x509);
    EVP_PKEY_free(key);
    return rc;
}

static inline int tls_files_create(struct tls_files *files)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(files->folder, sizeof(files->folder), "%.200s/rmds-tls-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(files->folder))
        return -1;
    snprintf(files->certificate, sizeof(files->certificate), "%s/cert.pem", files->folder);
    snprintf(files->key, sizeof(files->key), "%s/key.pem", files->folder);
    return tls_files_write(files, "first");
}

static inline void tls_files_remove(const struct tls_files *files)
{
    unlink(files->certificate);
    unlink(files->key);
    rmdir(files->folder);
}

#endif
