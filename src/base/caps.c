/* caps.c - see base/caps.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/caps.h"

#include <linux/capability.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/rundir.h"

struct sets {
    uint64_t effective, permitted, inheritable;
};

static int get(struct sets *sets)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = { 0 };

    if (syscall(SYS_capget, &header, data) != 0)
        return -1;
    sets->effective = data[0].effective | (uint64_t)data[1].effective << 32;
    sets->permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
    sets->inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32;
    return 0;
}

static int set(const struct sets *sets)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = {
        { (uint32_t)sets->effective, (uint32_t)sets->permitted, (uint32_t)sets->inheritable },
        { (uint32_t)(sets->effective >> 32), (uint32_t)(sets->permitted >> 32),
          (uint32_t)(sets->inheritable >> 32) },
    };

    return (int)syscall(SYS_capset, &header, data);
}

static bool is_of_namespace(void)
{
    return geteuid() == 0 && !md_is_root();
}

int md_caps_reduce(uint64_t wanted)
{
    struct sets sets;

    if (get(&sets) != 0)
        return -1;
    sets.permitted &= wanted;
    sets.effective = sets.permitted;
    sets.inheritable = 0;
    return set(&sets);
}

/* Whoever has none keeps its credentials as they are, which RDMA compares by their address. */
static bool has_any(void)
{
    struct sets sets;

    return get(&sets) != 0 || (sets.effective | sets.permitted | sets.inheritable) != 0;
}

void md_caps_drop(void)
{
    if (is_of_namespace() || !has_any())
        return;
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    (void)md_caps_reduce(0);
}

void md_caps_leave_to_exec(uint64_t wanted)
{
    struct sets sets;

    if (is_of_namespace() || get(&sets) != 0)
        return;
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    sets.permitted &= wanted;
    sets.inheritable = sets.permitted;
    sets.effective = 0;
    if (set(&sets) != 0)
        return;
    for (unsigned long i = 0; i < 64; i++)
        if (sets.permitted >> i & 1)
            (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0);
}
