/* What packing makes of every crafted picture: exactly what is stored, noted or refused, with the
 * colours and sides that it must have, and readable by the trainer's decoder. */
#include <config.h>

#include "data-prep/recode.h"

#include "image/exif.h"

#include "../image/craft.h"
#include "../tap.h"

#include <stdlib.h>
#include <string.h>

#define SHORTER 64
#define N(note) (1u << TC_NOTE_##note)

typedef struct {
    const char *name;
    tc_outcome outcome;
    uint32_t notes;
    const char *detail;
} expected;

/* Of the sound ones, with the usual options.  The others: kept, nothing to note. */
static const expected usual[] = {
    { "j440", TC_OUTCOME_KEPT, N(SAMPLING), "4:4:0" },
    { "j411", TC_OUTCOME_KEPT, N(SAMPLING), "4:1:1" },
    { "j410", TC_OUTCOME_KEPT, N(SAMPLING), "4:1:0" },
    { "j441", TC_OUTCOME_KEPT, N(SAMPLING), "4:4:1" },
    { "odd", TC_OUTCOME_KEPT, N(SAMPLING), "odd" },
    { "gray", TC_OUTCOME_KEPT, N(GRAY), "" },
    { "gray22", TC_OUTCOME_KEPT, N(GRAY), "" },
    { "cmyk", TC_OUTCOME_ENCODED, N(CMYK), "CMYK" },
    { "cmyk_adobe", TC_OUTCOME_ENCODED, N(CMYK), "CMYK, inverted" },
    { "ycck", TC_OUTCOME_ENCODED, N(CMYK), "YCCK, inverted" },
    { "progressive", TC_OUTCOME_TRANSCODED, N(PROGRESSIVE), "" },
    { "progressive_gray", TC_OUTCOME_TRANSCODED, N(PROGRESSIVE) | N(GRAY), "" },
    { "progressive_cmyk", TC_OUTCOME_ENCODED, N(PROGRESSIVE) | N(CMYK), "YCCK, inverted" },
    { "arithmetic", TC_OUTCOME_TRANSCODED, N(ARITHMETIC), "" },
    { "arithmetic_progressive", TC_OUTCOME_TRANSCODED, N(ARITHMETIC) | N(PROGRESSIVE), "" },
    { "restart", TC_OUTCOME_TRANSCODED, N(RESTART), "" },
    { "scans", TC_OUTCOME_TRANSCODED, N(SCANS), "" },
    { "large", TC_OUTCOME_ENCODED, 0, "" },
    { "large_gray", TC_OUTCOME_ENCODED, N(GRAY), "" },
    { "large_progressive", TC_OUTCOME_ENCODED, N(PROGRESSIVE), "" },
    { "large_440", TC_OUTCOME_ENCODED, N(SAMPLING), "4:4:0" },
    { "trailing", TC_OUTCOME_KEPT, N(TRAILING), "1000 bytes behind its end" },
    { "no_end", TC_OUTCOME_KEPT, N(UNENDED), "" },
    { "no_end_progressive", TC_OUTCOME_TRANSCODED, N(PROGRESSIVE) | N(UNENDED), "" },
    { "between", TC_OUTCOME_TRANSCODED, N(CODING), "" },
    { "dri_zero", TC_OUTCOME_TRANSCODED, N(CODING), "" },
    { "no_codes", TC_OUTCOME_TRANSCODED, N(CODING), "" },
    { "extended", TC_OUTCOME_TRANSCODED, N(CODING), "" },
    { "exif_6", TC_OUTCOME_KEPT, N(ORIENTATION), "orientation 6" },
    { "exif_png_3", TC_OUTCOME_ENCODED, N(PNG) | N(ORIENTATION), "8 bits; orientation 3" },
    { "png_rgb", TC_OUTCOME_ENCODED, N(PNG), "8 bits" },
    { "png_rgba", TC_OUTCOME_ENCODED, N(PNG), "8 bits, alpha" },
    { "png_gray", TC_OUTCOME_ENCODED, N(PNG) | N(GRAY), "8 bits" },
    { "png_gray1", TC_OUTCOME_ENCODED, N(PNG) | N(GRAY), "1 bits" },
    { "png_gray2", TC_OUTCOME_ENCODED, N(PNG) | N(GRAY), "2 bits" },
    { "png_gray16", TC_OUTCOME_ENCODED, N(PNG) | N(GRAY), "16 bits" },
    { "png_gray_alpha", TC_OUTCOME_ENCODED, N(PNG) | N(GRAY), "8 bits, alpha" },
    { "png_rgb16", TC_OUTCOME_ENCODED, N(PNG), "16 bits" },
    { "png_rgba16", TC_OUTCOME_ENCODED, N(PNG), "16 bits, alpha, interlaced" },
    { "png_palette8", TC_OUTCOME_ENCODED, N(PNG), "8 bits, palette" },
    { "png_palette2", TC_OUTCOME_ENCODED, N(PNG), "2 bits, palette, interlaced" },
    { "png_interlaced", TC_OUTCOME_ENCODED, N(PNG), "8 bits, interlaced" },
    { "png_large", TC_OUTCOME_ENCODED, N(PNG), "8 bits" },
    { "png_thin", TC_OUTCOME_ENCODED, N(PNG), "8 bits, interlaced" },
    { "png_text", TC_OUTCOME_ENCODED, N(PNG), "8 bits" },
};

