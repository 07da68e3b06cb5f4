/* The lists of craft.h, and the surgery that makes sound pictures odd or unsound. */
#include <config.h>

#include "craft.h"
#include "craft_jpeg.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define JPEG(name, ...)                                                \
    static bool name(tc_buffer *out)                                   \
    {                                                                  \
        return craft_encode(&(craft_jpeg){ __VA_ARGS__ }, out);        \
    }
#define PNG(name, w, h, ...)                                           \
    static bool name(tc_buffer *out)                                   \
    {                                                                  \
        return craft_png(w, h, __VA_ARGS__, out);                      \
    }
#define BYTES(name, text)                                              \
    static bool name(tc_buffer *out)                                   \
    {                                                                  \
        return tc_buffer_append(out, text, sizeof text - 1) == TC_OK;  \
    }

/* ---- surgery ---- */

/* The offset of the first marker of this kind behind `from`; the end: there is none. */
static size_t find(const tc_buffer *b, uint8_t marker, size_t from)
{
    for (size_t i = from; i + 1 < b->bytes; i++)
        if (b->data[i] == 0xff && b->data[i + 1] == marker)
            return i;
    return b->bytes;
}

static bool insert(tc_buffer *b, size_t at, const void *data, size_t bytes)
{
    if (at > b->bytes || tc_buffer_reserve(b, b->bytes + bytes) != TC_OK)
        return false;
    memmove(b->data + at + bytes, b->data + at, b->bytes - at);
    memcpy(b->data + at, data, bytes);
    b->bytes += bytes;
    return true;
}

/* Bytes without a pattern, the same ones every time. */
static void scribble(uint8_t *p, size_t bytes)
{
    uint32_t state = 12345;

    for (size_t i = 0; i < bytes; i++) {
        state = state * 1664525 + 1013904223;
        p[i] = (uint8_t)(state >> 24);
    }
}

/* ---- sound JPEGs ---- */

JPEG(baseline, 0)
JPEG(j422, .across = 2, .down = 1)
JPEG(j444, .across = 1, .down = 1)
JPEG(j440, .across = 1, .down = 2)
JPEG(j411, .across = 4, .down = 1)
JPEG(j410, .across = 4, .down = 2)
JPEG(j441, .across = 1, .down = 4)
JPEG(odd, .odd = true)
JPEG(rgb, .space = JCS_RGB)
JPEG(gray, .space = JCS_GRAYSCALE)
JPEG(gray22, .space = JCS_GRAYSCALE, .across = 2, .down = 2)
JPEG(cmyk, .space = JCS_CMYK)
JPEG(cmyk_adobe, .space = JCS_CMYK, .inverted = true)
JPEG(ycck, .space = JCS_YCCK, .inverted = true)
JPEG(progressive, .progressive = true)
JPEG(progressive_gray, .progressive = true, .space = JCS_GRAYSCALE)
JPEG(progressive_cmyk, .progressive = true, .space = JCS_YCCK, .inverted = true)
JPEG(arithmetic, .arithmetic = true)
JPEG(arithmetic_progressive, .arithmetic = true, .progressive = true)
JPEG(restart, .restart = 2)
JPEG(scans, .scans = true)
JPEG(large, .w = 288, .h = 192)
JPEG(large_gray, .w = 288, .h = 192, .space = JCS_GRAYSCALE)
JPEG(large_progressive, .w = 288, .h = 192, .progressive = true)
JPEG(large_440, .w = 288, .h = 192, .across = 1, .down = 2)
JPEG(one_pixel, .w = 1, .h = 1)
JPEG(thin, .w = 1, .h = 10000)
JPEG(flat, .w = 10000, .h = 1)
JPEG(long_side, .w = 65500, .h = 2)

static bool trailing(tc_buffer *out)
{
    uint8_t more[1000];

    scribble(more, sizeof more);
    return baseline(out) && tc_buffer_append(out, more, sizeof more) == TC_OK;
}

static bool no_end(tc_buffer *out)
{
    bool ok = baseline(out);

    out->bytes -= 2;
    return ok;
}

static bool no_end_progressive(tc_buffer *out)
{
    bool ok = progressive(out);

    out->bytes -= 2;
    return ok;
}

static bool between(tc_buffer *out) /* bytes between segments, which libjpeg passes over */
{
    return baseline(out) && insert(out, find(out, 0xdb, 2), "what is this?", 13);
}

static bool dri_zero(tc_buffer *out) /* an interval of 0: no restart markers, but declared */
{
    return baseline(out) && insert(out, find(out, 0xda, 2), "\xff\xdd\0\4\0\0", 6);
}

