/* admin.c - the connections of the admin socket; see daemon/admin.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/admin.h"

#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "admin_text.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/runfile.h"
#include "daemon/daemon.h"

enum { OUTCOME_BYTES = 560, WHO_BYTES = 96, LINE_BYTES = 1200 };
enum { CHANGE_SITES = 8, CHANGES_A_SECOND = 4 * CHANGE_SITES };

#define PAUSE_NS MD_NS_PER_S /* without a descriptor for the next client */

/* A request outlives its connection when the client hangs up while another thread works on it. */
struct daemon_request {
    struct daemon_admin *admin;
    struct connection *connection; /* NULL: it has gone */
    struct daemon_request *next;
    const struct daemon_verb *verb;
    char line[DAEMON_ADMIN_REQUEST + 1]; /* cut into words */
    char said[DAEMON_ADMIN_REQUEST + 1]; /* as it came, for the log */
    const char *words[DAEMON_ADMIN_WORDS];
    unsigned word_count;
    char who[WHO_BYTES];
    struct daemon_text text;
};

struct connection {
    struct daemon_admin *admin;
    struct connection *next;
    struct md_loop_fd *watch;
    struct md_loop_timer *timer;
    struct daemon_request *request; /* under way; NULL before */
    int fd;
    bool is_answering;
    char who[WHO_BYTES];
    char head[LINE_BYTES];
    size_t head_length, head_sent;
    struct daemon_text body;
    size_t body_sent;
    size_t length;
    char input[DAEMON_ADMIN_REQUEST + 1];
};