/* Of every unsound one: the fault, words of the message, and whether a part of it can be kept. */
static const struct {
    const char *name;
    tc_fault fault;
    const char *text;
    bool salvage;
} refusals[] = {
    { "nothing", TC_FAULT_EMPTY, "an empty file", false },
    { "one_byte", TC_FAULT_FOREIGN, "of an unknown kind", false },
    { "text", TC_FAULT_FOREIGN, "but text", false },
    { "html", TC_FAULT_FOREIGN, "HTML", false },
    { "gif", TC_FAULT_FOREIGN, "a GIF", false },
    { "bmp", TC_FAULT_FOREIGN, "a BMP", false },
    { "webp", TC_FAULT_FOREIGN, "a WebP", false },
    { "tiff", TC_FAULT_FOREIGN, "a TIFF", false },
    { "avif", TC_FAULT_FOREIGN, "a HEIF or AVIF", false },
    { "gzip", TC_FAULT_FOREIGN, "a gzip file", false },
    { "zeros", TC_FAULT_FOREIGN, "nothing but zeros", false },
    { "garbage", TC_FAULT_FOREIGN, "of an unknown kind", false },
    { "cut_header", TC_FAULT_TRUNCATED, "truncated JPEG", false },
    { "cut_half", TC_FAULT_TRUNCATED, "truncated JPEG: Premature end of JPEG file", true },
    { "cut_progressive", TC_FAULT_TRUNCATED, "truncated JPEG", true },
    { "cut_scan", TC_FAULT_TRUNCATED, "truncated JPEG", true },
    { "cut_last", TC_FAULT_TRUNCATED, "truncated JPEG", true },
    { "header_alone", TC_FAULT_TRUNCATED, "truncated JPEG", false },
    { "early_end", TC_FAULT_DAMAGED, "damaged JPEG: Corrupt JPEG data", true },
    { "corrupt", TC_FAULT_DAMAGED, "damaged JPEG: Corrupt JPEG data", true },
    { "restart_lost", TC_FAULT_DAMAGED, "damaged JPEG: Corrupt JPEG data", true },
    { "bits12", TC_FAULT_UNSUPPORTED, "12 bits a sample", false },
    { "lossless", TC_FAULT_UNSUPPORTED, "a lossless JPEG", false },
    { "hierarchical", TC_FAULT_UNSUPPORTED, "a hierarchical JPEG", false },
    { "fractional", TC_FAULT_UNSUPPORTED, "ractional sampling", false },
    { "no_steps", TC_FAULT_DAMAGED, "Quantization table 0x00 was not defined", false },
    { "bomb", TC_FAULT_LIMIT, "65500 x 65500 pixels, more than the 134217728 allowed", false },
    { "zero_width", TC_FAULT_DAMAGED, "Empty JPEG image", false },
    { "two_components", TC_FAULT_UNSUPPORTED, "2 components", false },
    { "many_scans", TC_FAULT_UNSUPPORTED, "more than 100 scans", false },
    { "lost_component", TC_FAULT_DAMAGED, "a component has no data", true },
    { "png_start", TC_FAULT_TRUNCATED, "truncated PNG", false },
    { "png_cut", TC_FAULT_TRUNCATED, "truncated PNG", true },
    { "png_no_end", TC_FAULT_TRUNCATED, "truncated PNG", true },
    { "png_corrupt", TC_FAULT_DAMAGED, "damaged PNG", true },
    { "png_bomb", TC_FAULT_LIMIT, "2000000000 x 2000000000 pixels", false },
    { "png_wide", TC_FAULT_LIMIT, "a JPEG has at most 65500 a side", false },
};

