#ifndef TC_TESTS_FUZZ_FUZZ_H
#define TC_TESTS_FUZZ_FUZZ_H
/* What a fuzz target gives: built by clang with libFuzzer (make fuzz), it searches; linked with
 * replay.c by the compiler at hand, it runs over its corpus in make check. */
#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libFuzzer's: 0 always; a finding ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* The target's folder in corpus/. */
extern const char fuzz_name[];

/* First input i, made on the spot; false: there is no such. */
bool fuzz_seed(int i, const char **name_p, tc_buffer *out);

/* A promise that has to hold for every input. */
#define FUZZ_HOLDS(condition, ...)                                                  \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: broken: %s: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__);                                           \
            fputc('\n', stderr);                                                    \
            abort();                                                                \
        }                                                                           \
    } while (0)

#endif
