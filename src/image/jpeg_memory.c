#include <config.h>

#include "image/jpeg_memory.h"

#include "base/mem.h"

#include <jerror.h>
#include <stdint.h>

struct tc_jpeg_piece {
    tc_jpeg_piece *next; /* the piece itself starts TC_ALIGN bytes on */
};

static size_t aligned(size_t bytes)
{
    return (bytes + TC_ALIGN - 1) / TC_ALIGN * TC_ALIGN;
}

static void *refuse(j_common_ptr jpeg)
{
    ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, 0);
    return NULL;
}

static void *take(j_common_ptr jpeg, int pool, size_t bytes)
{
    tc_jpeg_memory *memory = jpeg->client_data;
    tc_jpeg_piece *piece;

    (void)pool; /* all live until the next picture */
    if (bytes > SIZE_MAX / 4)
        return refuse(jpeg);
    bytes = aligned(bytes);
    memory->asked += bytes;
    if (bytes <= memory->size - memory->used) {
        memory->used += bytes;
        return memory->block + memory->used - bytes;
    }
    if (tc_alloc((int64_t)(TC_ALIGN + bytes), 1, "a piece of libjpeg's memory", &piece) != TC_OK)
        return refuse(jpeg);
    piece->next = memory->spilt;
    memory->spilt = piece;
    return (unsigned char *)piece + TC_ALIGN;
}

/* Rows of `bytes` each; SIMD may read and write on to the end of an aligned row. */
static void *take_rows(j_common_ptr jpeg, int pool, size_t bytes, JDIMENSION count)
{
    size_t stride = aligned(bytes);
    unsigned char **row;

    if (count > 0 && stride > SIZE_MAX / 4 / count)
        return refuse(jpeg);
    row = take(jpeg, pool, count * sizeof *row);
    unsigned char *data = take(jpeg, pool, count * stride);
    for (JDIMENSION i = 0; i < count; i++)
        row[i] = data + i * stride;
    return row;
}

static JSAMPARRAY take_samples(j_common_ptr jpeg, int pool, JDIMENSION width, JDIMENSION rows)
{
    return take_rows(jpeg, pool, (size_t)width * sizeof(JSAMPLE), rows);
}

static JBLOCKARRAY take_blocks(j_common_ptr jpeg, int pool, JDIMENSION width, JDIMENSION rows)
{
    return take_rows(jpeg, pool, (size_t)width * sizeof(JBLOCK), rows);
}

void tc_jpeg_memory_lend(tc_jpeg_memory *memory, struct jpeg_decompress_struct *jpeg)
{
    jpeg->client_data = memory;
    jpeg->mem->alloc_small = take;
    jpeg->mem->alloc_large = take;
    jpeg->mem->alloc_sarray = take_samples;
    jpeg->mem->alloc_barray = take_blocks;
}

static void free_spilt(tc_jpeg_memory *memory)
{
    while (memory->spilt != NULL) {
        tc_jpeg_piece *next = memory->spilt->next;
        tc_free(memory->spilt);
        memory->spilt = next;
    }
}

void tc_jpeg_memory_restart(tc_jpeg_memory *memory, struct jpeg_decompress_struct *jpeg)
{
    jpeg_abort_decompress(jpeg);
    jpeg->src = NULL;
    for (int i = 0; i < NUM_QUANT_TBLS; i++)
        jpeg->quant_tbl_ptrs[i] = NULL;
    for (int i = 0; i < NUM_HUFF_TBLS; i++)
        jpeg->dc_huff_tbl_ptrs[i] = jpeg->ac_huff_tbl_ptrs[i] = NULL;
    if (memory->spilt != NULL) { /* a block for all of it, and half as much again */
        unsigned char *block;
        size_t size = memory->asked + memory->asked / 2;
        free_spilt(memory);
        if (tc_alloc((int64_t)size, 1, "libjpeg's memory", &block) == TC_OK) {
            tc_free(memory->block);
            memory->block = block;
            memory->size = size;
        }
    }
    memory->used = memory->asked = 0;
}

void tc_jpeg_memory_free(tc_jpeg_memory *memory)
{
    free_spilt(memory);
    tc_free(memory->block);
    *memory = (tc_jpeg_memory){ 0 };
}