typedef struct {
    tc_recoder *recoder;
    tc_decoder *decoder; /* the trainer's */
    tc_buffer in, out;
    tc_recoded result;
} bench;

static bench bench_of(tc_recode_options options)
{
    bench b = { 0 };

    if (options.quality == 0)
        options.quality = 95;
    if (options.shorter == 0)
        options.shorter = SHORTER;
    if (tc_recoder_create(&options, &b.recoder) != TC_OK || tc_decoder_create(0, &b.decoder) != 0)
        exit(99);
    return b;
}

static void bench_free(bench *b)
{
    tc_recoder_destroy(b->recoder);
    tc_decoder_destroy(b->decoder);
    tc_buffer_free(&b->in);
    tc_buffer_free(&b->out);
}

/* Whether libpng is missing, so that PNG cannot even be made; that is no test then. */
static bool no_png(const craft_picture *picture)
{
#if HAVE_PNG
    (void)picture;
    return false;
#else
    return strncmp(picture->name, "png_", 4) == 0 || strcmp(picture->name, "exif_png_3") == 0;
#endif
}

static tc_status run(bench *b, const craft_picture *picture)
{
    b->in.bytes = 0;
    if (!picture->make(&b->in))
        return TC_NOSUPPORT;
    return tc_recode(b->recoder, &b->in, &b->out, &b->result);
}

/* The bytes that go into the shard. */
static const tc_buffer *stored(const bench *b)
{
    return b->out.bytes > 0 ? &b->out : &b->in;
}

/* Decode as the trainer does: all of it.  The raster is the decoder's. */
static bool decodes(bench *b, const tc_buffer *bytes, tc_raster *raster)
{
    tc_image_info info;

    return tc_decoder_open(b->decoder, bytes->data, bytes->bytes, &info) == TC_OK &&
           tc_decoder_crop(b->decoder, (tc_rect){ 0, 0, info.w, info.h }, raster) == TC_OK;
}

/* The largest difference in the middle of a quarter from its colour. */
static int off(const tc_raster *raster, int quarter, const unsigned char *colour)
{
    int64_t x = raster->w * (1 + 2 * (quarter % 2)) / 4;
    int64_t y = raster->h * (1 + 2 * (quarter / 2)) / 4;
    const uint8_t *at = raster->data + y * raster->stride + 3 * x;
    int worst = 0;

    for (int c = 0; c < 3; c++)
        worst = abs(at[c] - colour[c]) > worst ? abs(at[c] - colour[c]) : worst;
    return worst;
}

static int worst_off(const tc_raster *raster, craft_look look)
{
    int worst = 0;

    for (int q = 0; q < 4; q++) {
        int d = off(raster, q, craft_seen[look][q]);
        worst = d > worst ? d : worst;
    }
    return worst;
}

static const expected *expectation(const char *name)
{
    static const expected plain = { "", TC_OUTCOME_KEPT, 0, "" };

    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strcmp(usual[i].name, name) == 0)
            return &usual[i];
    return &plain;
}