static bool extended(tc_buffer *out) /* says that it may be extended, but is baseline */
{
    bool ok = baseline(out);

    out->data[find(out, 0xc0, 2) + 1] = 0xc1;
    return ok;
}

/* Cut out all segments of this kind. */
static bool without(bool ok, tc_buffer *out, uint8_t marker)
{
    size_t at;

    while (ok && (at = find(out, marker, 2)) < out->bytes) {
        size_t length = 2 + ((size_t)out->data[at + 2] << 8 | out->data[at + 3]);
        memmove(out->data + at, out->data + at + length, out->bytes - at - length);
        out->bytes -= length;
    }
    return ok;
}

static bool no_codes(tc_buffer *out) /* as frames of a film: the usual Huffman tables are meant */
{
    return without(baseline(out), out, 0xc4);
}

/* ---- Exif ---- */

static uint32_t crc32_of(const uint8_t *p, size_t bytes)
{
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < bytes; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

static void put_be(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> 8 * (3 - i));
}

/* A TIFF structure with two entries, little- or big-endian; returns its bytes. */
static size_t make_tiff(int orientation, bool little, uint8_t tiff[64])
{
    static const uint8_t le[] = { 'I', 'I', 42, 0, 8, 0, 0, 0, 2, 0,
                                  0x0f, 1, 2, 0, 1, 0, 0, 0, 'x', 0, 0, 0,
                                  0x12, 1, 3, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0 };
    static const uint8_t be[] = { 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 2,
                                  1, 0x0f, 0, 2, 0, 0, 0, 1, 'x', 0, 0, 0,
                                  1, 0x12, 0, 3, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0 };

    memcpy(tiff, little ? le : be, sizeof le);
    tiff[little ? 30 : 31] = (uint8_t)orientation;
    return sizeof le;
}

static bool add_exif(tc_buffer *out, const uint8_t *tiff, size_t bytes)
{
    uint8_t segment[128] = { 0xff, 0xe1, 0, (uint8_t)(bytes + 8), 'E', 'x', 'i', 'f' };

    memcpy(segment + 10, tiff, bytes);
    return insert(out, 2, segment, bytes + 10);
}

bool craft_oriented(int orientation, bool png, tc_buffer *out)
{
    uint8_t tiff[64], chunk[128];
    size_t bytes = make_tiff(orientation, orientation % 2 == 0, tiff);

    if (!png)
        return baseline(out) && add_exif(out, tiff, bytes);
    put_be(chunk, (uint32_t)bytes);
    memcpy(chunk + 4, "eXIf", 4);
    memcpy(chunk + 8, tiff, bytes);
    put_be(chunk + 8 + bytes, crc32_of(chunk + 4, bytes + 4));
    return craft_png(96, 64, 8, 2, false, false, out) && insert(out, 33, chunk, bytes + 12);
}

static bool exif_6(tc_buffer *out)
{
    return craft_oriented(6, false, out);
}

static bool exif_png_3(tc_buffer *out)
{
    return craft_oriented(3, true, out);
}

/* Exif with one thing wrong: a byte of the TIFF structure set. */
static bool bad_exif(tc_buffer *out, size_t at, uint8_t value, size_t bytes)
{
    uint8_t tiff[64];
    size_t whole = make_tiff(6, true, tiff);

    if (at < whole)
        tiff[at] = value;
    return baseline(out) && add_exif(out, tiff, bytes < whole ? bytes : whole);
}

static bool exif_nine(tc_buffer *out)
{
    return bad_exif(out, 30, 9, 64);
}

static bool exif_offset(tc_buffer *out) /* the directory lies outside */
{
    return bad_exif(out, 6, 0xff, 64);
}

static bool exif_count(tc_buffer *out) /* more entries than there is room for, none of use */
{
    uint8_t tiff[64];
    size_t whole = make_tiff(6, true, tiff);

    tiff[9] = 0xff;
    tiff[22] = 0x13;
    return baseline(out) && add_exif(out, tiff, whole);
}

static bool exif_cut(tc_buffer *out)
{
    return bad_exif(out, 64, 0, 9);
}

static bool exif_type(tc_buffer *out)
{
    return bad_exif(out, 24, 7, 64);
}

/* ---- PNG ---- */

