#include <config.h>

#include "data-prep/commands.h"

#include "base/mem.h"
#include "shard/dataset.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BINS     10
#define BAR      40 /* columns of the longest bar */
#define LIST_MAX 20 /* classes listed one by one */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Pictures a class: smallest, median, largest, and how many classes have about how many. */
static tc_status print_counts(const tc_dataset *d)
{
    uint64_t *counts = NULL, bins[BINS] = { 0 }, most = 1;
    int64_t n = d->n_classes;

    tc_status status = tc_alloc(n, sizeof *counts, "counts", &counts);
    if (status != TC_OK)
        return status;
    for (int64_t c = 0; c < n; c++)
        counts[c] = d->classes[c].count;
    qsort(counts, (size_t)n, sizeof *counts, by_value);
    uint64_t low = counts[0], high = counts[n - 1], width = (high - low) / BINS + 1;
    printf("  a class      : %" PRIu64 " to %" PRIu64 " records, median %" PRIu64 "\n", low, high,
           counts[n / 2]);
    for (int64_t c = 0; c < n; c++) {
        uint64_t *bin = &bins[(counts[c] - low) / width];
        if (++*bin > most)
            most = *bin;
    }
    tc_free(counts);
    for (uint64_t b = 0; b < BINS && low + b * width <= high; b++) {
        uint64_t last = low + (b + 1) * width - 1 < high ? low + (b + 1) * width - 1 : high;
        printf("  %8" PRIu64 " to %8" PRIu64 " records: %6" PRIu64 " classes %.*s\n",
               low + b * width, last, bins[b], (int)((bins[b] * BAR + most - 1) / most),
               "########################################");
    }
    return TC_OK;
}

static tc_status print_split(const tc_dataset *d)
{
    printf("%s\n", d->path);
    printf("  records      : %" PRIu64 " in %u shards\n", d->records, d->n_shards);
    printf("  bytes        : %" PRIu64 ", mean %.0f, largest %" PRIu64 "\n", d->bytes,
           (double)d->bytes / (double)d->records, d->max_bytes);
    printf("  sides        : %u to %u pixels\n", d->min_side, d->max_side);
    printf("  encoding     : %s\n", d->encoding);
    printf("  seed         : %" PRIu64 "\n", d->seed);
    printf("  identity     : %016" PRIx64 "\n", d->identity);
    printf("  classes      : %" PRId64 ", hash %016" PRIx64 "\n", d->n_classes, d->class_hash);
    for (int64_t c = 0; c < d->n_classes && d->n_classes <= LIST_MAX; c++)
        printf("  %12" PRId64 " : %8" PRIu64 " %s%s%s\n", c, d->classes[c].count,
               d->classes[c].name, d->classes[c].words[0] != '\0' ? ", " : "", d->classes[c].words);
    return print_counts(d);
}

tc_status tc_pack_info(const char *dir)
{
    static const char *const splits[] = { "train", "val" };
    tc_status status = TC_OK;
    int found = 0;

    for (int i = 0; status == TC_OK && i < 2; i++) {
        char path[4096];
        tc_dataset *d = NULL;
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", dir, splits[i]);
        if (stat(path, &st) != 0 && (i == 0 || found > 0))
            continue; /* the last one must be there if the first is not: its text says what is not
                       */
        status = tc_dataset_read(dir, splits[i], &d);
        if (status == TC_OK)
            status = print_split(d);
        tc_dataset_free(d);
        found++;
    }
    return status;
}
