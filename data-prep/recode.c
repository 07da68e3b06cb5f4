#include <config.h>

#include "data-prep/recode.h"

#include "image/exif.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define KEEP_BUFFERS ((size_t)64 << 20) /* what a larger picture took is given back */

struct tc_recoder {
    tc_recode_options options;
    tc_whole *whole;
    tc_resizer *resizer;
    tc_buffer small, turned; /* pixels of the resized and of the turned picture */
};

const char *tc_outcome_word(tc_outcome outcome)
{
    static const char *const words[] = {
#define X(name, word) word,
        TC_OUTCOME_TABLE(X)
#undef X
    };
    return words[outcome];
}

const char *tc_note_word(tc_note note)
{
    static const char *const words[] = {
#define X(name, word) word,
        TC_NOTE_TABLE(X)
#undef X
    };
    return words[note];
}

tc_status tc_recoder_create(const tc_recode_options *options, tc_recoder **recoder_p)
{
    tc_recoder *recoder = NULL;

    tc_status status = tc_alloc(1, sizeof *recoder, "recoder", &recoder);
    if (status != TC_OK)
        return status;
    recoder->options = *options;
    status = tc_whole_create(&options->limits, &recoder->whole);
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
    tc_whole_destroy(recoder->whole);
    tc_resizer_destroy(recoder->resizer);
    tc_buffer_free(&recoder->small);
    tc_buffer_free(&recoder->turned);
    tc_free(recoder);
}

/* Add a note, with more to say where `fmt` is not NULL. */
TC_PRINTF(3, 4)
static void note(tc_recoded *result, tc_note which, const char *fmt, ...)
{
    size_t length = strlen(result->detail);
    va_list ap;

    result->notes |= 1u << which;
    if (fmt == NULL)
        return;
    if (length > 0)
        length += (size_t)snprintf(result->detail + length, sizeof result->detail - length, "; ");
    if (length >= sizeof result->detail)
        return;
    va_start(ap, fmt);
    vsnprintf(result->detail + length, sizeof result->detail - length, fmt, ap);
    va_end(ap);
}

/* What a PNG or JPEG is beside the usual. */
static void describe(const tc_recoder *recoder, const tc_whole_info *info, const tc_buffer *in,
                     tc_recoded *result)
{
    bool jpeg = info->kind == TC_KIND_JPEG;

    if (!jpeg)
        note(result, TC_NOTE_PNG, "%d bits%s%s%s", info->bits, info->palette ? ", palette" : "",
             info->alpha ? ", alpha" : "", info->interlaced ? ", interlaced" : "");
    if (info->gray)
        note(result, TC_NOTE_GRAY, NULL);
    if (jpeg && info->components == 4)
        note(result, TC_NOTE_CMYK, "%s%s", info->ycck ? "YCCK" : "CMYK",
             info->adobe ? ", inverted" : "");
    if (info->progressive)
        note(result, TC_NOTE_PROGRESSIVE, NULL);
    if (info->arithmetic)
        note(result, TC_NOTE_ARITHMETIC, NULL);
    if (info->scans)
        note(result, TC_NOTE_SCANS, NULL);
    if (info->restart)
        note(result, TC_NOTE_RESTART, NULL);
    if (info->sampling[0] != '\0' && strcmp(info->sampling, "4:2:0") != 0 &&
        strcmp(info->sampling, "4:2:2") != 0 && strcmp(info->sampling, "4:4:4") != 0)
        note(result, TC_NOTE_SAMPLING, "%s", info->sampling);
    if (info->orientation > 1)
        note(result, recoder->options.turn ? TC_NOTE_TURNED : TC_NOTE_ORIENTATION, "orientation %d",
             info->orientation);
    if (info->unended)
        note(result, TC_NOTE_UNENDED, NULL);
    if (info->used < in->bytes && !info->salvaged)
        note(result, TC_NOTE_TRAILING, "%zu bytes behind its end", in->bytes - info->used);
    if (info->salvaged)
        note(result, TC_NOTE_SALVAGED, "%s", info->damage);
}

/* Memory for a raster. */
static tc_status make_room(tc_buffer *buffer, tc_raster *raster)
{
    size_t bytes = 0;

    raster->stride = 3 * raster->w;
    tc_status status = tc_size_mul(raster->h, (size_t)raster->stride, 0, &bytes);
    if (status == TC_OK && buffer->capacity > KEEP_BUFFERS)
        tc_buffer_free(buffer);
    if (status == TC_OK)
        status = tc_buffer_reserve(buffer, bytes);
    raster->data = buffer->data;
    return status;
}

/* The sides of a picture in the shard, before it is turned. */
static void new_sides(const tc_recoder *recoder, const tc_whole_info *info, int64_t *w_p,
                      int64_t *h_p)
{
    int64_t shorter = info->w < info->h ? info->w : info->h, s = recoder->options.shorter;

    *w_p = info->w;
    *h_p = info->h;
    if (shorter > s && !recoder->options.keep) {
        *w_p = (info->w * s + shorter / 2) / shorter;
        *h_p = (info->h * s + shorter / 2) / shorter;
    }
}

