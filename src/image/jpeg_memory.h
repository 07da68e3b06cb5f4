#ifndef TC_IMAGE_JPEG_MEMORY_H
#define TC_IMAGE_JPEG_MEMORY_H
/**
 * @file jpeg_memory.h
 * Memory for libjpeg that is kept from picture to picture.  Private to image/.
 *
 * libjpeg takes and gives back some fifty pieces a picture; here they are cut from one block, which
 * grows to what the largest picture so far took.  Whole pictures of coefficients (progressive
 * files) stay with libjpeg's own manager, which gives them back after the picture.
 *
 * Flow:  jpeg_create_decompress() -> tc_jpeg_memory_lend() -> { tc_jpeg_memory_restart() ->
 *        jpeg_mem_src(), jpeg_read_header() … } … -> jpeg_destroy_decompress() ->
 *        tc_jpeg_memory_free()
 */
#include <stddef.h>
#include <stdio.h> /* jpeglib.h needs FILE */

#include <jpeglib.h>

typedef struct tc_jpeg_piece tc_jpeg_piece;

/** Zero-initialise; belongs to one structure of libjpeg. */
typedef struct {
    unsigned char *block;
    size_t size, used;
    size_t asked;         /* bytes of all pieces since the restart */
    tc_jpeg_piece *spilt; /* pieces that the block had no room for */
} tc_jpeg_memory;

/** Make @p jpeg take its memory from @p memory, which client_data then points to. */
void tc_jpeg_memory_lend(tc_jpeg_memory *memory, struct jpeg_decompress_struct *jpeg);

/** Forget everything of the last picture, tables and source included: as a new structure. */
void tc_jpeg_memory_restart(tc_jpeg_memory *memory, struct jpeg_decompress_struct *jpeg);

void tc_jpeg_memory_free(tc_jpeg_memory *memory);

#endif
