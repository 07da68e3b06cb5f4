#ifndef TC_SHARD_LAYOUT_H
#define TC_SHARD_LAYOUT_H
/**
 * @file layout.h
 * Where the bytes of a shard lie, and little-endian numbers.  doc/FORMAT says the same in words.
 * Private to src/shard.
 */
#include <stdint.h>

/** Offsets inside the header. */
enum {
    TC_HEAD_MAGIC = 0,            /* 8 bytes, "TRICOLOR" */
    TC_HEAD_VERSION = 8,          /* u32 */
    TC_HEAD_SHARD = 12,           /* u32, number of this shard in its set */
    TC_HEAD_RECORDS = 16,         /* u64 */
    TC_HEAD_DATA_OFFSET = 24,     /* u64 */
    TC_HEAD_DATA_BYTES = 32,      /* u64 */
    TC_HEAD_INDEX_OFFSET = 40,    /* u64 */
    TC_HEAD_INDEX_BYTES = 48,     /* u64 */
    TC_HEAD_NAMES_OFFSET = 56,    /* u64 */
    TC_HEAD_NAMES_BYTES = 64,     /* u64 */
    TC_HEAD_FILE_BYTES = 72,      /* u64 */
    TC_HEAD_INDEX_CHECKSUM = 80,  /* u64, XXH3 of index and names together */
    TC_HEAD_RESERVED = 88,        /* zero */
    TC_HEAD_CHECKSUM = 120,       /* u64, XXH3 of the bytes before it */
    TC_HEAD_BYTES = 128
};

/** Offsets inside one entry of the index. */
enum {
    TC_ENTRY_OFFSET = 0,          /* u64, from the start of the file */
    TC_ENTRY_LENGTH = 8,          /* u64 */
    TC_ENTRY_CHECKSUM = 16,       /* u64 */
    TC_ENTRY_NAME_OFFSET = 24,    /* u64, from the start of the names */
    TC_ENTRY_NAME_LENGTH = 32,    /* u32, without the closing NUL */
    TC_ENTRY_LABEL = 36,          /* i32 */
    TC_ENTRY_WIDTH = 40,          /* u32 */
    TC_ENTRY_HEIGHT = 44,         /* u32 */
    TC_ENTRY_RESERVED = 48,       /* zero */
    TC_ENTRY_BYTES = 64
};

#define TC_INDEX_ALIGN 64 /* the index starts at a multiple of this; zeros fill the gap */

static inline void tc_put_u32(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> 8 * i);
}

static inline void tc_put_u64(uint8_t *p, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        p[i] = (uint8_t)(value >> 8 * i);
}

static inline uint32_t tc_get_u32(const uint8_t *p)
{
    uint32_t value = 0;

    for (int i = 0; i < 4; i++)
        value |= (uint32_t)p[i] << 8 * i;
    return value;
}

static inline uint64_t tc_get_u64(const uint8_t *p)
{
    return tc_get_u32(p) | (uint64_t)tc_get_u32(p + 4) << 32;
}

#endif
