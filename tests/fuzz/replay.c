/* Run a fuzz target, without its fuzzer, over what it starts from, over its corpus (what was found
 * once or reaches far) and over changes of both that are the same every time. */
#include <config.h>

#include "fuzz.h"

#include "../tap.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHANGES 24 /* of each input */

static tc_buffer input, changed;

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525 + 1013904223;
    return below == 0 ? 0 : (uint32_t)(((uint64_t)*state * below) >> 32);
}

/* Change a byte, a word or the length; a few times. */
static void change(uint32_t seed)
{
    static const uint8_t edges[] = { 0, 1, 0x7f, 0x80, 0xd9, 0xda, 0xfe, 0xff };
    uint32_t state = seed * 2654435761u + 1, times = 1 + draw(&state, 4);

    for (uint32_t t = 0; t < times && changed.bytes > 0; t++) {
        /* The head decides most: half of the changes are made there. */
        size_t within = draw(&state, 2) == 0 && changed.bytes > 256 ? 256 : changed.bytes;
        size_t at = draw(&state, (uint32_t)within);
        switch (draw(&state, 4)) {
        case 0: changed.data[at] ^= (uint8_t)(1u << draw(&state, 8)); break;
        case 1: changed.data[at] = edges[draw(&state, sizeof edges)]; break;
        case 2: changed.data[at] = (uint8_t)draw(&state, 256); break;
        default: changed.bytes = seed % 3 == 0 ? at : changed.bytes; break;
        }
    }
}

/* Run the target; a finding ends this process, and the harness sees that. */
static void run(const char *name)
{
    LLVMFuzzerTestOneInput(input.data, input.bytes);
    for (uint32_t c = 0; c < CHANGES; c++) {
        changed.bytes = 0;
        if (tc_buffer_append(&changed, input.data, input.bytes) != TC_OK)
            exit(99);
        change(c);
        LLVMFuzzerTestOneInput(changed.data, changed.bytes);
    }
    tap_ok(true, "%s, as it is and changed %d times", name, CHANGES);
}

static bool load(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t block[4096];
    bool ok = file != NULL;

    input.bytes = 0;
    for (size_t n; ok && (n = fread(block, 1, sizeof block, file)) > 0;)
        ok = tc_buffer_append(&input, block, n) == TC_OK;
    if (file != NULL)
        fclose(file);
    return ok;
}

int main(int argc, char **argv)
{
    const char *top = getenv("top_srcdir"), *name = NULL;
    char folder[PATH_MAX], path[2 * PATH_MAX];
    struct dirent **files;

    tc_buffer_reserve(&input, 1);
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0 && chdir(argv[2]) != 0)
        return 99;
    for (int i = 0; fuzz_seed(i, &name, &input); i++, input.bytes = 0) {
        if (argc == 3) { /* for libFuzzer to start from */
            snprintf(path, sizeof path, "%s", name);
            FILE *file = fopen(path, "wb");
            if (file == NULL || fwrite(input.data, 1, input.bytes, file) != input.bytes ||
                fclose(file) != 0)
                return 99;
        } else {
            run(name);
        }
    }
    if (argc == 3)
        return 0;
    snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", top == NULL ? "." : top, fuzz_name);
    int n = scandir(folder, &files, NULL, alphasort);
    tap_ok(n > 2, "there is a corpus");
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]->d_name);
        if (files[i]->d_name[0] != '.' && load(path))
            run(files[i]->d_name);
        free(files[i]);
    }
    if (n >= 0)
        free(files);
    return tap_done();
}
