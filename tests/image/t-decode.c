/* A crop equals the same rectangle of a whole decode, for every kind of JPEG; damage is refused. */
#include <config.h>

#include "image/image.h"

#include "../tap.h"
#include "pictures.h"
#include <string.h>

#include <jpeglib.h>

typedef enum { GRAY, RGB_420, RGB_422, RGB_440, RGB_444, PROGRESSIVE, CMYK, CMYK_ADOBE, YCCK } kind;
static const char *const kind_name[] = { "gray",        "4:2:0", "4:2:2",      "4:4:0", "4:4:4",
                                         "progressive", "CMYK",  "Adobe CMYK", "YCCK" };

/* The part of `in` that a file of this kind holds: (h,w,components). */
static void sample(kind k, const uint8_t rgb[3], uint8_t *to)
{
    int inverse = k == CMYK_ADOBE || k == YCCK;

    if (k == GRAY)
        to[0] = rgb[1];
    else if (k < CMYK)
        memcpy(to, rgb, 3);
    else { /* the ink, with some black in it */
        uint8_t black = 40;
        for (int c = 0; c < 3; c++)
            to[c] = (uint8_t)(inverse ? rgb[c] : 255 - rgb[c]);
        to[3] = (uint8_t)(inverse ? 255 - black : black);
    }
}

