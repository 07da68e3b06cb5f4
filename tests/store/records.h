#ifndef TC_TESTS_STORE_RECORDS_H
#define TC_TESTS_STORE_RECORDS_H
/* Records whose every byte follows from their number: the store does not look into pictures. */
#include "base/rng.h"
#include "set.h"

#include <stdbool.h>

/* From one byte to several slots, and exactly one or two slots now and then. */
static inline uint64_t record_bytes(uint64_t id)
{
    tc_rng rng = tc_rng_make(11, TC_STREAM_TEST, id, 0);

    if (id % 10 == 3)
        return 2048;
    if (id % 10 == 7)
        return 4096;
    return 1 + (uint64_t)tc_rng_below(&rng, id % 2 ? 300 : 9000);
}

static inline void record_fill(uint64_t id, tc_buffer *data)
{
    tc_rng rng = tc_rng_make(12, TC_STREAM_TEST, id, 0);

    data->bytes = 0;
    for (uint64_t i = 0, n = record_bytes(id); i < n; i++) {
        uint8_t byte = (uint8_t)tc_rng_u32(&rng);
        tc_buffer_append(data, &byte, 1);
    }
}

/* The name outlives the call until the next one, long enough for the writer to copy it. */
static inline void record_make(uint64_t id, tc_shard_entry *entry, tc_buffer *data)
{
    static char name[64];

    snprintf(name, sizeof name, "%s/%llu.jpg", id % 2 ? "odd" : "even", (unsigned long long)id);
    *entry = (tc_shard_entry){ .label = (int32_t)(id % 2),
                               .width = 10 + (uint32_t)id,
                               .height = 20 + (uint32_t)id,
                               .name = name };
    record_fill(id, data);
}
#endif
