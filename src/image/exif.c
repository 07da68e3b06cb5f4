#include <config.h>

#include "image/exif.h"

#include "image/kind.h"

#include <string.h>

#define TAG_ORIENTATION 0x0112
#define TYPE_SHORT      3
#define ENTRY_BYTES     12

/* A number of the TIFF structure inside Exif, in its own byte order. */
static uint32_t get(const uint8_t *p, int bytes, bool little)
{
    uint32_t value = 0;

    for (int i = 0; i < bytes; i++)
        value |= (uint32_t)p[i] << 8 * (little ? i : bytes - 1 - i);
    return value;
}

/* The orientation in a TIFF structure: header, then the first directory's entries. */
static int in_tiff(const uint8_t *tiff, size_t bytes)
{
    bool little = bytes >= 8 && memcmp(tiff, "II*\0", 4) == 0;

    if (bytes < 8 || (!little && memcmp(tiff, "MM\0*", 4) != 0))
        return 1;
    size_t at = get(tiff + 4, 4, little);
    if (at > bytes - 2)
        return 1;
    size_t count = get(tiff + at, 2, little), room = (bytes - at - 2) / ENTRY_BYTES;
    for (size_t i = 0; i < count && i < room; i++) {
        const uint8_t *entry = tiff + at + 2 + i * ENTRY_BYTES;
        if (get(entry, 2, little) != TAG_ORIENTATION || get(entry + 2, 2, little) != TYPE_SHORT ||
            get(entry + 4, 4, little) != 1)
            continue;
        uint32_t value = get(entry + 8, 2, little);
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

/* Walk the segments in front of the first scan; the first Exif counts. */
static int in_jpeg(const uint8_t *data, size_t bytes)
{
    size_t at = 2; /* behind SOI */

    while (at < bytes && data[at] == 0xff) {
        while (at < bytes && data[at] == 0xff) /* any number of fill bytes */
            at++;
        if (bytes - at < 3 || data[at] == 0xda || data[at] == 0xd9)
            break;
        uint8_t marker = data[at++];
        size_t length = (size_t)data[at] << 8 | data[at + 1]; /* counts itself */
        if (length < 2 || length > bytes - at)
            break;
        if (marker == 0xe1 && length >= 8 && memcmp(data + at + 2, "Exif\0\0", 6) == 0)
            return in_tiff(data + at + 8, length - 8);
        at += length;
    }
    return 1;
}

static int in_png(const uint8_t *data, size_t bytes)
{
    size_t at = 8; /* behind the signature */

    while (bytes - at >= 12) { /* length, type, data, checksum */
        size_t length = get(data + at, 4, false);
        if (length > bytes - at - 12)
            break;
        if (memcmp(data + at + 4, "eXIf", 4) == 0)
            return in_tiff(data + at + 8, length);
        at += length + 12;
    }
    return 1;
}

int tc_exif_orientation(const uint8_t *data, size_t bytes)
{
    switch (tc_kind_of(data, bytes)) {
    case TC_KIND_JPEG:
        return in_jpeg(data, bytes);
    case TC_KIND_PNG:
        return in_png(data, bytes);
    default:
        return 1;
    }
}

void tc_exif_turn(const tc_raster *in, int orientation, const tc_raster *out)
{
    bool swap = tc_exif_swaps(orientation);
    /* Which axis of the stored picture runs backwards in the one that is seen. */
    bool back_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    bool back_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;

    for (int64_t y = 0; y < out->h; y++) {
        uint8_t *to = out->data + y * out->stride;
        for (int64_t x = 0; x < out->w; x++, to += 3) {
            int64_t from_x = swap ? y : x, from_y = swap ? x : y;
            from_x = back_x ? in->w - 1 - from_x : from_x;
            from_y = back_y ? in->h - 1 - from_y : from_y;
            memcpy(to, in->data + from_y * in->stride + 3 * from_x, 3);
        }
    }
}
