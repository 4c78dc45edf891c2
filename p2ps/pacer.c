/* pacer.c - see pacer.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pacer.h"

#include "worker.h"

static void link_mount(struct p2ps_mount **head, struct p2ps_mount *mount)
{
    mount->paced_next = *head;
    if (*head)
        (*head)->paced_link = &mount->paced_next;
    mount->paced_link = head;
    *head = mount;
}

void p2ps_pacer_wait(struct p2ps_mount *mount)
{
    struct p2ps_worker *worker = mount->worker;

    if (mount->paced_link)
        return;
    link_mount(&worker->paced, mount);
    if (!md_loop_timer_is_running(worker->pacer))
        md_loop_timer_after(worker->pacer, CEILING_TURN_NS);
}

bool p2ps_pacer_holds(const struct p2ps_mount *mount)
{
    return mount->paced_link != NULL;
}

void p2ps_pacer_leave(struct p2ps_mount *mount)
{
    if (!mount->paced_link)
        return;
    *mount->paced_link = mount->paced_next;
    if (mount->paced_next)
        mount->paced_next->paced_link = mount->paced_link;
    mount->paced_next = NULL;
    mount->paced_link = NULL;
}

void p2ps_pacer_begin(struct p2ps_worker *worker)
{
    worker->paced_turn = worker->paced;
    worker->paced = NULL;
    if (worker->paced_turn)
        worker->paced_turn->paced_link = &worker->paced_turn;
}

struct p2ps_mount *p2ps_pacer_next(struct p2ps_worker *worker)
{
    struct p2ps_mount *mount = worker->paced_turn;

    if (mount)
        p2ps_pacer_leave(mount);
    return mount;
}