struct daemon_admin {
    struct daemon *daemon;
    const struct daemon_verb *verbs;
    size_t verb_count;
    void *owner;
    struct md_loop_fd *watch;
    struct md_loop_timer *pause;
    struct connection *connections;
    struct daemon_request *requests; /* handed to a verb and not answered */
    unsigned connection_count;
    unsigned changes; /* in the second that began then */
    uint64_t changes_ns;
    int fd;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* ---- connections ---- */

static void drop_request(struct daemon_request *request)
{
    for (struct daemon_request **at = &request->admin->requests; *at; at = &(*at)->next) {
        if (*at == request) {
            *at = request->next;
            break;
        }
    }
    daemon_text_free(&request->text);
    free(request);
}

static void end(struct connection *connection)
{
    struct daemon_admin *admin = connection->admin;
    struct connection **at = &admin->connections;

    while (*at != connection)
        at = &(*at)->next;
    *at = connection->next;
    admin->connection_count--;
    if (connection->request)
        connection->request->connection = NULL; /* its verb still has it */
    md_loop_fd_remove(connection->watch);
    md_loop_timer_destroy(connection->timer);
    close(connection->fd);
    daemon_text_free(&connection->body);
    free(connection);
}

/* As much as the socket takes; the end of the connection when all is out. */
static void send_some(struct connection *connection)
{
    for (;;) {
        bool is_head = connection->head_sent < connection->head_length;
        const char *from = is_head ? connection->head + connection->head_sent
                                   : connection->body.bytes + connection->body_sent;
        size_t left = is_head ? connection->head_length - connection->head_sent
                              : connection->body.length - connection->body_sent;
        if (left == 0) {
            end(connection);
            return;
        }
        ssize_t sent = send(connection->fd, from, left, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
            md_loop_fd_set(connection->watch, MD_LOOP_WRITE);
            return;
        }
        if (sent <= 0) {
            end(connection);
            return;
        }
        *(is_head ? &connection->head_sent : &connection->body_sent) += (size_t)sent;
    }
}

/* `text`: NULL, or what follows the first line; it is taken over. */
static void answer(struct connection *connection, const char *head, struct daemon_text *text)
{
    connection->is_answering = true;
    connection->request = NULL;
    int length = snprintf(connection->head, sizeof(connection->head), "%s\n", head);
    connection->head_length =
        (size_t)length < sizeof(connection->head) ? (size_t)length : sizeof(connection->head) - 1;
    connection->head[connection->head_length - 1] = '\n';
    if (text) {
        connection->body = *text;
        *text = (struct daemon_text){ .length = 0 };
    }
    send_some(connection);
}

static void on_timeout(void *owner)
{
    struct connection *connection = owner;

    if (connection->is_answering) {
        end(connection);
        return;
    }
    if (!connection->request) {
        answer(connection, "error: no complete line within 10 s", NULL);
        return;
    }
    connection->request->connection = NULL;
    answer(connection,
           "error: the thread that has to answer has not done so within 10 s; does it hang? The "
           "daemon's log says",
           NULL);
}

/* ---- requests ---- */

struct daemon *daemon_request_daemon(const struct daemon_request *request)
{
    return request->admin->daemon;
}

const char *daemon_request_word(const struct daemon_request *request, unsigned number)
{
    return number + 1 < request->word_count ? request->words[number + 1] : NULL;
}

struct daemon_text *daemon_request_text(struct daemon_request *request)
{
    return &request->text;
}

/* Each change is in the log, whatever else is: a place in the code may log five lines a second, so
 * there are several, and no more changes than they can tell. */
static void log_change(const struct daemon_request *request, const char *outcome)
{
    static struct md_log_site sites[CHANGE_SITES];
    static unsigned next;

    if (md_log_is_on(MD_LOG_NOTICE))
        md_log_write(&sites[next++ % CHANGE_SITES], MD_LOG_NOTICE, "rmdsctl: %s: %s: %s%s",
                     request->who, request->said, outcome,
                     request->connection ? "" : " (nobody waits for the answer)");
}

static void finish(struct daemon_request *request, const char *head, const char *outcome,
                   bool has_text)
{
    const struct daemon_hooks *hooks = &request->admin->daemon->hooks;

    if (request->verb && request->verb->changes && hooks->ordered)
        hooks->ordered(hooks->owner, request->who, request->said, outcome);
    if (request->verb && request->verb->changes)
        log_change(request, outcome);
    else
        md_log(MD_LOG_INFO, "rmdsctl: %s: %s: %s", request->who, request->said, outcome);
    if (request->connection)
        answer(request->connection, head, has_text ? &request->text : NULL);
    drop_request(request);
}

void daemon_request_done(struct daemon_request *request, const char *outcome, ...)
{
    char text[OUTCOME_BYTES];
    va_list words;

    va_start(words, outcome);
    vsnprintf(text, sizeof(text), outcome, words);
    va_end(words);
    if (request->text.is_cut)
        daemon_text_end(&request->text, "... cut: the answer is longer than 4 MiB\n");
    finish(request, "ok", text, true);
}

void daemon_request_refuse(struct daemon_request *request, const char *why, ...)
{
    char text[OUTCOME_BYTES], head[OUTCOME_BYTES + 16];
    va_list words;

    va_start(words, why);
    vsnprintf(text, sizeof(text), why, words);
    va_end(words);
    snprintf(head, sizeof(head), "error: %s", text);
    finish(request, head, text, false);
}

static void cut_into_words(struct daemon_request *request)
{
    const char *separator = strchr(request->line, '\t') ? "\t" : " ";
    char *save = NULL;

    for (char *word = strtok_r(request->line, separator, &save);
         word && request->word_count < DAEMON_ADMIN_WORDS; word = strtok_r(NULL, separator, &save))
        request->words[request->word_count++] = word;
    for (char *at = request->said; *at; at++)
        *at = *at == '\t' ? ' ' : *at;
}

static void list_verbs(const struct daemon_verb *verbs, size_t count, struct daemon_text *text)
{
    for (size_t i = 0; i < count; i++) {
        char left[80];
        snprintf(left, sizeof(left), "%s %s", verbs[i].name, verbs[i].words);
        daemon_text_add(text, "  %-36s %s\n", left, verbs[i].help);
    }
}

static const struct daemon_verb *find(const struct daemon_verb *verbs, size_t count,
                                      const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    }
    return NULL;
}

/* False: too many changes for the log to have each. */
static bool count_change(struct daemon_admin *admin)
{
    uint64_t now_ns = md_loop_now(admin->daemon->loop);

    if (now_ns - admin->changes_ns >= MD_NS_PER_S) {
        admin->changes_ns = now_ns;
        admin->changes = 0;
    }
    return ++admin->changes <= CHANGES_A_SECOND;
}

