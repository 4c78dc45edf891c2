/* rules.h - the verbs of rmdsaccess about an access file. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RMDSACCESS_RULES_H
#define RMDSACCESS_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "entitle/entitle.h"

/* All return the exit code. `words` are those behind the verb. */
int access_check(const char *const words[], size_t count);
int access_explain(const char *const words[], size_t count);
int access_who(const char *const words[], size_t count);
/* Of a password from standard input. */
int access_hash(const char *const words[], size_t count);
/* Of a token, likewise. */
int access_tokenhash(const char *const words[], size_t count);
/* `conf` NULL: the words say all. */
int access_token(const char *const words[], size_t count, const char *conf);
int access_lock(const char *const words[], size_t count);
int access_combine(const char *const words[], size_t count);
int access_what(const char *const words[], size_t count);
int access_test(const char *const words[], size_t count);
int access_diff(const char *const words[], size_t count);

/* ---- file.c ---- */

/* A file that was read, with those that it includes. */
struct access_text {
    const char *path;
    struct access_part {
        char *path;
        char *text;
        size_t length;
    } * parts; /* each of them; the first is that of `path` */
    size_t part_count;
    struct entitle_rules *rules; /* NULL: it has mistakes */
    struct access_finding *findings;
    size_t count, errors, warnings;
    bool looks_at_readers; /* of the files */
};

/* MD_EXIT_OK, also with mistakes; or the exit code, and the reason was printed. It is a mistake
 * that every user can write a file, if somebody looks. */
int access_text_read(const char *path, bool looks_at_readers, struct access_text *out);
/* All of a file, from malloc(). NULL with errno. */
char *access_file_read(const char *path, size_t *length);
/* Adds what entitle_rules_review() finds. */
void access_text_review(struct access_text *file);
/* All that was found, by line; "FILE:LINE: error: ...". */
void access_text_tell(struct access_text *file);
void access_text_free(struct access_text *file);
/* A line as the rules name it, without blanks around it; the length. */
int access_text_line(const struct access_text *file, unsigned line, const char **out);
/* "FILE:LINE" of it. */
void access_text_place(const struct access_text *file, unsigned line, char *out, size_t size);

/* ---- rules.c ---- */

/* A question from words like do=post. */
struct access_question {
    struct entitle_query query;
    char lock[32768];
    struct entitle_view roles; /* that the login gives him, as roles= names them */
    char claims[8192];         /* of a signed token: name, zero, value, zero, and so on */
    size_t claims_length;
    char given[2048]; /* roles by both, of the file that is asked */
};

/* A file without a mistake, or the exit code; the mistakes were printed. */
int access_read_whole(const char *path, struct access_text *file);
/* False: a word is none of them, which was printed. */
bool access_question_read(struct access_question *question, const char *service, const char *item,
                          const char *const words[], size_t count);
/* May the user log in, and then the rest? */
enum entitle_verdict access_judge(const struct access_text *file, struct access_question *question,
                                  struct entitle_answer *answer);

/* ---- hash.c ---- */

/* A line of standard input, not shown if that is a terminal. False: there is none. */
bool access_secret_read(const char *prompt, char *out, size_t size);

/* ---- lock.c ---- */

/* Permission data in hexadecimal digits, or base64. The length, or 0: it is neither. */
size_t access_lock_read(const char *word, char *out, size_t size);

#endif
