/* rsocket_load.c - the program's side of librmds-rsocket.so; see netio/rsocket.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "netio/rsocket.h"
#include "plugin.h"
#include "rsocket_calls.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct rsocket_calls *loaded;

const struct rsocket_calls *rsocket_calls_load(char *why, size_t why_size)
{
    pthread_mutex_lock(&lock);
    if (!loaded)
        loaded = net_plugin_load(RSOCKET_PLUGIN_FILE, RSOCKET_PLUGIN_SYMBOL,
                                 sizeof(struct rsocket_calls), why, why_size);
    const struct rsocket_calls *calls = loaded;
    pthread_mutex_unlock(&lock);
    return calls;
}

void rsocket_calls_set(const struct rsocket_calls *calls)
{
    pthread_mutex_lock(&lock);
    loaded = calls;
    pthread_mutex_unlock(&lock);
}

bool net_rsocket_is_here(char *why, size_t why_size)
{
    return rsocket_calls_load(why, why_size) && net_plugin_path(RSOCKET_PLUGIN_FILE, why, why_size);
}
