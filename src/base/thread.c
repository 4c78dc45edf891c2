/* thread.c - a thread whose maker goes on when it has settled. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <errno.h>

#include "base/caps.h"
#include "base/err.h"

int md_thread_start(struct md_thread *thread, void *(*run)(void *argument), void *argument)
{
    if (sem_init(&thread->settled, 0, 0) != 0)
        return MD_ERR_SYS;
    int err = pthread_create(&thread->id, NULL, run, argument);
    if (err != 0) {
        (void)sem_destroy(&thread->settled);
        errno = err;
        return MD_ERR_SYS;
    }
    thread->is_started = true;
    while (sem_wait(&thread->settled) != 0 && errno == EINTR)
        ;
    return MD_OK;
}

void md_thread_settled(struct md_thread *thread)
{
    md_caps_drop(); /* it is bound and has its priority: nothing it does from now on needs any */
    (void)sem_post(&thread->settled);
}

void md_thread_join(struct md_thread *thread)
{
    if (!thread->is_started)
        return;
    pthread_join(thread->id, NULL);
    (void)sem_destroy(&thread->settled);
    thread->is_started = false;
}