static void act(struct daemon_request *request)
{
    struct daemon_admin *admin = request->admin;
    const char *name = request->word_count ? request->words[0] : "";
    const struct daemon_verb *own = find(admin->verbs, admin->verb_count, name);
    const struct daemon_verb *common = find(admin_verbs, admin_verb_count, name);

    if (strcmp(name, "help") == 0) {
        list_verbs(admin_verbs, admin_verb_count, &request->text);
        list_verbs(admin->verbs, admin->verb_count, &request->text);
        daemon_request_done(request, "listed");
        return;
    }
    request->verb = own ? own : common;
    if (!request->verb)
        daemon_request_refuse(request, "%s has no verb \"%.40s\"; help lists those it has",
                              admin->daemon->process, name);
    else if (request->word_count - 1 < request->verb->least)
        daemon_request_refuse(request, "%s wants: %s", name, request->verb->words);
    else if (request->verb->changes && !count_change(admin))
        daemon_request_refuse(request, "more than %u changes in a second; try again",
                              CHANGES_A_SECOND);
    else
        request->verb->act(own ? admin->owner : admin->daemon, request);
}

/* A complete line, without its end. */
static void take_line(struct connection *connection, size_t length)
{
    struct daemon_request *request;

    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)connection->input[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) {
            answer(connection, "error: control bytes in the request", NULL);
            return;
        }
    }
    request = calloc(1, sizeof(*request));
    if (!request) {
        answer(connection, "error: no memory", NULL);
        return;
    }
    request->admin = connection->admin;
    request->connection = connection;
    request->text.max = DAEMON_ADMIN_ANSWER;
    memcpy(request->line, connection->input, length);
    memcpy(request->said, connection->input, length);
    snprintf(request->who, sizeof(request->who), "%s", connection->who);
    connection->request = request;
    request->next = connection->admin->requests;
    connection->admin->requests = request;
    md_loop_fd_set(connection->watch, 0);
    cut_into_words(request);
    act(request);
}

static void on_readable(struct connection *connection)
{
    size_t room = sizeof(connection->input) - connection->length;
    ssize_t got = recv(connection->fd, connection->input + connection->length, room, MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (got <= 0) {
        end(connection);
        return;
    }
    connection->length += (size_t)got;
    const char *line_end = memchr(connection->input, '\n', connection->length);
    if (line_end)
        take_line(connection, (size_t)(line_end - connection->input));
    else if (connection->length == sizeof(connection->input))
        answer(connection, "error: a request is one line of at most 512 bytes", NULL);
}

static void on_connection(void *owner, int fd, unsigned events)
{
    struct connection *connection = owner;

    (void)fd;
    (void)events;
    if (connection->is_answering)
        send_some(connection);
    else if (!connection->request)
        on_readable(connection);
}

/* ---- the socket ---- */

/* "root (uid 0, pid 4711)"; false: another user than root and our own. */
static bool may_ask(int fd, char *who, size_t size)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    struct passwd entry, *found = NULL;
    char buffer[1024];

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
        snprintf(who, size, "somebody unknown");
        return false;
    }
    if (peer.uid != 0)
        (void)getpwuid_r(peer.uid, &entry, buffer, sizeof(buffer), &found);
    snprintf(who, size, "%.40s (uid %ld, pid %ld)",
             peer.uid == 0 ? "root"
             : found       ? found->pw_name
                           : "a user without a name",
             (long)peer.uid, (long)peer.pid);
    return peer.uid == 0 || peer.uid == geteuid();
}