/* Encode by libjpeg itself: kinds that tc_jpeg_encode() does not write. */
static size_t encode(kind k, const tc_raster *in, unsigned char **out_p)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    unsigned long bytes = 0;
    int components = k == GRAY ? 1 : k < CMYK ? 3 : 4;
    uint8_t *row = malloc((size_t)in->w * 4);
    JSAMPROW rows[1] = { row };

    *out_p = NULL;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, out_p, &bytes);
    jpeg.image_width = (JDIMENSION)in->w;
    jpeg.image_height = (JDIMENSION)in->h;
    jpeg.input_components = components;
    jpeg.in_color_space = k == GRAY ? JCS_GRAYSCALE : k < CMYK ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&jpeg);
    if (k == YCCK)
        jpeg_set_colorspace(&jpeg, JCS_YCCK);
    jpeg_set_quality(&jpeg, 90, TRUE);
    if (k >= RGB_422 && k <= RGB_444) {
        jpeg.comp_info[0].h_samp_factor = k == RGB_422 ? 2 : 1;
        jpeg.comp_info[0].v_samp_factor = k == RGB_440 ? 2 : 1;
    }
    if (k == PROGRESSIVE)
        jpeg_simple_progression(&jpeg);
    jpeg.write_Adobe_marker = k == CMYK_ADOBE || k == YCCK;
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height) {
        for (int64_t x = 0; x < in->w; x++)
            sample(k, in->data + jpeg.next_scanline * in->stride + 3 * x, row + components * x);
        jpeg_write_scanlines(&jpeg, rows, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    free(row);
    return bytes;
}

/* Crop out of `data` and compare with the same rectangle of `whole`. */
static bool crop_agrees(tc_decoder *decoder, const void *data, size_t bytes, tc_rect rect,
                        const tc_raster *whole, double *sum, int *worst)
{
    tc_image_info info;
    tc_raster part;

    if (tc_decoder_open(decoder, data, bytes, &info) != TC_OK ||
        tc_decoder_crop(decoder, rect, &part) != TC_OK || part.w != rect.w || part.h != rect.h)
        return false;
    int64_t total = 0;
    for (int64_t y = 0; y < rect.h; y++)
        for (int64_t i = 0; i < 3 * rect.w; i++) {
            int d = part.data[y * part.stride + i] -
                    whole->data[(rect.y + y) * whole->stride + 3 * rect.x + i];
            total += abs(d);
            *worst = abs(d) > *worst ? abs(d) : *worst;
        }
    *sum += (double)total / (double)(3 * rect.w * rect.h);
    return true;
}

static void crops(tc_decoder *decoder, kind k)
{
    enum { ROUNDS = 300 };
    int64_t w = 157, h = 121;
    tc_raster drawn = picture_draw(w, h, 3), view, whole = picture_new(w, h);
    unsigned char *data;
    size_t bytes = encode(k, &drawn, &data);
    tc_image_info info = { 0 };
    tc_rng rng = tc_rng_make(1, TC_STREAM_TEST, (uint64_t)k, 0);
    double off = 0.0, sum = 0.0;
    int worst = 0, failed = 0;

    bool ok = tc_decoder_open(decoder, data, bytes, &info) == TC_OK &&
              tc_decoder_crop(decoder, (tc_rect){ 0, 0, w, h }, &view) == TC_OK;
    for (int64_t y = 0; ok && y < h; y++)
        memcpy(whole.data + y * whole.stride, view.data + y * view.stride, (size_t)(3 * w));
    for (int64_t i = 0; ok && i < 3 * w * h; i++) {
        int want = k == GRAY ? drawn.data[i / 3 * 3 + 1] : drawn.data[i];
        if (k >= CMYK)
            want = want * 215 / 255;
        off += abs(whole.data[i] - want) / (double)(3 * w * h);
    }
    tap_ok(ok && info.w == w && info.h == h &&
               info.components == (k == GRAY  ? 1
                                   : k < CMYK ? 3
                                              : 4) &&
               info.progressive == (k == PROGRESSIVE) && off < 12.0,
           "%s: the whole picture, %.2f levels from what was drawn", kind_name[k], off);

    for (int i = 0; ok && i < ROUNDS; i++) {
        tc_rect r = { .x = tc_rng_below(&rng, w), .y = tc_rng_below(&rng, h) };
        r.w = 1 + tc_rng_below(&rng, w - r.x);
        r.h = 1 + tc_rng_below(&rng, h - r.y);
        failed += !crop_agrees(decoder, data, bytes, r, &whole, &sum, &worst);
    }
    tap_ok(ok && failed == 0 && worst <= 2 && sum / ROUNDS < 0.02,
           "%s: %d crops, worst difference %d levels, mean %.4f", kind_name[k], ROUNDS, worst,
           sum / ROUNDS);
    free(data);
    free(drawn.data);
    free(whole.data);
}

/* Whether this is refused as TC_FORMAT with `text`; and a good picture still decodes after it. */
static void refused(tc_decoder *decoder, const char *name, const void *data, size_t bytes,
                    const char *text, const void *good, size_t good_bytes)
{
    tc_image_info info;
    tc_raster view;
    tc_status status = tc_decoder_open(decoder, data, bytes, &info);
    char detail[1024];

    if (status == TC_OK)
        status = tc_decoder_crop(decoder, (tc_rect){ 0, 0, info.w, info.h }, &view);
    snprintf(detail, sizeof detail, "%s", tc_error_detail());
    bool after = tc_decoder_open(decoder, good, good_bytes, &info) == TC_OK &&
                 tc_decoder_crop(decoder, (tc_rect){ 1, 1, 5, 5 }, &view) == TC_OK;
    tap_ok(status == TC_FORMAT && strstr(detail, text) && after, "%s is refused: %s", name,
           status == TC_FORMAT ? detail : tc_strstatus(status));
}

static void damage(void)
{
    tc_decoder *decoder = NULL;
    tc_raster drawn = picture_draw(90, 70, 5), view;
    unsigned char *good, *progressive, *bad;
    size_t bytes = encode(RGB_420, &drawn, &good);
    size_t progressive_bytes = encode(PROGRESSIVE, &drawn, &progressive);
    tc_image_info info;

    if (tc_decoder_create(0, &decoder) != TC_OK)
        return;
    refused(decoder, "nothing", "", 0, "empty", good, bytes);
    refused(decoder, "one byte", "\xff", 1, "bytes ff", good, bytes);
    refused(decoder, "a GIF", "GIF89a..........", 16, "starts with \"GIF8\"", good, bytes);
    refused(decoder, "a header alone", good, 12, "damaged", good, bytes);
    refused(decoder, "half a file", good, bytes / 2, "Premature end", good, bytes);
    refused(decoder, "half a progressive file", progressive, progressive_bytes / 2, "Premature end",
            good, bytes);
    refused(decoder, "a file without its end", good, bytes - 2, "Premature end", good, bytes);

    bad = malloc(bytes);
    memcpy(bad, good, bytes);
    memset(bad + 4, 0x5a, bytes / 3);
    refused(decoder, "an overwritten header", bad, bytes, "damaged", good, bytes);
    memcpy(bad, good, bytes);
    memset(bad + bytes / 2, 0xff, bytes / 4);
    refused(decoder, "overwritten pixels", bad, bytes, "damaged", good, bytes);
    memcpy(bad, good, bytes);
    for (size_t i = 2; i + 9 < bytes; i++) /* the frame header says 65500 x 65500 */
        if (bad[i] == 0xff && bad[i + 1] == 0xc0) {
            bad[i + 5] = bad[i + 7] = 0xff;
            bad[i + 6] = bad[i + 8] = 0xdc;
            break;
        }
    refused(decoder, "a bomb", bad, bytes, "65500 x 65500", good, bytes);

    tc_status status = tc_decoder_open(decoder, good, bytes, &info);
    tap_ok(status == TC_OK &&
               tc_decoder_crop(decoder, (tc_rect){ 80, 0, 11, 5 }, &view) == TC_INVAL &&
               tc_decoder_crop(decoder, (tc_rect){ 0, INT64_MAX, 1, 1 }, &view) == TC_INVAL &&
               tc_decoder_crop(decoder, (tc_rect){ 0, 0, 0, 1 }, &view) == TC_INVAL &&
               tc_decoder_crop(decoder, (tc_rect){ 80, 0, 10, 5 }, &view) == TC_OK,
           "a crop outside the picture is refused, and leaves it open");
    tap_ok(tc_decoder_crop(decoder, (tc_rect){ 80, 0, 10, 5 }, &view) == TC_INVAL,
           "a second crop of one open is refused");

    /* Whatever a single wrong byte does, it ends in an answer. */
    int refusals = 0;
    for (size_t i = 0; i < bytes; i++) {
        memcpy(bad, good, bytes);
        bad[i] ^= 0xff;
        if (tc_decoder_open(decoder, bad, bytes, &info) != TC_OK ||
            tc_decoder_crop(decoder, (tc_rect){ 0, 0, info.w, info.h }, &view) != TC_OK)
            refusals++;
    }
    tap_ok(refusals > 0, "each of %zu bytes inverted: %d are seen", bytes, refusals);
    tc_decoder_destroy(decoder);
    tc_decoder_destroy(NULL);
    free(bad);
    free(good);
    free(progressive);
    free(drawn.data);
}

static void round_trip(tc_decoder *decoder)
{
    for (int full = 0; full < 2; full++) {
        tc_raster drawn = picture_draw(131, 77, 9), view = { 0 };
        tc_buffer out = { 0 };
        tc_image_info info;
        double off = 0.0;

        bool ok = tc_buffer_append(&out, "abc", 3) == TC_OK &&
                  tc_jpeg_encode(&drawn, 95, full, &out) == TC_OK &&
                  memcmp(out.data, "abc\xff\xd8", 5) == 0 &&
                  memcmp(out.data + out.bytes - 2, "\xff\xd9", 2) == 0 &&
                  tc_decoder_open(decoder, out.data + 3, out.bytes - 3, &info) == TC_OK &&
                  tc_decoder_crop(decoder, (tc_rect){ 0, 0, 131, 77 }, &view) == TC_OK;
        for (int64_t i = 0; ok && i < 3 * 131 * 77; i++)
            off += abs(view.data[i] - drawn.data[i]) / (3.0 * 131 * 77);
        tap_ok(ok && !info.progressive && off < (full ? 4.0 : 8.0),
               "encode 4:%s and decode: %.2f levels off", full ? "4:4" : "2:0", off);
        size_t before = out.bytes;
        tap_ok(tc_jpeg_encode(&drawn, 0, full, &out) == TC_INVAL &&
                   tc_jpeg_encode(&drawn, 101, full, &out) == TC_INVAL && out.bytes == before,
               "quality outside 1..100 is refused and appends nothing");
        drawn.w = 70000;
        tap_ok(tc_jpeg_encode(&drawn, 90, full, &out) == TC_INVAL && out.bytes == before,
               "a side of 70000 is refused");
        tc_buffer_free(&out);
        free(drawn.data);
    }
}

int main(void)
{
    tc_decoder *decoder = NULL;

    if (!tap_ok(tc_decoder_create(0, &decoder) == TC_OK, "a decoder"))
        return tap_done();
    for (kind k = GRAY; k <= YCCK; k++)
        crops(decoder, k);
    round_trip(decoder);
    tc_decoder_destroy(decoder);
    damage();
    return tap_done();
}