/* Compare crops of what is stored with the whole, as the trainer will take them. */
static int crops_off(bench *b)
{
    tc_raster view, whole = { 0 };
    tc_image_info info;
    int worst = 0;

    if (!decodes(b, stored(b), &view))
        return 999;
    whole = (tc_raster){ malloc((size_t)(view.w * view.h * 3)), view.w, view.h, view.w * 3 };
    for (int64_t y = 0; y < view.h; y++)
        memcpy(whole.data + y * whole.stride, view.data + y * view.stride, (size_t)view.w * 3);
    for (int i = 0; i < 8; i++) {
        int64_t x = whole.w * i / 11, y = whole.h * (i * 3 % 8) / 9;
        tc_rect r = { x, y, 1 + (whole.w - x - 1) / (1 + i % 3), 1 + (whole.h - y - 1) / 2 };
        if (tc_decoder_open(b->decoder, stored(b)->data, stored(b)->bytes, &info) != TC_OK ||
            tc_decoder_crop(b->decoder, r, &view) != TC_OK)
            worst = 999;
        for (int64_t k = 0; worst < 999 && k < r.h * r.w * 3; k++) {
            int d = abs(view.data[k / (3 * r.w) * view.stride + k % (3 * r.w)] -
                        whole.data[(y + k / (3 * r.w)) * whole.stride + 3 * x + k % (3 * r.w)]);
            worst = d > worst ? d : worst;
        }
    }
    free(whole.data);
    return worst;
}

static void sound(void)
{
    bench b = bench_of((tc_recode_options){ 0 });

    for (const craft_picture *p = craft_sound; p->name != NULL; p++) {
        const expected *e = expectation(p->name);
        tc_raster raster;
        if (no_png(p)) {
            tap_skip(p->name, "built without libpng");
            continue;
        }
        tc_status status = run(&b, p);
        if (status == TC_NOSUPPORT) {
            tap_skip(p->name, "this libjpeg or libpng cannot make it");
            continue;
        }
        bool ok = status == TC_OK && b.result.outcome == e->outcome &&
                  b.result.notes == e->notes && strcmp(b.result.detail, e->detail) == 0;
        tap_ok(ok, "%s: %s, notes %x (%s) %s", p->name, tc_outcome_word(b.result.outcome),
               b.result.notes, b.result.detail, status == TC_OK ? "" : tc_error_detail());
        bool small = (p->w < p->h ? p->w : p->h) <= SHORTER;
        int w = small ? p->w : 96, h = small ? p->h : 64; /* all large ones are 3 to 2 */
        bool read = status == TC_OK && decodes(&b, stored(&b), &raster);
        /* Thin ones are less than a block wide: their quarters blur into each other. */
        int limit = p->w < 8 || p->h < 8 ? 255 : p->look == CRAFT_INK ? 6 : 5;
        int worst = read ? worst_off(&raster, p->look) : 999;
        tap_ok(read && raster.w == w && raster.h == h && b.result.w == (uint32_t)w &&
                   b.result.h == (uint32_t)h && worst <= limit,
               "%s: the trainer reads %d x %d, its colours at most %d off %s", p->name, w, h,
               worst, read ? "" : tc_error_detail());
        tap_ok(b.result.outcome == TC_OUTCOME_KEPT ||
                   tc_jpeg_is_plain(b.out.data, b.out.bytes),
               "%s: what is new is plain", p->name);
        int crop = read ? crops_off(&b) : 999;
        tap_ok(crop <= 2, "%s: crops of it agree within %d", p->name, crop);
    }
    bench_free(&b);
}

/* The middle of every quarter as Pillow 13.0.0 gives it, by open() and convert("RGB"). */
static const struct {
    const char *name;
    unsigned char seen[4][3];
} pillow[] = {
    { "cmyk_adobe", { { 0, 255, 255 }, { 255, 0, 255 }, { 127, 127, 0 }, { 51, 102, 153 } } },
    { "ycck", { { 1, 255, 255 }, { 255, 0, 254 }, { 127, 127, 0 }, { 51, 101, 153 } } },
    { "progressive_cmyk", { { 1, 255, 255 }, { 255, 0, 254 }, { 127, 127, 0 }, { 51, 101, 153 } } },
    { "arithmetic", { { 200, 40, 40 }, { 40, 179, 60 }, { 51, 60, 201 }, { 220, 210, 60 } } },
    { "j440", { { 200, 40, 40 }, { 40, 179, 60 }, { 51, 60, 201 }, { 220, 210, 60 } } },
    { "j411", { { 200, 40, 40 }, { 40, 179, 60 }, { 51, 60, 201 }, { 220, 210, 60 } } },
    { "j410", { { 200, 40, 40 }, { 40, 179, 60 }, { 51, 60, 201 }, { 220, 210, 60 } } },
    { "j441", { { 200, 40, 40 }, { 40, 179, 60 }, { 51, 60, 201 }, { 220, 210, 60 } } },
    { "odd", { { 200, 40, 40 }, { 40, 179, 60 }, { 51, 60, 201 }, { 220, 210, 60 } } },
    { "gray", { { 30, 30, 30 }, { 120, 120, 120 }, { 250, 250, 250 }, { 180, 180, 180 } } },
    { "png_rgba", { { 200, 40, 40 }, { 40, 180, 60 }, { 50, 60, 200 }, { 220, 210, 60 } } },
};