PNG(png_rgb, 96, 64, 8, 2, false, false)
PNG(png_rgba, 96, 64, 8, 6, false, false)
PNG(png_gray, 96, 64, 8, 0, false, false)
PNG(png_gray1, 96, 64, 1, 0, false, false)
PNG(png_gray2, 96, 64, 2, 0, false, false)
PNG(png_gray16, 96, 64, 16, 0, false, false)
PNG(png_gray_alpha, 96, 64, 8, 4, false, false)
PNG(png_rgb16, 96, 64, 16, 2, false, false)
PNG(png_rgba16, 96, 64, 16, 6, true, false)
PNG(png_palette8, 96, 64, 8, 3, false, false)
PNG(png_palette2, 96, 64, 2, 3, true, false)
PNG(png_interlaced, 96, 64, 8, 2, true, false)
PNG(png_large, 288, 192, 8, 2, false, false)
PNG(png_thin, 1, 3000, 8, 2, true, false)
PNG(png_text, 96, 64, 8, 2, false, true)

/* ---- unsound ones ---- */

static bool nothing(tc_buffer *out)
{
    return tc_buffer_reserve(out, 1) == TC_OK;
}

BYTES(one_byte, "\xff")
BYTES(text, "not a picture\n")
BYTES(html, "\n<!DOCTYPE html><title>404</title>")
BYTES(gif, "GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\1\0\1\0\0\2\2D\1\0;")
BYTES(bmp, "BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\1\0\0\0\1\0\0\0\1\0\x18\0")
BYTES(webp, "RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\0\0\0\x10\7\x10\x11\x11")
BYTES(tiff, "II*\0\x08\0\0\0\0\0\0\0")
BYTES(avif, "\0\0\0\x1c" "ftypavif\0\0\0\0mif1avif")
BYTES(gzip, "\x1f\x8b\x08\0\0\0\0\0\0\3")
BYTES(png_start, "\x89PNG\r\n\x1a\n")

static bool zeros(tc_buffer *out)
{
    static const uint8_t none[4096];

    return tc_buffer_append(out, none, sizeof none) == TC_OK;
}

static bool garbage(tc_buffer *out)
{
    uint8_t bytes[4096];

    scribble(bytes, sizeof bytes);
    bytes[0] = 1;
    return tc_buffer_append(out, bytes, sizeof bytes) == TC_OK;
}

/* The first `part` of 100 of a picture. */
static bool cut(bool ok, tc_buffer *out, size_t part)
{
    out->bytes = out->bytes * part / 100;
    return ok;
}

static bool cut_header(tc_buffer *out)
{
    bool ok = baseline(out);

    out->bytes = 100;
    return ok;
}

static bool cut_half(tc_buffer *out)
{
    return cut(large(out), out, 80);
}

static bool cut_progressive(tc_buffer *out)
{
    return cut(large_progressive(out), out, 80);
}

static bool cut_scan(tc_buffer *out) /* a progressive file that ends behind one of its scans */
{
    bool ok = progressive(out);
    size_t at = 0;

    for (size_t next = find(out, 0xda, 2); next < out->bytes; next = find(out, 0xda, next + 2))
        at = next;
    out->bytes = at; /* the last scan, and what may stand before it, is lost */
    size_t tables = 0;
    for (size_t next = find(out, 0xc4, 2); next < out->bytes; next = find(out, 0xc4, next + 2))
        tables = next;
    out->bytes = tables;
    return ok;
}

static bool cut_last(tc_buffer *out)
{
    bool ok = large(out);

    out->bytes -= 40;
    return ok;
}

static bool header_alone(tc_buffer *out) /* all but the pixels */
{
    bool ok = baseline(out);

    out->bytes = find(out, 0xda, 2) + 14;
    return ok;
}

static bool early_end(tc_buffer *out)
{
    bool ok = large(out);

    memcpy(out->data + out->bytes * 8 / 10, "\xff\xd9", 2);
    return ok;
}

static bool corrupt(tc_buffer *out)
{
    bool ok = large(out);
    size_t at = out->bytes * 9 / 10;

    memset(out->data + at, 0xfe, out->bytes - at - 2); /* 0xfe: no marker */
    return ok;
}

static bool restart_lost(tc_buffer *out) /* the last restart marker has a wrong number */
{
    bool ok = restart(out);
    size_t last = 0;

    for (size_t i = find(out, 0xda, 2) + 2; i + 1 < out->bytes; i++)
        if (out->data[i] == 0xff && (out->data[i + 1] & 0xf8) == 0xd0)
            last = i;
    out->data[last + 1] ^= 4;
    return ok;
}

