#include <config.h>

#include "data-prep/recode.h"

#include "image/image.h"

#include <string.h>

#define PIXELS_MAX ((int64_t)1 << 27) /* 134 megapixels: twice the largest of ImageNet */

struct tc_recoder {
    tc_recode_options options;
    tc_decoder *decoder;
    tc_resizer *resizer;
    tc_buffer pixels; /* of the resized picture */
};

tc_status tc_recoder_create(const tc_recode_options *options, tc_recoder **recoder_p)
{
    tc_recoder *recoder = NULL;

    tc_status status = tc_alloc(1, sizeof *recoder, "recoder", &recoder);
    if (status != TC_OK)
        return status;
    recoder->options = *options;
    status = tc_decoder_create(PIXELS_MAX, &recoder->decoder);
    if (status == TC_OK)
        status = tc_resizer_create(&recoder->resizer);
    if (status != TC_OK) {
        tc_recoder_destroy(recoder);
        return status;
    }
    *recoder_p = recoder;
    return TC_OK;
}

void tc_recoder_destroy(tc_recoder *recoder)
{
    if (recoder == NULL)
        return;
    tc_decoder_destroy(recoder->decoder);
    if (recoder->resizer != NULL)
        tc_resizer_destroy(recoder->resizer);
    tc_buffer_free(&recoder->pixels);
    tc_free(recoder);
}

bool tc_jpeg_is_plain(const uint8_t *data, size_t bytes)
{
    size_t at = 2; /* behind SOI */
    bool baseline = false, scan = false;

    while (!scan) { /* ITU T.81, annex B: marker segments up to the start of scan */
        while (at < bytes && data[at] == 0xff) /* any number of fill bytes */
            at++;
        if (at + 3 > bytes)
            return false;
        uint8_t marker = data[at];
        size_t length = (size_t)data[at + 1] << 8 | data[at + 2];
        if (marker == 0xc0)
            baseline = true;
        if (marker == 0xdd) /* DRI */
            return false;
        scan = marker == 0xda;
        at += 1 + length;
    }
    /* In the scans 0xff is followed by 0 or by a marker. */
    for (const uint8_t *p = data + (at < bytes ? at : bytes), *end = data + bytes; p + 1 < end;
         p++) {
        p = memchr(p, 0xff, (size_t)(end - p - 1));
        if (p == NULL)
            break;
        if (p[1] >= 0xd0 && p[1] <= 0xd7)
            return false;
    }
    return baseline;
}

/* Resize to the shorter side of the options and encode. */
static tc_status shrink(tc_recoder *recoder, const tc_raster *whole, tc_buffer *out, uint32_t *w_p,
                        uint32_t *h_p)
{
    int64_t shorter = whole->w < whole->h ? whole->w : whole->h, s = recoder->options.shorter;
    tc_raster small = { .w = whole->w, .h = whole->h };
    const tc_raster *result = whole;
    tc_status status = TC_OK;

    if (shorter > s) {
        size_t bytes = 0;
        small.w = (whole->w * s + shorter / 2) / shorter;
        small.h = (whole->h * s + shorter / 2) / shorter;
        small.stride = small.w * 3;
        status = tc_size_mul(small.h, (size_t)small.stride, 0, &bytes);
        if (status == TC_OK)
            status = tc_buffer_reserve(&recoder->pixels, bytes);
        small.data = recoder->pixels.data;
        if (status == TC_OK)
            status = tc_resize(recoder->resizer, whole, &small, false);
        result = &small;
    }
    *w_p = (uint32_t)small.w;
    *h_p = (uint32_t)small.h;
    if (status == TC_OK)
        status = tc_jpeg_encode(result, recoder->options.quality, false, out);
    return status;
}

tc_status tc_recode(tc_recoder *recoder, const tc_buffer *in, tc_buffer *out, uint32_t *w_p,
                    uint32_t *h_p)
{
    tc_image_info info;
    tc_raster whole;

    out->bytes = 0;
    if (in->bytes == 0)
        return tc_fail(TC_FORMAT, "an empty file");
    tc_status status = tc_decoder_open(recoder->decoder, in->data, in->bytes, &info);
    if (status == TC_OK)
        status = tc_decoder_crop(recoder->decoder, (tc_rect){ 0, 0, info.w, info.h }, &whole);
    if (status != TC_OK)
        return status;
    *w_p = (uint32_t)info.w;
    *h_p = (uint32_t)info.h;
    int64_t shorter = info.w < info.h ? info.w : info.h;
    if (recoder->options.keep || (shorter <= recoder->options.shorter && info.components != 4 &&
                                  tc_jpeg_is_plain(in->data, in->bytes)))
        return TC_OK;
    return shrink(recoder, &whole, out, w_p, h_p);
}
