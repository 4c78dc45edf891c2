/* runner.h - the application under test, as a process. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAULT_RUNNER_H
#define FAULT_RUNNER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"

struct runner {
    pid_t pid; /* 0: none runs */
    struct md_loop_signal *signal;
    void (*on_exit)(void *owner, uint8_t code);
    void *owner;
};

/* Starts `words` in a process group of its own, with {port} and {service} replaced, and
 * RMDSFAULT_PORT and RMDSFAULT_SERVICE in its environment. MD_ERR_SYS after it has said why. */
int runner_start(struct runner *runner, struct md_loop *loop, const char *const *words,
                 size_t count, uint16_t port, const char *service);
void runner_stop(struct runner *runner); /* SIGTERM, after five seconds SIGKILL */

#endif