static void turn_away(int fd, const char *text)
{
    (void)send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

static void begin(struct daemon_admin *admin, int fd, const char *who)
{
    struct connection *connection = calloc(1, sizeof(*connection));
    struct md_loop *loop = admin->daemon->loop;

    if (!connection ||
        md_loop_fd_add(loop, fd, MD_LOOP_READ, on_connection, connection, &connection->watch) !=
            MD_OK ||
        md_loop_timer_create(loop, on_timeout, connection, &connection->timer) != MD_OK) {
        if (connection)
            md_loop_fd_remove(connection->watch);
        free(connection);
        turn_away(fd, "error: no memory\n");
        return;
    }
    connection->admin = admin;
    connection->fd = fd;
    snprintf(connection->who, sizeof(connection->who), "%s", who);
    connection->next = admin->connections;
    admin->connections = connection;
    admin->connection_count++;
    (void)md_loop_timer_after(connection->timer, DAEMON_ADMIN_TIMEOUT_NS);
}

static void on_accept_again(void *owner)
{
    struct daemon_admin *admin = owner;

    md_loop_fd_set(admin->watch, MD_LOOP_READ);
}

/* A client that cannot be accepted stays in the queue, and would wake the loop without end. */
static void pause_accepting(struct daemon_admin *admin)
{
    md_log(MD_LOG_ERROR, "admin socket: accept: %s; not accepting for a second", strerror(errno));
    md_loop_fd_set(admin->watch, 0);
    (void)md_loop_timer_after(admin->pause, PAUSE_NS);
}

static void on_listener(void *owner, int listener, unsigned events)
{
    struct daemon_admin *admin = owner;
    char who[WHO_BYTES];
    int fd;

    (void)events;
    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        if (!may_ask(fd, who, sizeof(who))) {
            md_log(MD_LOG_WARNING,
                   "rmdsctl: %s refused: only root and the user of the daemon may "
                   "ask",
                   who);
            turn_away(fd, "error: only root and the user that the daemon runs as may ask\n");
        } else if (admin->connection_count >= DAEMON_ADMIN_CONNECTIONS) {
            turn_away(fd, "error: 8 others ask already; try again\n");
        } else {
            begin(admin, fd, who);
        }
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNABORTED)
        pause_accepting(admin);
}

bool daemon_admin_path(const char *run_dir, const char *folder, char *out, size_t size)
{
    const size_t name_max = sizeof(((struct sockaddr_un *)0)->sun_path);
    int length = snprintf(out, size, "%s/%s/" DAEMON_ADMIN_FILE, run_dir, folder);

    return length > 0 && (size_t)length < size && (size_t)length < name_max;
}

/* The mode is that of the socket before it has a name: nobody else can connect at any time. */
static int listen_at(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    memcpy(address.sun_path, path, strlen(path) + 1);
    if (fd < 0)
        return -1;
    if (fchmod(fd, 0600) != 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        chmod(path, 0600) != 0 || listen(fd, DAEMON_ADMIN_CONNECTIONS) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static int open_socket(struct daemon_admin *admin)
{
    struct daemon *daemon = admin->daemon;
    const char *run_dir = md_conf_string(&daemon->object, "runDir");

    if (!daemon_admin_path(run_dir, daemon->folder, admin->path, sizeof(admin->path))) {
        admin->path[0] = 0;
        errno = ENAMETOOLONG;
        return MD_ERR_SYS;
    }
    /* Whoever holds the pid file of this name may remove what a killed one left. */
    int err = md_runfile_clear_socket(admin->path);
    if (err == MD_OK && (admin->fd = listen_at(admin->path)) < 0)
        err = MD_ERR_SYS;
    if (err == MD_OK)
        err = md_loop_timer_create(daemon->loop, on_accept_again, admin, &admin->pause);
    if (err == MD_OK)
        err = md_loop_fd_add(daemon->loop, admin->fd, MD_LOOP_READ, on_listener, admin,
                             &admin->watch);
    return err;
}

void daemon_admin_open(struct daemon *daemon, const struct daemon_verb *verbs, size_t count,
                       void *owner)
{
    struct daemon_admin *admin = calloc(1, sizeof(*admin));

    if (!admin)
        return;
    *admin = (struct daemon_admin){
        .daemon = daemon, .verbs = verbs, .verb_count = count, .owner = owner, .fd = -1
    };
    errno = 0;
    int err = open_socket(admin);
    if (err != MD_OK) {
        md_log(MD_LOG_WARNING, "admin socket %s in runDir: %s; rmdsctl cannot reach this daemon",
               admin->path, errno ? strerror(errno) : md_err_name(err));
        daemon_admin_close(admin);
        return;
    }
    daemon->admin = admin;
}

void daemon_admin_close(struct daemon_admin *admin)
{
    if (!admin)
        return;
    for (struct connection *next, *at = admin->connections; at; at = next) {
        next = at->next;
        end(at);
    }
    for (struct daemon_request *next, *at = admin->requests; at; at = next) {
        next = at->next;
        drop_request(at);
    }
    md_loop_fd_remove(admin->watch);
    md_loop_timer_destroy(admin->pause);
    if (admin->fd >= 0) {
        close(admin->fd);
        (void)unlink(admin->path);
    }
    free(admin);
}
