/* doorbell.c - see base/doorbell.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/doorbell.h"

#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"

int md_doorbell_open(int *out)
{
    *out = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return *out < 0 ? MD_ERR_SYS : MD_OK;
}

void md_doorbell_ring(int fd)
{
    const uint64_t one = 1;
    ssize_t put = write(fd, &one, sizeof(one));

    (void)put; /* EAGAIN: the count is full, so it is readable, which is all a ring is for */
}

void md_doorbell_clear(int fd)
{
    uint64_t rings;
    ssize_t got = read(fd, &rings, sizeof(rings));

    (void)got; /* EAGAIN: nobody rang */
}

void md_sleep_flag_wait(struct md_sleep_flag *flag, uint64_t wait_ns)
{
    struct timespec wait = { .tv_sec = (time_t)(wait_ns / MD_NS_PER_S),
                             .tv_nsec = (long)(wait_ns % MD_NS_PER_S) };

    syscall(SYS_futex, &flag->value, FUTEX_WAIT, 1, wait_ns == MD_NEVER ? NULL : &wait, NULL, 0);
}

void md_sleep_flag_wake(struct md_sleep_flag *flag)
{
    syscall(SYS_futex, &flag->value, FUTEX_WAKE, 1, NULL, NULL, 0);
}