/* What the trainer reads of the record has the colours that Pillow sees in the source.  A few
 * levels go to the encoding of those that are encoded. */
static void as_pillow(void)
{
    bench b = bench_of((tc_recode_options){ 0 });

    for (size_t i = 0; i < sizeof pillow / sizeof *pillow; i++) {
        const craft_picture *p = craft_find(pillow[i].name);
        tc_raster raster;
        int worst = 0;
        if (no_png(p) || run(&b, p) == TC_NOSUPPORT) {
            tap_skip(p->name, "cannot be made here");
            continue;
        }
        bool read = b.result.fault == TC_FAULT_NONE && decodes(&b, stored(&b), &raster);
        for (int q = 0; read && q < 4; q++) {
            int d = off(&raster, q, pillow[i].seen[q]);
            worst = d > worst ? d : worst;
        }
        int limit = b.result.outcome == TC_OUTCOME_ENCODED ? 5 : 1;
        tap_ok(read && worst <= limit, "%s: at most %d off Pillow's colours", p->name, worst);
    }
    bench_free(&b);
}

/* A transcoded picture has the very pixels of its source. */
static void lossless(void)
{
    static const char *const names[] = { "progressive", "progressive_gray", "arithmetic",
                                         "arithmetic_progressive", "restart", "scans",
                                         "no_end_progressive", "dri_zero", "no_codes",
                                         "extended" };
    bench b = bench_of((tc_recode_options){ 0 });

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tc_raster before, after;
        tc_buffer copy = { 0 }, source = { 0 };
        tc_status status = run(&b, craft_find(names[i]));
        if (status == TC_NOSUPPORT) {
            tap_skip(names[i], "this libjpeg cannot make it");
            continue;
        }
        bool ok = status == TC_OK &&
                  tc_buffer_append(&source, b.in.data, b.in.bytes) == TC_OK &&
                  (strstr(names[i], "no_end") == NULL ||
                   tc_buffer_append(&source, "\xff\xd9", 2) == TC_OK) &&
                  decodes(&b, &source, &before) &&
                  tc_buffer_append(&copy, before.data, (size_t)(before.stride * before.h)) == 0 &&
                  decodes(&b, &b.out, &after) && after.stride == 96 * 3 && after.h == 64 &&
                  memcmp(copy.data, after.data, copy.bytes) == 0;
        tap_ok(ok, "%s: not a pixel changed", names[i]);
        tc_buffer_free(&copy);
        tc_buffer_free(&source);
    }
    bench_free(&b);
}

/* What is kept is kept: the bytes of the source, but for its ends. */
static void bytes(void)
{
    bench b = bench_of((tc_recode_options){ 0 }), k = bench_of((tc_recode_options){ .keep = true });
    tc_buffer plain = { 0 };
    tc_raster raster;

    craft_find("baseline")->make(&plain);
    tap_ok(run(&b, craft_find("baseline")) == TC_OK && b.out.bytes == 0, "a plain one as it is");
    tap_ok(run(&b, craft_find("trailing")) == TC_OK && b.out.bytes == plain.bytes &&
               memcmp(b.out.data, plain.data, plain.bytes) == 0,
           "bytes behind the end are cut off");
    tap_ok(run(&b, craft_find("no_end")) == TC_OK && b.out.bytes == plain.bytes &&
               memcmp(b.out.data, plain.data, plain.bytes) == 0,
           "a missing end is added");
    for (const craft_picture *p = craft_sound; p->name != NULL; p++) {
        bool png = strstr(p->name, "png_") != NULL, end = strstr(p->name, "no_end") != NULL;
        if (no_png(p) || run(&k, p) == TC_NOSUPPORT) {
            tap_skip(p->name, "cannot be made here");
            continue;
        }
        bool ok = k.result.fault == TC_FAULT_NONE && k.result.w == (uint32_t)p->w &&
                  k.result.h == (uint32_t)p->h && decodes(&k, stored(&k), &raster) &&
                  (p->w < 8 || p->h < 8 || worst_off(&raster, p->look) <= 6);
        if (end)
            ok = ok && k.out.bytes == k.in.bytes + 2;
        else
            ok = ok && (k.out.bytes > 0) == png;
        tap_ok(ok && k.result.outcome == (png ? TC_OUTCOME_ENCODED : TC_OUTCOME_KEPT),
               "--keep: %s: %s", p->name, tc_outcome_word(k.result.outcome));
    }
    tc_buffer_free(&plain);
    bench_free(&b);
    bench_free(&k);
}

