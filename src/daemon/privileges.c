/* privileges.c - see privileges.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/err.h"
#include "base/log.h"
#include "base/rundir.h"
#include "base/runfile.h"

#define OF_START (MD_CAP_SYS_NICE | MD_CAP_IPC_LOCK | MD_CAP_NET_BIND)

static uint64_t needed(bool is_rrcpd)
{
    return is_rrcpd ? OF_START | MD_CAP_NET_ADMIN : OF_START;
}

/* A folder of root's becomes the user's; another one stays as it is. No link is followed. */
static void give_folder(const char *path, const struct passwd *user)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_uid == 0)
        (void)!fchown(fd, user->pw_uid, user->pw_gid);
    close(fd);
}

/*
 * The folder of a daemon that root ran before. A living one holds `pid`; what a dead one left, the
 * user could neither open nor replace. The lock keeps another root's daemon out until the end.
 */
static int give_own_folder(const struct daemon *daemon, const char *path, const struct passwd *user)
{
    static const char *const left[] = {
        "stats.lock", "stats.new", "stats", "ctl", "attach", "trace"
    };
    struct md_runfile pid_file = { .fd = -1 };
    char pid_path[64];
    struct stat st;
    pid_t holder = 0;
    int err = MD_OK;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == 0) {
        /* Through the descriptor: another user may rename the folder, and own the one above. */
        snprintf(pid_path, sizeof(pid_path), "/proc/self/fd/%d/pid", fd);
        err = md_runfile_open(&pid_file, pid_path, &holder);
    }
    if (err == MD_ERR_EXISTS)
        fprintf(stderr,
                "%s: instance %s runs already, as root: %s/pid is held by pid %ld; use -instance "
                "for another one\n",
                daemon->process, md_conf_instance(daemon->conf), path, (long)holder);
    if (pid_file.fd >= 0) {
        for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
            (void)unlinkat(fd, left[i], 0);
        (void)!fchown(fd, user->pw_uid, user->pw_gid);
        md_runfile_close(&pid_file);
    }
    if (fd >= 0)
        close(fd);
    return err == MD_ERR_EXISTS ? MD_EXIT_PORT : -1;
}

static int prepare_folders(const struct daemon *daemon, const struct passwd *user)
{
    struct md_conf_object logger = md_conf_object(daemon->conf, MD_CONF_LOGGER, NULL);
    const char *run_dir = md_conf_string(&daemon->object, "runDir");
    const char *log_dir = md_conf_string(&logger, "logDir");
    char path[512];
    int code = -1;

    /* A daemon of that user that begins anew makes its folder and its link there. */
    if (md_rundir_make(run_dir) == MD_OK && strcmp(run_dir, MD_RUNDIR) == 0)
        give_folder(run_dir, user);
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", run_dir, daemon->folder) < sizeof(path) &&
        (mkdir(path, 0750) == 0 || errno == EEXIST))
        code = give_own_folder(daemon, path, user);
    if (access(log_dir, F_OK) != 0 && md_runfile_make_dir(log_dir) == MD_OK)
        give_folder(log_dir, user);
    return code;
}

/* The limit counts as soon as CAP_IPC_LOCK is gone. A refusal is told when the memory is locked. */
static void prepare_limits(const struct daemon *daemon)
{
    const struct rlimit none = { .rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY };

    if (md_conf_bool(&daemon->object, "lockMemory"))
        (void)setrlimit(RLIMIT_MEMLOCK, &none);
}

static int become(const struct passwd *user, uint64_t kept)
{
    if (initgroups(user->pw_name, user->pw_gid) != 0 || prctl(PR_SET_KEEPCAPS, 1L) != 0 ||
        setresgid(user->pw_gid, user->pw_gid, user->pw_gid) != 0 ||
        setresuid(user->pw_uid, user->pw_uid, user->pw_uid) != 0 || md_caps_reduce(kept) != 0)
        return -1;
    (void)prctl(PR_SET_KEEPCAPS, 0L);
    (void)prctl(PR_SET_DUMPABLE, 1L); /* as under a unit: tools of that user can look into it */
    return 0;
}

int privileges_choose(struct daemon *daemon, bool is_rrcpd)
{
    const char *name = md_conf_string(&daemon->object, "user");

    (void)prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L); /* before there is a second thread */
    if (!md_is_root() || daemon->options.allow_root)
        return -1;
    const struct passwd *user = getpwnam(name);
    if (!user || user->pw_uid == 0) {
        fprintf(stderr,
                "%s: root runs no daemon: there is no user \"%s\" to become; make it (useradd "
                "--system %s), name another one with the parameter user, or give -allow-root\n",
                daemon->process, name, name[0] ? name : "rmds");
        return MD_EXIT_CONFIG;
    }
    int code = prepare_folders(daemon, user);
    if (code >= 0)
        return code;
    prepare_limits(daemon);
    if (become(user, needed(is_rrcpd)) != 0) {
        fprintf(stderr, "%s: user %s: %s\n", daemon->process, name, strerror(errno));
        return MD_EXIT_CONFIG;
    }
    return -1;
}

const char *privileges_user(void)
{
    const struct passwd *user = getpwuid(geteuid());

    return user ? user->pw_name : "without a name";
}

/* "it may not enter /root" for the first folder above the file that this user may not enter; "". */
static void find_closed(const char *file, char *out, size_t size)
{
    char path[512];

    out[0] = '\0';
    if (strlen(file) >= sizeof(path))
        return;
    snprintf(path, sizeof(path), "%s", file);
    for (char *at = path + 1; (at = strchr(at, '/')) != NULL; *at++ = '/') {
        *at = '\0';
        if (access(path, X_OK) != 0) {
            snprintf(out, size, ", as it may not enter %s", path);
            return;
        }
    }
}

void privileges_look(const struct daemon *daemon)
{
    const struct md_option_list *files = &daemon->options.files;
    const char *first = md_conf_file(daemon->conf);
    char closed[600];

    for (size_t i = 0; i < files->count || (i == 0 && first); i++) {
        const char *file = files->count ? files->item[i] : first;
        if (access(file, R_OK) != 0 && errno == EACCES) {
            find_closed(file, closed, sizeof(closed));
            md_log(MD_LOG_WARNING,
                   "%s: user %s, as whom this runs now, may not read it%s: a reload fails; put the "
                   "file where that user may read it, for example into /etc/rmds",
                   file, privileges_user(), closed);
        }
    }
}

void privileges_drop(bool is_rrcpd)
{
    if (is_rrcpd)
        md_caps_leave_to_exec(needed(true)); /* it may have to join its network anew */
    else
        md_caps_drop();
}