/* Resize, turn and encode the decoded picture. */
static tc_status encode(tc_recoder *recoder, const tc_whole_info *info, const tc_raster *whole,
                        tc_buffer *out, tc_recoded *result)
{
    tc_raster raster = *whole;
    tc_status status = TC_OK;

    new_sides(recoder, info, &raster.w, &raster.h);
    if (raster.w != whole->w || raster.h != whole->h) {
        status = make_room(&recoder->small, &raster);
        if (status == TC_OK)
            status = tc_resize(recoder->resizer, whole, &raster, false);
    }
    if (status == TC_OK && recoder->options.turn && info->orientation > 1) {
        bool swap = tc_exif_swaps(info->orientation);
        tc_raster upright = { .w = swap ? raster.h : raster.w, .h = swap ? raster.w : raster.h };
        status = make_room(&recoder->turned, &upright);
        if (status == TC_OK)
            tc_exif_turn(&raster, info->orientation, &upright);
        raster = upright;
    }
    if (status != TC_OK)
        return status;
    result->w = (uint32_t)raster.w;
    result->h = (uint32_t)raster.h;
    result->outcome = TC_OUTCOME_ENCODED;
    return tc_jpeg_encode(&raster, recoder->options.quality,
                          info->gray ? TC_CHROMA_NONE : TC_CHROMA_420, out);
}

/* Give the source's bytes as they are, or with the end marker that they lack. */
static tc_status take_over(const tc_recoder *recoder, const tc_whole_info *info,
                           const tc_buffer *in, tc_buffer *out)
{
    bool cut = info->used < in->bytes && !recoder->options.keep;

    if (!info->unended && !cut)
        return TC_OK; /* `out` stays empty */
    tc_status status = tc_buffer_append(out, in->data, info->used);
    return status == TC_OK && info->unended ? tc_buffer_append(out, "\xff\xd9", 2) : status;
}

/* Without loss, where that is possible; *done_p tells. */
static tc_status take_lossless(tc_recoder *recoder, const tc_whole_info *info, const tc_buffer *in,
                               tc_buffer *out, tc_recoded *result, bool *done_p)
{
    int64_t w, h;

    *done_p = false;
    new_sides(recoder, info, &w, &h);
    if (info->kind != TC_KIND_JPEG || info->salvaged || w != info->w || h != info->h ||
        (recoder->options.turn && info->orientation > 1))
        return TC_OK;
    result->w = (uint32_t)w;
    result->h = (uint32_t)h;
    *done_p = true;
    if (recoder->options.keep ||
        (info->components != 4 && !info->scans && tc_jpeg_is_plain(in->data, info->used)))
        return take_over(recoder, info, in, out);
    tc_status status = TC_FORMAT;
    if (info->components != 4)
        status = tc_whole_transcode(recoder->whole, out);
    if (status == TC_OK && tc_jpeg_is_plain(out->data, out->bytes)) {
        result->outcome = TC_OUTCOME_TRANSCODED;
        if (!info->progressive && !info->arithmetic && !info->scans && !info->restart)
            note(result, TC_NOTE_CODING, NULL);
        return TC_OK;
    }
    out->bytes = 0; /* encode its pixels instead */
    *done_p = false;
    return status == TC_FORMAT ? TC_OK : status;
}

static tc_status recode(tc_recoder *recoder, const tc_buffer *in, tc_buffer *out,
                        tc_recoded *result)
{
    const tc_whole_info *info;
    tc_raster whole;
    int64_t w, h;
    bool done = false;

    tc_status status = tc_whole_open(recoder->whole, in->data, in->bytes, &info);
    if (status != TC_OK)
        return status;
    new_sides(recoder, info, &w, &h);
    if (w > TC_JPEG_SIDE_MAX || h > TC_JPEG_SIDE_MAX) {
        result->fault = TC_FAULT_LIMIT;
        return tc_fail(TC_FORMAT,
                       "%s of %lld x %lld pixels would be %lld x %lld; a JPEG has at "
                       "most %d a side",
                       tc_kind_name(info->kind), (long long)info->w, (long long)info->h,
                       (long long)w, (long long)h, TC_JPEG_SIDE_MAX);
    }
    status = tc_whole_decode(recoder->whole, &whole);
    if (status != TC_OK)
        return status;
    describe(recoder, info, in, result);
    status = take_lossless(recoder, info, in, out, result, &done);
    return status == TC_OK && !done ? encode(recoder, info, &whole, out, result) : status;
}

tc_status tc_recode(tc_recoder *recoder, const tc_buffer *in, tc_buffer *out, tc_recoded *result)
{
    out->bytes = 0;
    *result = (tc_recoded){ .outcome = TC_OUTCOME_KEPT };
    tc_status status = recode(recoder, in, out, result);
    if (status == TC_FORMAT && result->fault == TC_FAULT_NONE)
        result->fault = tc_whole_fault(recoder->whole);
    return status;
}
