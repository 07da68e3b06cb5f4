#include <config.h>

#include "image/image.h"

#include "image/jpeg_sink.h"

#include <jerror.h>

typedef struct {
    struct jpeg_compress_struct jpeg;
    tc_jpeg_sink sink;
    tc_jpeg_errors errors;
    const tc_raster *in;
    int quality;
    tc_chroma chroma;
    tc_buffer *out, row; /* row: of one shade */
} encoding;

static void write_row(encoding *e, JSAMPROW row)
{
    if (e->chroma == TC_CHROMA_NONE) {
        for (int64_t x = 0; x < e->in->w; x++)
            e->row.data[x] = row[3 * x + 1];
        row = e->row.data;
    }
    jpeg_write_scanlines(&e->jpeg, &row, 1);
}

/* Everything that may jump. */
static void encode(encoding *e)
{
    struct jpeg_compress_struct *jpeg = &e->jpeg;
    bool gray = e->chroma == TC_CHROMA_NONE;

    jpeg_create_compress(jpeg);
    tc_jpeg_sink_init(&e->sink, jpeg, e->out);
    jpeg->image_width = (JDIMENSION)e->in->w;
    jpeg->image_height = (JDIMENSION)e->in->h;
    jpeg->input_components = gray ? 1 : 3;
    jpeg->in_color_space = gray ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(jpeg); /* baseline, 4:2:0, no restart markers */
    jpeg_set_quality(jpeg, e->quality, TRUE);
    jpeg->dct_method = JDCT_ISLOW;
    if (e->chroma == TC_CHROMA_444)
        jpeg->comp_info[0].h_samp_factor = jpeg->comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(jpeg, TRUE);
    while (jpeg->next_scanline < jpeg->image_height)
        write_row(e, e->in->data + (int64_t)jpeg->next_scanline * e->in->stride);
    jpeg_finish_compress(jpeg);
}

static tc_status encode_guarded(encoding *e)
{
    if (setjmp(e->errors.jump) != 0) {
        if (e->sink.status != TC_OK)
            return e->sink.status;
        return tc_fail(e->errors.base.msg_code == JERR_OUT_OF_MEMORY ? TC_NOMEM : TC_INVAL,
                       "encoding a JPEG of %lld x %lld: %s", (long long)e->in->w,
                       (long long)e->in->h, e->errors.text);
    }
    encode(e);
    return TC_OK;
}

tc_status tc_jpeg_encode(const tc_raster *in, int quality, tc_chroma chroma, tc_buffer *out)
{
    encoding e = { .in = in, .quality = quality, .chroma = chroma, .out = out };
    size_t before = out->bytes;

    if (quality < 1 || quality > 100)
        return tc_fail(TC_INVAL, "JPEG quality %d is not in 1..100", quality);
    if (in->w < 1 || in->h < 1 || in->w > TC_JPEG_SIDE_MAX || in->h > TC_JPEG_SIDE_MAX)
        return tc_fail(TC_INVAL, "a JPEG cannot be %lld x %lld pixels; each side is 1..%d",
                       (long long)in->w, (long long)in->h, TC_JPEG_SIDE_MAX);
    tc_status status = chroma == TC_CHROMA_NONE ? tc_buffer_reserve(&e.row, (size_t)in->w) : TC_OK;
    if (status != TC_OK)
        return status;
    e.jpeg.err = tc_jpeg_errors_init(&e.errors);
    status = encode_guarded(&e);
    jpeg_destroy_compress(&e.jpeg); /* harmless where the creation failed */
    tc_buffer_free(&e.row);
    if (status != TC_OK)
        out->bytes = before;
    return status;
}
