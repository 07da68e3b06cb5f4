#include <config.h>

#include "image/image.h"

#include "image/cmyk.h"
#include "image/jpeg_error.h"
#include "image/jpeg_memory.h"

#include <ctype.h>
#include <string.h>

#define MAX_SCANS   1000 /* about ten are usual; each costs a pass over the picture */
#define MARGIN      2    /* columns beside the crop that fancy upsampling looks at */
#define ROWS_A_CALL 16

struct tc_decoder {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_progress_mgr progress;
    tc_jpeg_errors errors;
    tc_jpeg_memory memory;
    bool created; /* jpeg needs its destroy */
    bool opened;  /* headers are parsed, nothing is decoded yet */
    int64_t max_pixels;
    const uint8_t *data; /* borrowed */
    size_t bytes;
    tc_buffer pixels;
    /* The crop at hand. */
    tc_rect rect;
    int64_t left, width, stride; /* first column and columns that libjpeg decodes; bytes a row */
};

/* Run one step; libjpeg's errors jump back to here, past frames that own nothing. */
static tc_status guarded(tc_decoder *decoder, void (*step)(tc_decoder *decoder))
{
    if (setjmp(decoder->errors.jump) != 0) {
        if (decoder->created)
            jpeg_abort_decompress(&decoder->jpeg);
        decoder->opened = false;
        return tc_fail(TC_FORMAT, "damaged JPEG: %s", decoder->errors.text);
    }
    step(decoder);
    return TC_OK;
}

static void limit_scans(j_common_ptr jpeg)
{
    tc_jpeg_errors *errors = (tc_jpeg_errors *)jpeg->err;

    if (((j_decompress_ptr)jpeg)->input_scan_number > MAX_SCANS) {
        snprintf(errors->text, sizeof errors->text, "more than %d scans", MAX_SCANS);
        longjmp(errors->jump, 1);
    }
}

static void create_step(tc_decoder *decoder)
{
    jpeg_create_decompress(&decoder->jpeg);
    decoder->created = true;
    decoder->jpeg.progress = &decoder->progress;
    tc_jpeg_memory_lend(&decoder->memory, &decoder->jpeg);
}

tc_status tc_decoder_create(int64_t max_pixels, tc_decoder **decoder_p)
{
    tc_decoder *decoder;
    tc_status status = tc_alloc(1, sizeof *decoder, "JPEG decoder", &decoder);

    if (status != TC_OK)
        return status;
    decoder->max_pixels = max_pixels > 0 ? max_pixels : TC_DECODER_PIXELS;
    decoder->jpeg.err = tc_jpeg_errors_init(&decoder->errors);
    decoder->progress.progress_monitor = limit_scans;
    status = guarded(decoder, create_step);
    if (status != TC_OK) {
        tc_free(decoder);
        return tc_fail(TC_NOMEM, "libjpeg does not start: %s", tc_error_detail());
    }
    *decoder_p = decoder;
    return TC_OK;
}

void tc_decoder_destroy(tc_decoder *decoder)
{
    if (decoder == NULL)
        return;
    if (decoder->created)
        jpeg_destroy_decompress(&decoder->jpeg);
    tc_jpeg_memory_free(&decoder->memory);
    tc_buffer_free(&decoder->pixels);
    tc_free(decoder);
}

/* "not a JPEG", with what the data starts with, since people will know a GIF8 or a <htm. */
static tc_status not_a_jpeg(const uint8_t *data, size_t bytes)
{
    char text[5] = "", hex[13] = "";
    bool printable = true;
    size_t n = bytes < 4 ? bytes : 4;

    if (bytes == 0)
        return tc_fail(TC_FORMAT, "not a JPEG: empty");
    for (size_t i = 0; i < n; i++) {
        printable = printable && isprint(data[i]);
        text[i] = (char)data[i];
        snprintf(hex + 3 * i, sizeof hex - 3 * i, "%02x ", data[i]);
    }
    hex[3 * n - 1] = '\0';
    if (printable)
        return tc_fail(TC_FORMAT, "not a JPEG: starts with \"%s\"", text);
    return tc_fail(TC_FORMAT, "not a JPEG: starts with the bytes %s", hex);
}

/* Starts anew: a structure that keeps the tables of the last picture would decode one that lacks
 * its own by them. */
static void header_step(tc_decoder *decoder)
{
    tc_jpeg_memory_restart(&decoder->memory, &decoder->jpeg);
    jpeg_mem_src(&decoder->jpeg, decoder->data, decoder->bytes);
    jpeg_read_header(&decoder->jpeg, TRUE);
}

