#include <config.h>

#include "base/parse.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The power of two that a suffix stands for, or -1. */
static int shift_of(const char *suffix)
{
    static const struct {
        const char *word;
        int shift;
    } known[] = {
        { "", 0 },   { "K", 10 },   { "k", 10 }, { "KiB", 10 },
        { "M", 20 }, { "MiB", 20 }, { "G", 30 }, { "GiB", 30 },
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(suffix, known[i].word) == 0)
            return known[i].shift;
    return -1;
}

tc_status tc_parse_size(const char *name, const char *text, int64_t low, int64_t high,
                        int64_t *value_p)
{
    char *end;

    errno = 0;
    long long number = strtoll(text, &end, 10);
    int shift = end == text ? -1 : shift_of(end);
    bool fits =
        errno == 0 && shift >= 0 && number <= INT64_MAX >> shift && number >= -(INT64_MAX >> shift);
    if (!fits || number * (1LL << shift) < low || number * (1LL << shift) > high)
        return tc_fail(TC_INVAL,
                       "%s: '%s' is not a whole number from %lld to %lld (K, M, G allowed)", name,
                       text, (long long)low, (long long)high);
    *value_p = number * (1LL << shift);
    return TC_OK;
}
