/* The PNG part of whole.h; without libpng it says so. */
#include <config.h>

#include "image/whole_impl.h"

#if HAVE_PNG

#include <png.h>
#include <string.h>

#define SMALL_READS 64
#define CHUNK_MAX   ((png_alloc_size_t)8 << 20) /* bytes of one chunk that libpng keeps */

typedef struct {
    tc_whole *whole;
    png_structp png;
    png_infop info;
    size_t at;      /* read so far */
    bool truncated; /* more was asked for than there is */
    char text[128];
    tc_raster *raster;
    volatile int64_t rows; /* there, whatever happens next */
} reading;

static void on_error(png_structp png, png_const_charp text)
{
    reading *r = png_get_error_ptr(png);

    snprintf(r->text, sizeof r->text, "%s", text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png; /* of chunks that are not used */
    (void)text;
}

static void on_read(png_structp png, png_bytep to, size_t bytes)
{
    reading *r = png_get_io_ptr(png);

    if (bytes > r->whole->bytes - r->at) {
        r->truncated = true;
        png_error(png, "the data ends early");
    }
    memcpy(to, r->whole->data + r->at, bytes);
    r->at += bytes;
}

static tc_status start(reading *r, tc_whole *whole)
{
    *r = (reading){ .whole = whole };
    r->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r, on_error, on_warning);
    if (r->png != NULL)
        r->info = png_create_info_struct(r->png);
    if (r->info != NULL)
        return TC_OK;
    png_destroy_read_struct(&r->png, NULL, NULL);
    return tc_fail(TC_NOMEM, "libpng does not start");
}

/* Read to the first pixels. */
static void read_head(reading *r)
{
    png_set_read_fn(r->png, r, on_read);
    /* Sides are judged by tc_whole_allow(), with a message of our own. */
    png_set_user_limits(r->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_malloc_max(r->png, CHUNK_MAX);
    /* Nothing beside the pixels is looked at: no profile or text is decompressed. */
    png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    if (r->whole->options.salvage) /* of a truncated file, nearly all that there is */
        png_set_compression_buffer_size(r->png, SMALL_READS);
    png_read_info(r->png, r->info);
}

static tc_status png_failed(reading *r)
{
    return tc_whole_fail(r->whole, r->truncated ? TC_FAULT_TRUNCATED : TC_FAULT_DAMAGED,
                         "%s PNG: %s", r->truncated ? "truncated" : "damaged", r->text);
}

static tc_status guarded(reading *r, void (*step)(reading *r))
{
    if (setjmp(png_jmpbuf(r->png)) != 0)
        return png_failed(r);
    step(r);
    return TC_OK;
}

tc_status tc_whole_png_open(tc_whole *whole)
{
    tc_whole_info *info = &whole->info;
    reading r;

    tc_status status = start(&r, whole);
    if (status != TC_OK)
        return status;
    status = guarded(&r, read_head);
    if (status == TC_OK) {
        int type = png_get_color_type(r.png, r.info);
        info->w = png_get_image_width(r.png, r.info);
        info->h = png_get_image_height(r.png, r.info);
        info->bits = png_get_bit_depth(r.png, r.info);
        info->components = png_get_channels(r.png, r.info);
        info->palette = type == PNG_COLOR_TYPE_PALETTE;
        info->gray = (type & PNG_COLOR_MASK_COLOR) == 0;
        info->alpha = (type & PNG_COLOR_MASK_ALPHA) != 0;
        info->interlaced = png_get_interlace_type(r.png, r.info) != PNG_INTERLACE_NONE;
        /* libpng's rows: the one at hand and the one before, of 4 samples of 16 bits at most. */
        status = tc_whole_allow(whole, info->w, info->h, info->w * 16 + info->h * 8);
    }
    png_destroy_read_struct(&r.png, &r.info, NULL);
    return status;
}

static void read_pixels(reading *r)
{
    png_structp png = r->png;
    const tc_raster *raster = r->raster;

    if (r->whole->info.palette)
        png_set_palette_to_rgb(png);
    if (r->whole->info.gray) {
        png_set_expand_gray_1_2_4_to_8(png);
        png_set_gray_to_rgb(png);
    }
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, r->info);
    if (png_get_rowbytes(png, r->info) != (size_t)raster->stride)
        png_error(png, "its rows are not RGB");
    for (int pass = 0; pass < passes; pass++)
        for (int64_t y = 0; y < raster->h; y++) {
            png_read_row(png, raster->data + y * raster->stride, NULL);
            r->rows = pass > 0 ? raster->h : y + 1;
        }
    png_read_end(png, NULL);
    r->whole->info.used = r->at;
}

tc_status tc_whole_png_decode(tc_whole *whole, tc_raster *raster)
{
    reading r;

    tc_status status = tc_whole_make_raster(whole, raster);
    if (status == TC_OK)
        status = start(&r, whole);
    if (status != TC_OK)
        return status;
    r.raster = raster;
    status = guarded(&r, read_head);
    if (status == TC_OK)
        status = guarded(&r, read_pixels);
    png_destroy_read_struct(&r.png, &r.info, NULL);
    if (status == TC_OK || r.rows == 0 || !whole->options.salvage)
        return status;
    whole->info.salvaged = true;
    snprintf(whole->info.damage, sizeof whole->info.damage, "%s", r.text);
    return TC_OK;
}

#else

tc_status tc_whole_png_open(tc_whole *whole)
{
    return tc_whole_fail(whole, TC_FAULT_UNSUPPORTED,
                         "a PNG, which this build cannot read: configure it with libpng (Debian: "
                         "libpng-dev) or convert the file");
}

tc_status tc_whole_png_decode(tc_whole *whole, tc_raster *raster)
{
    (void)raster;
    return tc_whole_png_open(whole);
}

#endif
