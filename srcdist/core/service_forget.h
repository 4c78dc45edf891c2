/* service_forget.h - services that nobody offers any more end. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SRCDIST_SERVICE_FORGET_H
#define SRCDIST_SERVICE_FORGET_H

#include "private.h"

/* Forgets the one that has had no provider longest, for a new one. False: none may go. */
bool srcdist_service_make_room(struct srcdist_core *core, bool for_broadcast);
/* Forgets what publishers have left for serviceForget. */
void srcdist_services_forget_tick(struct srcdist_core *core);

#endif
