/* hash.c - a password to what hash= of an access file wants. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <crypt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "conf/options.h"
#include "rules.h"

#define PASSWORD_MAX 512 /* of crypt(3), with its zero */

bool access_secret_read(const char *prompt, char *out, size_t size)
{
    struct termios before, silent;
    bool is_terminal = tcgetattr(STDIN_FILENO, &before) == 0;

    if (is_terminal) {
        fputs(prompt, stderr);
        silent = before;
        silent.c_lflag &= ~(tcflag_t)ECHO;
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
    }
    bool is_there = fgets(out, (int)size, stdin) != NULL;
    if (is_terminal) {
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
        fputc('\n', stderr);
    }
    if (is_there)
        out[strcspn(out, "\n")] = '\0';
    return is_there;
}

static int refuse(const char *text)
{
    fprintf(stderr, "rmdsaccess: %s\n", text);
    return MD_EXIT_CONFIG;
}

static int print_hash(const char *password)
{
    struct crypt_data *data = calloc(1, sizeof(*data));
    char salt[CRYPT_GENSALT_OUTPUT_SIZE];
    const char *hash = NULL;

    if (data && crypt_gensalt_rn("$y$", 0, NULL, 0, salt, sizeof(salt)))
        hash = crypt_r(password, salt, data);
    bool is_made = hash && hash[0] == '$';
    if (is_made)
        printf("%s\n", hash);
    free(data);
    return is_made ? MD_EXIT_OK : refuse("crypt(3) of this host makes no yescrypt hash");
}

int access_hash(const char *const words[], size_t count)
{
    char password[PASSWORD_MAX + 1] = "", again[PASSWORD_MAX + 1] = "";

    (void)words;
    (void)count;
    if (!access_secret_read("Password: ", password, sizeof(password)) || !password[0])
        return refuse("a password is expected, as the first line of standard input");
    if (strlen(password) >= PASSWORD_MAX)
        return refuse("the password is too long: 511 bytes are allowed");
    if (isatty(STDIN_FILENO)) {
        if (!access_secret_read("Again: ", again, sizeof(again)) || strcmp(password, again) != 0)
            return refuse("the two passwords differ");
    }
    int code = print_hash(password);
    explicit_bzero(password, sizeof(password));
    explicit_bzero(again, sizeof(again));
    return code;
}
