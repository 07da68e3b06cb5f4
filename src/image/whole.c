#include <config.h>

#include "image/whole.h"

#include "image/exif.h"
#include "image/whole_impl.h"

#include <stdarg.h>
#include <string.h>

#define MEBI         ((int64_t)1 << 20)
#define FIRST_BLOCKS 40 /* the largest MCU and what fancy upsampling spreads of it */
#define KEEP_BUFFERS ((size_t)64 << 20) /* what a larger picture took is given back */

const char *tc_fault_word(tc_fault fault)
{
    static const char *const words[] = {
#define X(name, word) word,
        TC_FAULT_TABLE(X)
#undef X
    };
    return words[fault];
}

tc_status tc_whole_create(const tc_whole_options *options, tc_whole **whole_p)
{
    tc_whole *whole = NULL;

    tc_status status = tc_alloc(1, sizeof *whole, "picture decoder", &whole);
    if (status != TC_OK)
        return status;
    whole->options = *options;
    if (whole->options.max_pixels <= 0)
        whole->options.max_pixels = TC_WHOLE_PIXELS;
    if (whole->options.max_memory <= 0)
        whole->options.max_memory = TC_WHOLE_MEMORY;
    status = tc_whole_jpeg_start(whole);
    if (status != TC_OK) {
        tc_free(whole);
        return status;
    }
    *whole_p = whole;
    return TC_OK;
}

void tc_whole_destroy(tc_whole *whole)
{
    if (whole == NULL)
        return;
    tc_whole_jpeg_end(whole);
    tc_buffer_free(&whole->pixels);
    tc_buffer_free(&whole->padded);
    tc_buffer_free(&whole->row);
    tc_free(whole);
}

tc_fault tc_whole_fault(const tc_whole *whole)
{
    return whole->fault;
}

tc_status tc_whole_fail(tc_whole *whole, tc_fault fault, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    whole->fault = fault;
    return tc_fail(TC_FORMAT, "%s", text);
}

tc_status tc_whole_allow(tc_whole *whole, int64_t w, int64_t h, int64_t extra)
{
    const tc_whole_options *o = &whole->options;
    int64_t pixels, memory;

    if (__builtin_mul_overflow(w, h, &pixels) || pixels > o->max_pixels)
        return tc_whole_fail(whole, TC_FAULT_LIMIT,
                             "%s of %lld x %lld pixels, more than the %lld allowed (--max-pixels)",
                             tc_kind_name(whole->info.kind), (long long)w, (long long)h,
                             (long long)o->max_pixels);
    memory = pixels * 3 + extra; /* pixels are at most 2^60 by far */
    if (memory > o->max_memory)
        return tc_whole_fail(whole, TC_FAULT_LIMIT,
                             "%s of %lld x %lld pixels takes %lld MiB to decode, more than the "
                             "%lld allowed (--max-memory)",
                             tc_kind_name(whole->info.kind), (long long)w, (long long)h,
                             (long long)((memory + MEBI - 1) / MEBI),
                             (long long)(o->max_memory / MEBI));
    return TC_OK;
}

tc_status tc_whole_make_raster(tc_whole *whole, tc_raster *raster)
{
    int64_t w = whole->info.w, h = whole->info.h;
    size_t bytes;

    tc_status status = tc_size_mul(h, (size_t)w * 3, 0, &bytes);
    if (status == TC_OK)
        status = tc_buffer_reserve(&whole->pixels, bytes);
    if (status != TC_OK)
        return status;
    if (whole->options.salvage)
        memset(whole->pixels.data, 128, bytes);
    *raster = (tc_raster){ .data = whole->pixels.data, .w = w, .h = h, .stride = 3 * w };
    return TC_OK;
}

tc_status tc_whole_open(tc_whole *whole, const uint8_t *data, size_t bytes,
                        const tc_whole_info **info_p)
{
    tc_kind kind = tc_kind_of(data, bytes);
    tc_status status;

    if (whole->pixels.capacity > KEEP_BUFFERS)
        tc_buffer_free(&whole->pixels);
    if (whole->padded.capacity > KEEP_BUFFERS)
        tc_buffer_free(&whole->padded);
    whole->fault = TC_FAULT_NONE;
    whole->opened = false;
    whole->data = data;
    whole->bytes = bytes;
    whole->info = (tc_whole_info){ .kind = kind, .bits = 8 };
    if (kind == TC_KIND_EMPTY)
        return tc_whole_fail(whole, TC_FAULT_EMPTY, "an empty file");
    if (kind == TC_KIND_JPEG)
        status = tc_whole_jpeg_open(whole);
    else if (kind == TC_KIND_PNG)
        status = tc_whole_png_open(whole);
    else
        status =
            tc_whole_fail(whole, TC_FAULT_FOREIGN, "not a JPEG or PNG, but %s", tc_kind_name(kind));
    if (status != TC_OK)
        return status;
    whole->info.orientation = tc_exif_orientation(data, bytes);
    whole->opened = true;
    *info_p = &whole->info;
    return TC_OK;
}

/* Whether nothing is left of a damaged picture: all is of one colour, but for the first blocks,
 * which show something even where there was no data. */
static bool blank(const tc_raster *raster)
{
    const uint8_t *last = raster->data + (raster->h - 1) * raster->stride + 3 * (raster->w - 1);

    for (int64_t y = 0; y < raster->h; y++)
        for (int64_t x = y < FIRST_BLOCKS ? FIRST_BLOCKS : 0; x < raster->w; x++)
            if (memcmp(raster->data + y * raster->stride + 3 * x, last, 3) != 0)
                return false;
    return true;
}

tc_status tc_whole_decode(tc_whole *whole, tc_raster *raster_p)
{
    tc_raster raster = { 0 };

    if (!whole->opened)
        return tc_fail(TC_INVAL, "a picture is decoded once an open");
    whole->opened = false;
    whole->fault = TC_FAULT_NONE;
    whole->info.used = whole->bytes;
    tc_status status = whole->info.kind == TC_KIND_JPEG ? tc_whole_jpeg_decode(whole, &raster)
                                                        : tc_whole_png_decode(whole, &raster);
    if (status != TC_OK)
        return status;
    if (whole->info.salvaged && blank(&raster))
        return tc_whole_fail(whole, TC_FAULT_DAMAGED,
                             "damaged, and nothing of it can be seen: %.300s", tc_error_detail());
    *raster_p = raster;
    return TC_OK;
}