/* Where quarter q of the stored picture is seen, by Exif orientation. */
static const int seen_at[9][4] = {
    [1] = { 0, 1, 2, 3 }, [2] = { 1, 0, 3, 2 }, [3] = { 3, 2, 1, 0 }, [4] = { 2, 3, 0, 1 },
    [5] = { 0, 2, 1, 3 }, [6] = { 1, 3, 0, 2 }, [7] = { 3, 1, 2, 0 }, [8] = { 2, 0, 3, 1 },
};

static void orientations(void)
{
    bench b = bench_of((tc_recode_options){ .turn = true });
    bench k = bench_of((tc_recode_options){ .turn = true, .keep = true });

    for (int i = 0; i < 32; i++) {
        int orientation = 1 + i % 8;
        bool png = i % 16 >= 8, swap = orientation >= 5, keep = i >= 16;
        bench *at = keep ? &k : &b;
        tc_raster raster;
        at->in.bytes = 0;
        if (!craft_oriented(orientation, png, &at->in)) {
            tap_skip("a PNG with an orientation", "built without libpng");
            continue;
        }
        tc_status status = tc_recode(at->recoder, &at->in, &at->out, &at->result);
        bool ok = status == TC_OK && decodes(at, stored(at), &raster) &&
                  raster.w == (swap ? 64 : 96) && raster.h == (swap ? 96 : 64) &&
                  at->result.w == (uint32_t)raster.w && at->result.h == (uint32_t)raster.h &&
                  tc_exif_orientation(stored(at)->data, stored(at)->bytes) == 1 &&
                  ((at->result.notes & N(TURNED)) != 0) == (orientation > 1);
        int worst = 0;
        for (int q = 0; ok && q < 4; q++) {
            int d = off(&raster, seen_at[orientation][q], craft_seen[CRAFT_COLOUR][q]);
            worst = d > worst ? d : worst;
        }
        tap_ok(ok && worst <= 6, "orientation %d of a %s%s is applied, %d off", orientation,
               png ? "PNG" : "JPEG", keep ? " with --keep" : "", worst);
    }
    static const char *const damaged[] = { "exif_nine", "exif_offset", "exif_count", "exif_cut",
                                           "exif_type" };
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
        tap_ok(run(&b, craft_find(damaged[i])) == TC_OK && b.out.bytes == 0 &&
                   b.result.notes == 0,
               "%s: not turned", damaged[i]);
    bench_free(&b);
    bench_free(&k);
}

