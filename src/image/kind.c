#include <config.h>

#include "image/kind.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* The bytes at an offset by which a kind is told; the first that fits counts. */
static const struct {
    tc_kind kind;
    uint8_t offset, bytes;
    const char *magic;
} signs[] = {
    { TC_KIND_JPEG, 0, 3, "\xff\xd8\xff" },
    { TC_KIND_PNG, 0, 8, "\x89PNG\r\n\x1a\n" },
    { TC_KIND_GIF, 0, 4, "GIF8" },
    { TC_KIND_WEBP, 8, 4, "WEBP" },
    { TC_KIND_TIFF, 0, 4, "II*\0" },
    { TC_KIND_TIFF, 0, 4, "MM\0*" },
    { TC_KIND_HEIF, 4, 8, "ftypheic" },
    { TC_KIND_HEIF, 4, 8, "ftypheix" },
    { TC_KIND_HEIF, 4, 8, "ftypmif1" },
    { TC_KIND_HEIF, 4, 8, "ftypavif" },
    { TC_KIND_JPEG2000, 0, 8, "\0\0\0\x0cjP  " },
    { TC_KIND_JPEG2000, 0, 4, "\xff\x4f\xff\x51" },
    { TC_KIND_JPEGXL, 0, 8, "\0\0\0\x0cJXL " },
    { TC_KIND_JPEGXL, 0, 2, "\xff\x0a" },
    { TC_KIND_ICON, 0, 4, "\0\0\1\0" },
    { TC_KIND_PHOTOSHOP, 0, 4, "8BPS" },
    { TC_KIND_PDF, 0, 4, "%PDF" },
    { TC_KIND_GZIP, 0, 3, "\x1f\x8b\x08" },
    { TC_KIND_ZIP, 0, 4, "PK\3\4" },
};

static bool all_zero(const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (data[i] != 0)
            return false;
    return true;
}

static bool is_text(const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (data[i] == 0x7f || data[i] >= 0xf8 ||
            (data[i] < 0x20 && memchr("\t\n\r\f", data[i], 4) == NULL))
            return false;
    return true;
}

static bool starts_markup(const uint8_t *data, size_t bytes)
{
    static const char *const starts[] = { "<!doctype", "<html", "<head", "<?xml", "<svg" };
    size_t at = 0;

    while (at < bytes && memchr(" \t\r\n\xef\xbb\xbf", data[at], 7) != NULL) /* and a UTF-8 mark */
        at++;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        size_t length = strlen(starts[i]);
        if (bytes - at >= length && strncasecmp((const char *)data + at, starts[i], length) == 0)
            return true;
    }
    return false;
}

tc_kind tc_kind_of(const void *data, size_t bytes)
{
    const uint8_t *p = data;

    if (bytes == 0)
        return TC_KIND_EMPTY;
    if (bytes > TC_KIND_BYTES)
        bytes = TC_KIND_BYTES;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (bytes >= (size_t)signs[i].offset + signs[i].bytes &&
            memcmp(p + signs[i].offset, signs[i].magic, signs[i].bytes) == 0)
            return signs[i].kind;
    if (all_zero(p, bytes))
        return TC_KIND_ZEROS;
    if (starts_markup(p, bytes))
        return TC_KIND_MARKUP;
    /* Two letters alone are a weak sign: ask for what has to follow them. */
    if (bytes >= 14 && memcmp(p, "BM", 2) == 0 && all_zero(p + 6, 4))
        return TC_KIND_BMP;
    if (bytes >= 3 && p[0] == 'P' && p[1] >= '1' && p[1] <= '7' && memchr(" \t\n\r#", p[2], 5))
        return TC_KIND_NETPBM;
    return is_text(p, bytes) ? TC_KIND_TEXT : TC_KIND_UNKNOWN;
}

const char *tc_kind_name(tc_kind kind)
{
    static const char *const names[] = {
#define X(name, text) text,
        TC_KIND_TABLE(X)
#undef X
    };
    return names[kind];
}
