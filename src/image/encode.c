#include <config.h>

#include "image/image.h"
#include "image/jpeg_error.h"

#include <jerror.h>

#define FIRST_BYTES 4096 /* the least room that an encoding starts with */

typedef struct {
    struct jpeg_compress_struct jpeg;
    struct jpeg_destination_mgr destination;
    tc_jpeg_errors errors;
    const tc_raster *in;
    int quality;
    bool chroma444;
    tc_buffer *out;
    tc_status status; /* of growing `out` */
} encoding;

static void use_room(encoding *e)
{
    e->destination.next_output_byte = e->out->data + e->out->bytes;
    e->destination.free_in_buffer = e->out->capacity - e->out->bytes;
}

static void grow(encoding *e, size_t bytes)
{
    e->status = tc_buffer_reserve(e->out, bytes);
    if (e->status != TC_OK)
        ERREXIT1(&e->jpeg, JERR_OUT_OF_MEMORY, 0);
    use_room(e);
}

static void on_start(j_compress_ptr jpeg)
{
    encoding *e = jpeg->client_data;

    grow(e, e->out->bytes + FIRST_BYTES);
}

/* libjpeg calls this when all the room is used, whatever its counters say. */
static boolean on_full(j_compress_ptr jpeg)
{
    encoding *e = jpeg->client_data;

    e->out->bytes = e->out->capacity;
    grow(e, e->out->bytes + FIRST_BYTES); /* reserve doubles */
    return TRUE;
}

static void on_end(j_compress_ptr jpeg)
{
    encoding *e = jpeg->client_data;

    e->out->bytes = e->out->capacity - e->destination.free_in_buffer;
}

/* Everything that may jump. */
static void encode(encoding *e)
{
    struct jpeg_compress_struct *jpeg = &e->jpeg;

    jpeg_create_compress(jpeg);
    jpeg->client_data = e;
    e->destination.init_destination = on_start;
    e->destination.empty_output_buffer = on_full;
    e->destination.term_destination = on_end;
    jpeg->dest = &e->destination;
    jpeg->image_width = (JDIMENSION)e->in->w;
    jpeg->image_height = (JDIMENSION)e->in->h;
    jpeg->input_components = 3;
    jpeg->in_color_space = JCS_RGB;
    jpeg_set_defaults(jpeg); /* baseline, 4:2:0, no restart markers */
    jpeg_set_quality(jpeg, e->quality, TRUE);
    jpeg->dct_method = JDCT_ISLOW;
    if (e->chroma444)
        jpeg->comp_info[0].h_samp_factor = jpeg->comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(jpeg, TRUE);
    while (jpeg->next_scanline < jpeg->image_height) {
        JSAMPROW row = e->in->data + (int64_t)jpeg->next_scanline * e->in->stride;
        jpeg_write_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_compress(jpeg);
}

static tc_status encode_guarded(encoding *e)
{
    if (setjmp(e->errors.jump) != 0) {
        if (e->status != TC_OK)
            return e->status;
        return tc_fail(e->errors.base.msg_code == JERR_OUT_OF_MEMORY ? TC_NOMEM : TC_INVAL,
                       "encoding a JPEG of %lld x %lld: %s", (long long)e->in->w,
                       (long long)e->in->h, e->errors.text);
    }
    encode(e);
    return TC_OK;
}

tc_status tc_jpeg_encode(const tc_raster *in, int quality, bool chroma444, tc_buffer *out)
{
    encoding e = { .in = in, .quality = quality, .chroma444 = chroma444, .out = out };
    size_t before = out->bytes;

    if (quality < 1 || quality > 100)
        return tc_fail(TC_INVAL, "JPEG quality %d is not in 1..100", quality);
    if (in->w < 1 || in->h < 1 || in->w > JPEG_MAX_DIMENSION || in->h > JPEG_MAX_DIMENSION)
        return tc_fail(TC_INVAL, "a JPEG cannot be %lld x %lld pixels; each side is 1..%ld",
                       (long long)in->w, (long long)in->h, (long)JPEG_MAX_DIMENSION);
    e.jpeg.err = tc_jpeg_errors_init(&e.errors);
    tc_status status = encode_guarded(&e);
    jpeg_destroy_compress(&e.jpeg); /* harmless where the creation failed */
    if (status != TC_OK)
        out->bytes = before;
    return status;
}