/* Change bytes of the frame header: precision, height, width, components lie at 4, 5, 7, 9. */
static bool patch_frame(bool ok, tc_buffer *out, size_t at, const void *bytes, size_t n)
{
    size_t frame = find(out, 0xc0, 2);

    if (!ok || frame + 20 > out->bytes)
        return false;
    memcpy(out->data + frame + at, bytes, n);
    return true;
}

static bool bits12(tc_buffer *out)
{
    return patch_frame(baseline(out), out, 4, "\14", 1);
}

static bool lossless(tc_buffer *out)
{
    return patch_frame(baseline(out), out, 1, "\xc3", 1);
}

static bool hierarchical(tc_buffer *out)
{
    return patch_frame(baseline(out), out, 1, "\xc5", 1);
}

static bool fractional(tc_buffer *out) /* luma 3x2, chroma 2x1 */
{
    return patch_frame(baseline(out), out, 11, "\x32", 1) &&
           patch_frame(true, out, 14, "\x21", 1) && patch_frame(true, out, 17, "\x21", 1);
}

static bool bomb(tc_buffer *out)
{
    return patch_frame(baseline(out), out, 5, "\xff\xdc\xff\xdc", 4);
}

static bool no_steps(tc_buffer *out) /* no quantization */
{
    return without(baseline(out), out, 0xdb);
}

static bool zero_width(tc_buffer *out)
{
    return patch_frame(baseline(out), out, 7, "\0\0", 2);
}

JPEG(two_components, .components = 2)

static bool many_scans(tc_buffer *out)
{
    tc_buffer scan = { 0 };
    bool ok = progressive(out);
    size_t at = out->bytes - 2; /* the end marker */
    size_t last = 0;

    for (size_t next = find(out, 0xda, 2); next < out->bytes; next = find(out, 0xda, next + 2))
        last = next;
    ok = ok && tc_buffer_append(&scan, out->data + last, at - last) == TC_OK;
    for (int i = 0; ok && i < 150; i++)
        ok = insert(out, at, scan.data, scan.bytes);
    tc_buffer_free(&scan);
    return ok;
}

static bool lost_component(tc_buffer *out)
{
    bool ok = scans(out);
    size_t first = find(out, 0xda, 2), second = find(out, 0xda, first + 2);

    memcpy(out->data + second, "\xff\xd9", 2);
    out->bytes = second + 2;
    return ok;
}

static bool png_cut(tc_buffer *out)
{
    return cut(png_large(out), out, 80);
}

static bool png_no_end(tc_buffer *out)
{
    bool ok = png_rgb(out);

    out->bytes -= 12;
    return ok;
}

static bool png_corrupt(tc_buffer *out)
{
    bool ok = png_large(out);

    if (ok)
        out->data[out->bytes * 7 / 10] ^= 0x55;
    return ok;
}

static bool png_sides(tc_buffer *out, uint32_t w, uint32_t h)
{
    if (!png_rgb(out))
        return false;
    put_be(out->data + 16, w);
    put_be(out->data + 20, h);
    put_be(out->data + 29, crc32_of(out->data + 12, 17));
    return true;
}

static bool png_bomb(tc_buffer *out)
{
    return png_sides(out, 2000000000, 2000000000);
}

static bool png_wide(tc_buffer *out) /* allowed, but no JPEG can hold it */
{
    return png_sides(out, 70000, 40);
}

#define LIST(name) #name, name
#define BAD(name)  { LIST(name), 0, 0, CRAFT_COLOUR }

