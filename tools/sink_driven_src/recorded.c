/* recorded.c - see recorded.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "recorded.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "conf/options.h"

#define ARGUMENTS_MAX 32
#define PATH_MAX_HERE 4096

bool recorded_is(const char *file)
{
    char magic[4] = { 0 };
    FILE *in = fopen(file, "re");

    if (!in)
        return false; /* whoever opens it next says why */
    bool is_recording = fread(magic, 1, sizeof(magic), in) == sizeof(magic) &&
                        memcmp(magic, "RREC", sizeof(magic)) == 0;
    (void)fclose(in);
    return is_recording;
}

/* rmdsrec in the folder of this program; else wherever PATH has it. */
static void find(char *out, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", out, size - 1);
    char *slash;

    out[length > 0 ? length : 0] = 0;
    slash = strrchr(out, '/');
    if (slash && (size_t)(slash - out) + sizeof("/rmdsrec") <= size)
        memcpy(slash + 1, "rmdsrec", sizeof("rmdsrec"));
    if (!slash || access(out, X_OK) != 0)
        memcpy(out, "rmdsrec", sizeof("rmdsrec"));
}

int recorded_play(const struct recorded *recorded)
{
    const struct {
        const char *option, *value;
    } options[] = {
        { "-N", recorded->port },         { "-L", recorded->address },
        { "-as", recorded->service },     { "-id", recorded->id },
        { "-dict", recorded->dict },      { "-ct", recorded->wire },
        { "-tlsCaFile", recorded->ca },   { "-tlsCertFile", recorded->certificate },
        { "-tlsKeyFile", recorded->key },
    };
    const char *arguments[ARGUMENTS_MAX] = { "rmdsrec", "replay", recorded->file };
    char path[PATH_MAX_HERE];
    size_t count = 3;

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (!options[i].value)
            continue;
        arguments[count++] = options[i].option;
        arguments[count++] = options[i].value;
    }
    if (recorded->loops)
        arguments[count++] = "-loop";
    if (recorded->takes_input)
        arguments[count++] = "-c";
    find(path, sizeof(path));
    (void)execvp(path, (char *const *)(const void *)arguments);
    fprintf(stderr, "sink_driven_src: cannot start %s, which plays %s: %s\n", path, recorded->file,
            strerror(errno));
    return MD_EXIT_FILE;
}
