/* As many pictures as ImageNet has, without ImageNet: a tar of one tar a class to standard output.
 *   many RECORDS CLASSES SEED [PAD]
 * Every picture is a JPEG of about 2 kB, of one of POOL sizes and contents, and carries its number
 * in a comment, so that no two have the same bytes; PAD more bytes of comments make it large.
 * Classes are called as in ImageNet (n00000001 …), and the first ones get what does not divide. */
#include <config.h>

#include "base/rng.h"
#include "image/image.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POOL     512
#define TAR      512          /* bytes of a block */
#define COMMENT  ((size_t)16) /* bytes of the number */
#define PAD_STEP ((size_t)65533)

static tc_buffer pool[POOL];
static uint64_t pad;

/* Smooth colours with a little noise: bytes enough for a small picture. */
static bool make_picture(uint64_t seed, int number, tc_buffer *out)
{
    tc_rng rng = tc_rng_make(seed, TC_STREAM_TEST, (uint64_t)number, 0);
    int64_t w = 58 + tc_rng_below(&rng, 32), h = 58 + tc_rng_below(&rng, 32);
    int64_t slope[3] = { tc_rng_below(&rng, 5), tc_rng_below(&rng, 5), tc_rng_below(&rng, 5) };
    tc_buffer pixels = { 0 };

    bool ok = tc_buffer_reserve(&pixels, (size_t)(w * h * 3)) == TC_OK;
    for (int64_t i = 0; ok && i < w * h; i++)
        for (int c = 0; c < 3; c++)
            pixels.data[i * 3 + c] =
                (uint8_t)(slope[c] * (i / w + i % w) / 2 + 16 * c + tc_rng_below(&rng, 40));
    tc_raster raster = { .data = pixels.data, .w = w, .h = h, .stride = w * 3 };
    ok = ok && tc_jpeg_encode(&raster, 75, TC_CHROMA_420, out) == TC_OK;
    tc_buffer_free(&pixels);
    return ok;
}

static const tc_buffer *picture_of(uint64_t record)
{
    return &pool[record * 2654435761u % POOL];
}

/* Bytes of the comments that pad a picture, markers and lengths included. */
static uint64_t padding(void)
{
    return pad + (pad + PAD_STEP - 1) / PAD_STEP * 4;
}

static uint64_t bytes_of(uint64_t record)
{
    return picture_of(record)->bytes + 4 + COMMENT + padding();
}

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + TAR - 1) / TAR * TAR;
}

static void put(const void *data, size_t bytes)
{
    if (fwrite(data, 1, bytes, stdout) != bytes) {
        perror("many: cannot write");
        exit(1);
    }
}

static void put_header(const char *name, uint64_t bytes)
{
    char head[TAR] = { 0 };
    unsigned sum = 0;

    snprintf(head, 100, "%s", name);
    memcpy(head + 100, "0000644", 8);
    memcpy(head + 108, "0000000", 8);
    memcpy(head + 116, "0000000", 8);
    snprintf(head + 124, 12, "%011" PRIo64, bytes);
    memcpy(head + 136, "12345670123", 12);
    memset(head + 148, ' ', 8);
    head[156] = '0';
    memcpy(head + 257, "ustar\00000", 8);
    for (int i = 0; i < TAR; i++)
        sum += (unsigned char)head[i];
    snprintf(head + 148, 8, "%06o", sum);
    put(head, sizeof head);
}

static void put_zeros(uint64_t bytes)
{
    static const char zeros[2 * TAR];

    put(zeros, (size_t)bytes);
}

static void put_comment(const void *text, size_t bytes)
{
    uint8_t head[4] = { 0xff, 0xfe, (uint8_t)((bytes + 2) >> 8), (uint8_t)(bytes + 2) };

    put(head, sizeof head);
    put(text, bytes);
}

static void put_picture(const char *name, uint64_t record)
{
    static const uint8_t blank[PAD_STEP];
    const tc_buffer *picture = picture_of(record);
    char text[COMMENT + 1];

    snprintf(text, sizeof text, "%016" PRIu64, record);
    put_header(name, bytes_of(record));
    put(picture->data, 2);
    put_comment(text, COMMENT);
    for (uint64_t left = pad; left > 0;) {
        size_t now = left < PAD_STEP ? (size_t)left : PAD_STEP;
        put_comment(blank, now);
        left -= now;
    }
    put(picture->data + 2, picture->bytes - 2);
    put_zeros(rounded(bytes_of(record)) - bytes_of(record));
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fputs("many: RECORDS CLASSES SEED [PAD] are wanted\n", stderr);
        return 2;
    }
    uint64_t records = strtoull(argv[1], NULL, 10), classes = strtoull(argv[2], NULL, 10);
    uint64_t seed = strtoull(argv[3], NULL, 10), record = 0;

    pad = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    for (int i = 0; i < POOL; i++)
        if (!make_picture(seed, i, &pool[i])) {
            fprintf(stderr, "many: %s\n", tc_error_detail());
            return 1;
        }
    for (uint64_t c = 0; c < classes; c++) {
        uint64_t n = records / classes + (c < records % classes), bytes = 2 * TAR;
        char name[64];
        for (uint64_t i = 0; i < n; i++)
            bytes += TAR + rounded(bytes_of(record + i));
        snprintf(name, sizeof name, "n%08" PRIu64 ".tar", c + 1);
        put_header(name, bytes);
        for (uint64_t i = 0; i < n; i++, record++) {
            snprintf(name, sizeof name, "n%08" PRIu64 "_%" PRIu64 ".JPEG", c + 1, record);
            put_picture(name, record);
        }
        put_zeros(2 * TAR);
    }
    put_zeros(2 * TAR);
    for (int i = 0; i < POOL; i++)
        tc_buffer_free(&pool[i]);
    if (fflush(stdout) != 0) {
        perror("many: cannot write");
        return 1;
    }
    return 0;
}