const craft_picture craft_sound[] = {
    { LIST(baseline), 96, 64, CRAFT_COLOUR },
    { LIST(j422), 96, 64, CRAFT_COLOUR },
    { LIST(j444), 96, 64, CRAFT_COLOUR },
    { LIST(j440), 96, 64, CRAFT_COLOUR },
    { LIST(j411), 96, 64, CRAFT_COLOUR },
    { LIST(j410), 96, 64, CRAFT_COLOUR },
    { LIST(j441), 96, 64, CRAFT_COLOUR },
    { LIST(odd), 96, 64, CRAFT_COLOUR },
    { LIST(rgb), 96, 64, CRAFT_COLOUR },
    { LIST(gray), 96, 64, CRAFT_SHADE },
    { LIST(gray22), 96, 64, CRAFT_SHADE },
    { LIST(cmyk), 96, 64, CRAFT_INK },
    { LIST(cmyk_adobe), 96, 64, CRAFT_INK },
    { LIST(ycck), 96, 64, CRAFT_INK },
    { LIST(progressive), 96, 64, CRAFT_COLOUR },
    { LIST(progressive_gray), 96, 64, CRAFT_SHADE },
    { LIST(progressive_cmyk), 96, 64, CRAFT_INK },
    { LIST(arithmetic), 96, 64, CRAFT_COLOUR },
    { LIST(arithmetic_progressive), 96, 64, CRAFT_COLOUR },
    { LIST(restart), 96, 64, CRAFT_COLOUR },
    { LIST(scans), 96, 64, CRAFT_COLOUR },
    { LIST(large), 288, 192, CRAFT_COLOUR },
    { LIST(large_gray), 288, 192, CRAFT_SHADE },
    { LIST(large_progressive), 288, 192, CRAFT_COLOUR },
    { LIST(large_440), 288, 192, CRAFT_COLOUR },
    { LIST(one_pixel), 1, 1, CRAFT_COLOUR },
    { LIST(thin), 1, 10000, CRAFT_COLOUR },
    { LIST(flat), 10000, 1, CRAFT_COLOUR },
    { LIST(long_side), 65500, 2, CRAFT_COLOUR },
    { LIST(trailing), 96, 64, CRAFT_COLOUR },
    { LIST(no_end), 96, 64, CRAFT_COLOUR },
    { LIST(no_end_progressive), 96, 64, CRAFT_COLOUR },
    { LIST(between), 96, 64, CRAFT_COLOUR },
    { LIST(dri_zero), 96, 64, CRAFT_COLOUR },
    { LIST(extended), 96, 64, CRAFT_COLOUR },
    { LIST(no_codes), 96, 64, CRAFT_COLOUR },
    { LIST(exif_6), 96, 64, CRAFT_COLOUR },
    { LIST(exif_nine), 96, 64, CRAFT_COLOUR },
    { LIST(exif_offset), 96, 64, CRAFT_COLOUR },
    { LIST(exif_count), 96, 64, CRAFT_COLOUR },
    { LIST(exif_cut), 96, 64, CRAFT_COLOUR },
    { LIST(exif_type), 96, 64, CRAFT_COLOUR },
    { LIST(exif_png_3), 96, 64, CRAFT_COLOUR },
    { LIST(png_rgb), 96, 64, CRAFT_COLOUR },
    { LIST(png_rgba), 96, 64, CRAFT_COLOUR },
    { LIST(png_gray), 96, 64, CRAFT_SHADE },
    { LIST(png_gray1), 96, 64, CRAFT_BITS1 },
    { LIST(png_gray2), 96, 64, CRAFT_BITS2 },
    { LIST(png_gray16), 96, 64, CRAFT_SHADE },
    { LIST(png_gray_alpha), 96, 64, CRAFT_SHADE },
    { LIST(png_rgb16), 96, 64, CRAFT_COLOUR },
    { LIST(png_rgba16), 96, 64, CRAFT_COLOUR },
    { LIST(png_palette8), 96, 64, CRAFT_COLOUR },
    { LIST(png_palette2), 96, 64, CRAFT_COLOUR },
    { LIST(png_interlaced), 96, 64, CRAFT_COLOUR },
    { LIST(png_large), 288, 192, CRAFT_COLOUR },
    { LIST(png_thin), 1, 3000, CRAFT_COLOUR },
    { LIST(png_text), 96, 64, CRAFT_COLOUR },
    { 0 },
};

const craft_picture craft_bad[] = {
    BAD(nothing), BAD(one_byte), BAD(text), BAD(html), BAD(gif), BAD(bmp), BAD(webp), BAD(tiff),
    BAD(avif), BAD(gzip), BAD(zeros), BAD(garbage), BAD(cut_header), BAD(cut_half),
    BAD(cut_progressive), BAD(cut_scan), BAD(cut_last), BAD(header_alone), BAD(early_end),
    BAD(corrupt), BAD(restart_lost), BAD(bits12), BAD(lossless), BAD(hierarchical), BAD(fractional),
    BAD(no_steps), BAD(bomb), BAD(zero_width), BAD(two_components), BAD(many_scans),
    BAD(lost_component),
    BAD(png_start), BAD(png_cut), BAD(png_no_end), BAD(png_corrupt), BAD(png_bomb), BAD(png_wide),
    { 0 },
};

const craft_picture *craft_find(const char *name)
{
    const craft_picture *lists[] = { craft_sound, craft_bad };

    for (int l = 0; l < 2; l++)
        for (const craft_picture *p = lists[l]; p->name != NULL; p++)
            if (strcmp(p->name, name) == 0)
                return p;
    return NULL;
}