tc_status tc_decoder_open(tc_decoder *decoder, const void *data, size_t bytes,
                          tc_image_info *info_p)
{
    const struct jpeg_decompress_struct *jpeg = &decoder->jpeg;

    decoder->opened = false;
    decoder->errors.damage = 0;
    decoder->data = data;
    decoder->bytes = bytes;
    if (bytes < 3 || memcmp(data, "\xff\xd8\xff", 3) != 0)
        return not_a_jpeg(data, bytes);
    tc_status status = guarded(decoder, header_step);
    if (status != TC_OK)
        return status;
    int64_t w = jpeg->image_width, h = jpeg->image_height;
    if (decoder->errors.damage > 0)
        return tc_fail(TC_FORMAT, "damaged JPEG: %s", decoder->errors.text);
    if (w * h > decoder->max_pixels)
        return tc_fail(TC_FORMAT, "a JPEG of %lld x %lld pixels, more than the %lld allowed",
                       (long long)w, (long long)h, (long long)decoder->max_pixels);
    if (jpeg->num_components != 1 && jpeg->num_components != 3 && jpeg->num_components != 4)
        return tc_fail(TC_FORMAT, "a JPEG of %d components; 1, 3 and 4 are known",
                       jpeg->num_components);
    decoder->opened = true;
    *info_p = (tc_image_info){ .w = w,
                               .h = h,
                               .components = jpeg->num_components,
                               .progressive = jpeg->progressive_mode,
                               .arithmetic = jpeg->arith_code };
    return TC_OK;
}

/* Start and narrow the columns; libjpeg widens them to whole blocks. */
static void start_step(tc_decoder *decoder)
{
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    int64_t full = jpeg->image_width, right = decoder->rect.x + decoder->rect.w + MARGIN;
    JDIMENSION left, width;

    /* libjpeg converts gray and YCbCr to RGB, and YCCK to CMYK, but not CMYK to RGB. */
    jpeg->out_color_space = jpeg->num_components == 4 ? JCS_CMYK : JCS_RGB;
    jpeg->dct_method = JDCT_ISLOW;
    jpeg->do_fancy_upsampling = TRUE;
    jpeg_start_decompress(jpeg);
    left = (JDIMENSION)(decoder->rect.x > MARGIN ? decoder->rect.x - MARGIN : 0);
    width = (JDIMENSION)(right < full ? right : full) - left;
    if (width < (JDIMENSION)full)
        jpeg_crop_scanline(jpeg, &left, &width);
    decoder->left = left;
    decoder->width = width;
}

static void read_step(tc_decoder *decoder)
{
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    JDIMENSION top = (JDIMENSION)decoder->rect.y, bottom = top + (JDIMENSION)decoder->rect.h;
    JSAMPROW rows[ROWS_A_CALL];

    if (top > 0)
        jpeg_skip_scanlines(jpeg, top);
    while (jpeg->output_scanline < bottom) {
        JDIMENSION done = jpeg->output_scanline - top, n = bottom - jpeg->output_scanline;
        if (n > ROWS_A_CALL)
            n = ROWS_A_CALL;
        for (JDIMENSION i = 0; i < n; i++)
            rows[i] = decoder->pixels.data + (int64_t)(done + i) * decoder->stride;
        jpeg_read_scanlines(jpeg, rows, n);
    }
    /* To the end of the file where the crop reaches it (that finds a lost end); else give up. */
    if (jpeg->output_scanline == jpeg->output_height)
        jpeg_finish_decompress(jpeg);
    else
        jpeg_abort_decompress(jpeg);
}

/* Convert rows of CMYK in place. */
static void cmyk_to_rgb(const tc_decoder *decoder, bool inverted)
{
    for (int64_t y = 0; y < decoder->rect.h; y++) {
        uint8_t *row = decoder->pixels.data + y * decoder->stride;
        tc_cmyk_to_rgb(row, decoder->width, inverted, row);
    }
}

tc_status tc_decoder_crop(tc_decoder *decoder, tc_rect rect, tc_raster *raster_p)
{
    const struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    int components = jpeg->num_components == 4 ? 4 : 3;
    size_t bytes;

    if (!decoder->opened)
        return tc_fail(TC_INVAL, "a picture is decoded once an open");
    int64_t w = jpeg->image_width, h = jpeg->image_height;
    if (rect.x < 0 || rect.y < 0 || rect.w < 1 || rect.h < 1 || rect.w > w - rect.x ||
        rect.h > h - rect.y)
        return tc_fail(TC_INVAL,
                       "a crop of %lld x %lld at (%lld, %lld) leaves the %lld x %lld "
                       "picture",
                       (long long)rect.w, (long long)rect.h, (long long)rect.x, (long long)rect.y,
                       (long long)w, (long long)h);
    decoder->opened = false;
    decoder->rect = rect;
    tc_status status = guarded(decoder, start_step);
    if (status != TC_OK)
        return status;
    decoder->stride = decoder->width * components;
    status = tc_size_mul(rect.h, (size_t)decoder->stride, 0, &bytes);
    if (status == TC_OK)
        status = tc_buffer_reserve(&decoder->pixels, bytes);
    if (status != TC_OK)
        return status;
    status = guarded(decoder, read_step);
    if (status != TC_OK)
        return status;
    if (decoder->errors.damage > 0)
        return tc_fail(TC_FORMAT, "damaged JPEG: %s", decoder->errors.text);
    if (components == 4)
        cmyk_to_rgb(decoder, jpeg->saw_Adobe_marker);
    *raster_p = (tc_raster){ .data = decoder->pixels.data + 3 * (rect.x - decoder->left),
                             .w = rect.w,
                             .h = rect.h,
                             .stride = decoder->stride };
    return TC_OK;
}