static void refused(void)
{
    bench b = bench_of((tc_recode_options){ 0 });
    bench s = bench_of((tc_recode_options){ .limits = { .salvage = true } });
    const craft_picture *p = craft_bad;

    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++, p++) {
        tc_raster raster;
        if (p->name == NULL || strcmp(p->name, refusals[i].name) != 0)
            exit(99); /* the lists are not the same */
        if (no_png(p) || run(&b, p) == TC_NOSUPPORT) {
            tap_skip(p->name, "cannot be made here");
            continue;
        }
        tc_status status = tc_recode(b.recoder, &b.in, &b.out, &b.result);
        tap_ok(status == TC_FORMAT && b.result.fault == refusals[i].fault &&
                   strstr(tc_error_detail(), refusals[i].text) != NULL,
               "%s: %s: %s", p->name, tc_fault_word(b.result.fault), tc_error_detail());
        status = run(&s, p);
        bool right = status == (refusals[i].salvage ? TC_OK : TC_FORMAT);
        if (status == TC_OK) /* the first quarter is there */
            right = right && s.result.outcome == TC_OUTCOME_ENCODED &&
                    (s.result.notes & N(SALVAGED)) != 0 && decodes(&s, &s.out, &raster) &&
                    raster.w == 96 && raster.h == 64 &&
                    (strcmp(p->name, "lost_component") == 0 || /* its colour is lost */
                     off(&raster, 0, craft_seen[CRAFT_COLOUR][0]) <= 8);
        tap_ok(right, "%s: %s with --on-error keep: %s", p->name,
               status == TC_OK ? "kept in part" : "refused",
               status == TC_OK ? s.result.detail : tc_error_detail());
        /* And the next one is none the worse for it. */
        tap_ok(run(&b, craft_find("large")) == TC_OK && decodes(&b, &b.out, &raster) &&
                   worst_off(&raster, CRAFT_COLOUR) <= 5,
               "%s: the next picture is right", p->name);
    }
    tap_ok(p->name == NULL, "every unsound picture has its refusal");
    bench_free(&b);
    bench_free(&s);
}

/* The missing part of a salvaged picture is gray. */
static void salvage(void)
{
    bench s = bench_of((tc_recode_options){ .shorter = 192, .limits = { .salvage = true } });
    static const uint8_t gray[3] = { 128, 128, 128 };
    tc_raster raster;

    bool ok = run(&s, craft_find("cut_half")) == TC_OK && decodes(&s, &s.out, &raster);
    tap_ok(ok && off(&raster, 0, craft_seen[CRAFT_COLOUR][0]) <= 5 && raster.w == 288,
           "a truncated JPEG: its first part is right");
#if HAVE_PNG
    ok = run(&s, craft_find("png_cut")) == TC_OK && decodes(&s, &s.out, &raster);
    uint8_t *last = raster.data + (raster.h - 1) * raster.stride;
    tap_ok(ok && off(&raster, 0, craft_seen[CRAFT_COLOUR][0]) <= 5 && abs(last[0] - gray[0]) <= 3 &&
               abs(last[1] - gray[1]) <= 3 && abs(last[2] - gray[2]) <= 3,
           "a truncated PNG: its first part is right, its last row gray");
#else
    (void)gray;
#endif
    bench_free(&s);
}

static void limits(void)
{
    bench p = bench_of((tc_recode_options){ .limits = { .max_pixels = 96 * 64 } });
    bench m = bench_of((tc_recode_options){ .limits = { .max_memory = 288 * 192 * 4 } });

    tap_ok(run(&p, craft_find("baseline")) == TC_OK, "as many pixels as allowed");
    tap_ok(run(&p, craft_find("large")) == TC_FORMAT && p.result.fault == TC_FAULT_LIMIT &&
               strstr(tc_error_detail(), "more than the 6144 allowed (--max-pixels)"),
           "too many: %s", tc_error_detail());
    tap_ok(run(&m, craft_find("large")) == TC_OK, "as much memory as allowed");
    tap_ok(run(&m, craft_find("large_progressive")) == TC_FORMAT &&
               m.result.fault == TC_FAULT_LIMIT && strstr(tc_error_detail(), "(--max-memory)"),
           "a progressive one takes more: %s", tc_error_detail());
    tap_ok(run(&m, craft_find("baseline")) == TC_OK && run(&m, craft_find("restart")) == TC_OK &&
               m.result.outcome == TC_OUTCOME_TRANSCODED,
           "a small one can be transcoded");
    bench_free(&p);
    bench_free(&m);
    m = bench_of((tc_recode_options){ .limits = { .max_memory = 96 * 64 * 3 } });
    tap_ok(run(&m, craft_find("restart")) == TC_OK && m.result.outcome == TC_OUTCOME_ENCODED,
           "where its coefficients do not fit, it is encoded");
    bench_free(&m);
}

int main(void)
{
    sound();
    as_pillow();
    lossless();
    bytes();
    orientations();
    refused();
    salvage();
    limits();
    return tap_done();
}
