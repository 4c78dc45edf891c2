/* base/thread.h - a thread whose maker goes on when it has settled. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

/*
 * A thread takes its CPUs, its policy and its name itself, as its first act. A daemon that said it
 * was ready before that would, on a busy host, serve its first clients with a thread that is
 * nowhere yet; so md_thread_start() returns only when the thread has called md_thread_settled().
 *
 * The memory of a struct md_thread stays where it is from start to join; zeroed is "not started".
 */
struct md_thread {
    pthread_t id;
    sem_t settled;
    bool is_started;
};

/* MD_OK, or MD_ERR_SYS with errno; then nothing runs and nothing is to be joined. */
int md_thread_start(struct md_thread *thread, void *(*run)(void *argument), void *argument);

/* From the thread itself, once, after which its maker goes on. */
void md_thread_settled(struct md_thread *thread);

/* Waits for its end. Nothing for one that was not started or was joined. */
void md_thread_join(struct md_thread *thread);

#endif
