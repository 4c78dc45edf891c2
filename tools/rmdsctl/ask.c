/* ask.c - see ask.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/admin.h"

#define PATIENCE_S 12 /* a daemon answers within ten */

static int dial(const char *path, struct answer *out)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const struct timeval patience = { .tv_sec = PATIENCE_S };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || strlen(path) >= sizeof(address.sun_path)) {
        snprintf(out->error, sizeof(out->error), "%.120s: %s", path,
                 fd < 0 ? strerror(errno) : "the name is too long for a socket");
        if (fd >= 0)
            close(fd);
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path));
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    snprintf(out->error, sizeof(out->error), "%.120s: %s", path,
             errno == EACCES         ? "only root and the user that the daemon runs as may ask"
             : errno == ECONNREFUSED ? "the daemon has ended and left its socket"
                                     : strerror(errno));
    close(fd);
    return -1;
}

static bool send_words(int fd, char *const *words, int word_count, struct answer *out)
{
    char line[DAEMON_ADMIN_REQUEST + 1];
    size_t length = 0;

    for (int i = 0; i < word_count; i++) {
        int more = snprintf(line + length, sizeof(line) - length, "%s%s", i ? "\t" : "", words[i]);
        length += (size_t)more;
        if (length + 1 >= sizeof(line) || strpbrk(words[i], "\t\n")) {
            snprintf(out->error, sizeof(out->error),
                     "a request is one line of at most %u bytes, without tabs in its words",
                     DAEMON_ADMIN_REQUEST);
            return false;
        }
    }
    line[length++] = '\n';
    if (send(fd, line, length, MSG_NOSIGNAL) == (ssize_t)length)
        return true;
    snprintf(out->error, sizeof(out->error), "%s", strerror(errno));
    return false;
}

static char *receive_all(int fd, struct answer *out)
{
    size_t room = 65536, length = 0;
    char *text = malloc(room);
    ssize_t got = 0;

    while (text && (got = recv(fd, text + length, room - 1 - length, 0)) > 0) {
        length += (size_t)got;
        if (length < room - 1)
            continue;
        char *more = realloc(text, room *= 2);
        if (!more)
            free(text);
        text = more;
    }
    if (!text || got < 0) {
        snprintf(out->error, sizeof(out->error), "%s",
                 !text             ? "no memory for the answer"
                 : errno == EAGAIN ? "no answer within 12 s; does the daemon hang?"
                                   : strerror(errno));
        free(text);
        return NULL;
    }
    text[length] = 0;
    return text;
}

/* Nothing in an answer moves the cursor of a terminal. */
static void clean(char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if ((c < 0x20 && c != '\n') || c >= 0x7f)
            *text = '?';
    }
}

bool ask_daemon(const char *path, char *const *words, int word_count, struct answer *out)
{
    *out = (struct answer){ .is_ok = false };
    int fd = dial(path, out);
    if (fd < 0)
        return false;
    char *text = send_words(fd, words, word_count, out) ? receive_all(fd, out) : NULL;
    close(fd);
    if (!text)
        return false;
    clean(text);
    size_t first = strcspn(text, "\n");
    out->is_ok = strncmp(text, "ok\n", 3) == 0;
    if (!out->is_ok)
        snprintf(out->error, sizeof(out->error), "%.*s",
                 (int)(strncmp(text, "error: ", 7) == 0 ? first - 7 : first),
                 strncmp(text, "error: ", 7) == 0 ? text + 7 : text);
    if (!out->is_ok && first == 0)
        snprintf(out->error, sizeof(out->error), "the daemon ended the connection");
    size_t skip = text[first] ? first + 1 : first;
    memmove(text, text + skip, strlen(text + skip) + 1);
    out->text = text;
    return true;
}
