#include <config.h>

#include "image/jpeg_sink.h"

#include <jerror.h>

#define FIRST_BYTES 4096 /* the least room that an encoding starts with */

static void grow(j_compress_ptr jpeg)
{
    tc_jpeg_sink *sink = (tc_jpeg_sink *)jpeg->dest;
    tc_buffer *out = sink->out;

    sink->status = tc_buffer_reserve(out, out->bytes + FIRST_BYTES); /* reserve doubles */
    if (sink->status != TC_OK)
        ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, 0);
    sink->base.next_output_byte = out->data + out->bytes;
    sink->base.free_in_buffer = out->capacity - out->bytes;
}

/* libjpeg calls this when all the room is used, whatever its counters say. */
static boolean on_full(j_compress_ptr jpeg)
{
    tc_jpeg_sink *sink = (tc_jpeg_sink *)jpeg->dest;

    sink->out->bytes = sink->out->capacity;
    grow(jpeg);
    return TRUE;
}

static void on_end(j_compress_ptr jpeg)
{
    tc_jpeg_sink *sink = (tc_jpeg_sink *)jpeg->dest;

    sink->out->bytes = sink->out->capacity - sink->base.free_in_buffer;
}

void tc_jpeg_sink_init(tc_jpeg_sink *sink, struct jpeg_compress_struct *jpeg, tc_buffer *out)
{
    *sink = (tc_jpeg_sink){ .base = { .init_destination = grow,
                                      .empty_output_buffer = on_full,
                                      .term_destination = on_end },
                            .out = out };
    jpeg->dest = &sink->base;
}
