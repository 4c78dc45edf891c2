/* process.c - one mapping of a daemon's inbound ring for all loops of a process. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/err.h"
#include "internal.h"

/* Attaching is rare, so a mutex it is; nothing here is on the data path. */
enum { MAPPING_MAX = 32 };

struct mapping {
    const struct attach_inbound_map *map;
    uint64_t bytes;
    dev_t device;
    ino_t inode;
    unsigned references;
};

struct attach_process {
    pthread_mutex_t mutex;
    struct mapping mappings[MAPPING_MAX];
};

int attach_process_create(struct attach_process **out)
{
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return MD_ERR_NOMEM;
    pthread_mutex_init(&(*out)->mutex, NULL);
    return 0;
}

void attach_process_destroy(struct attach_process *process)
{
    if (!process)
        return;
    pthread_mutex_destroy(&process->mutex);
    free(process);
}

static int map_checked(int fd, uint64_t bytes, const struct attach_inbound_map **out)
{
    *out = NULL;
    if (bytes < sizeof(struct attach_inbound_map))
        return MD_ERR_MALFORMED;
    void *memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (memory == MAP_FAILED)
        return MD_ERR_SYS;
    const struct attach_inbound_map *map = memory;
    if (map->magic != ATTACH_INBOUND_MAGIC || map->version != ATTACH_SHM_VERSION ||
        map->data_offset != sizeof(*map) || map->size == 0 || (map->size & (map->size - 1)) != 0 ||
        sizeof(*map) + map->size != bytes) {
        munmap(memory, bytes);
        return MD_ERR_MALFORMED;
    }
    *out = map;
    return 0;
}

static struct mapping *find(struct attach_process *process, const struct stat *status)
{
    for (int i = 0; i < MAPPING_MAX; i++) {
        struct mapping *m = &process->mappings[i];

        if (m->references && m->device == status->st_dev && m->inode == status->st_ino)
            return m;
    }
    return NULL;
}

static struct mapping *find_free(struct attach_process *process)
{
    for (int i = 0; i < MAPPING_MAX; i++)
        if (!process->mappings[i].references)
            return &process->mappings[i];
    return NULL;
}

int process_map(struct attach_process *process, int fd, uint64_t bytes,
                const struct attach_inbound_map **out)
{
    struct stat status;

    *out = NULL;
    if (fstat(fd, &status) != 0)
        return MD_ERR_SYS;
    if (status.st_size < 0 || (uint64_t)status.st_size != bytes)
        return MD_ERR_MALFORMED;
    if (!process)
        return map_checked(fd, bytes, out);
    pthread_mutex_lock(&process->mutex);
    struct mapping *mapping = find(process, &status);
    int err = 0;
    if (!mapping) {
        mapping = find_free(process);
        err = mapping ? map_checked(fd, bytes, &mapping->map) : MD_ERR_FULL;
        if (!err) {
            mapping->bytes = bytes;
            mapping->device = status.st_dev;
            mapping->inode = status.st_ino;
        }
    }
    if (!err) {
        mapping->references++;
        *out = mapping->map;
    }
    pthread_mutex_unlock(&process->mutex);
    return err;
}

static void unmap(const struct attach_inbound_map *map, uint64_t bytes)
{
    munmap((void *)(uintptr_t)map, bytes);
}

void process_unmap(struct attach_process *process, const struct attach_inbound_map *map,
                   uint64_t bytes)
{
    if (!process) {
        unmap(map, bytes);
        return;
    }
    pthread_mutex_lock(&process->mutex);
    for (int i = 0; i < MAPPING_MAX; i++) {
        struct mapping *m = &process->mappings[i];

        if (m->references && m->map == map && --m->references == 0)
            unmap(m->map, m->bytes);
    }
    pthread_mutex_unlock(&process->mutex);
}
