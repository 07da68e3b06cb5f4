/* What the pack tests need and a shell does not have.
 *   tool picture FILE W H SEED   a smooth JPEG of W x H, other for every seed
 *   tool craft NAME FILE         the crafted picture of this name; status 3: not by this libjpeg
 *                                (also oriented_1 … _8, oriented_png_1 … _8)
 *   tool craft                   the names of all crafted pictures, sound and bad
 *   tool dri FILE                put a restart interval before the frame header
 *   tool flip FILE OFFSET        flip a bit of one byte
 *   tool rename FILE FROM TO     replace one string by another of the same length */
#include <config.h>

#include "image/image.h"

#include "../image/craft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what)
{
    fprintf(stderr, "tool: %s: %s\n", what, tc_error_detail());
    return 1;
}

static bool load(const char *path, tc_buffer *buffer)
{
    FILE *file = fopen(path, "rb");
    uint8_t block[4096];
    bool ok = file != NULL;

    for (size_t n; ok && (n = fread(block, 1, sizeof block, file)) > 0;)
        ok = tc_buffer_append(buffer, block, n) == TC_OK;
    if (file != NULL)
        fclose(file);
    return ok;
}

static bool save(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    bool ok = file != NULL && fwrite(data, 1, bytes, file) == bytes;

    return file != NULL && fclose(file) == 0 && ok;
}

static int picture(const char *path, int64_t w, int64_t h, int seed)
{
    tc_buffer pixels = { 0 }, jpeg = { 0 };

    if (tc_buffer_reserve(&pixels, (size_t)(w * h * 3)) != TC_OK)
        return fail(path);
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++) {
            uint8_t *p = pixels.data + (y * w + x) * 3;
            p[0] = (uint8_t)(x * 255 / w);
            p[1] = (uint8_t)(y * 255 / h);
            p[2] = (uint8_t)(seed * 37 + (x / 8 + y / 8) % 2 * 64);
        }
    tc_raster raster = { .data = pixels.data, .w = w, .h = h, .stride = w * 3 };
    tc_chroma chroma = seed % 2 == 1 ? TC_CHROMA_444 : TC_CHROMA_420;
    bool ok = tc_jpeg_encode(&raster, 92, chroma, &jpeg) == TC_OK &&
              save(path, jpeg.data, jpeg.bytes);
    tc_buffer_free(&pixels);
    tc_buffer_free(&jpeg);
    return ok ? 0 : fail(path);
}

static int edit(const char *verb, const char *path, const char *from, const char *to)
{
    static const uint8_t dri[] = { 0xff, 0xdd, 0, 4, 0, 0 }; /* interval 0: none, but declared */
    tc_buffer in = { 0 }, out = { 0 };
    bool ok = load(path, &in);

    if (ok && strcmp(verb, "dri") == 0) {
        ok = tc_buffer_append(&out, in.data, 2) == TC_OK &&
             tc_buffer_append(&out, dri, sizeof dri) == TC_OK &&
             tc_buffer_append(&out, in.data + 2, in.bytes - 2) == TC_OK &&
             save(path, out.data, out.bytes);
    } else if (ok && strcmp(verb, "flip") == 0) {
        size_t at = (size_t)strtoull(from, NULL, 10);
        ok = at < in.bytes;
        if (ok)
            in.data[at] ^= 0x10;
        ok = ok && save(path, in.data, in.bytes);
    } else if (ok) {
        size_t length = strlen(from);
        uint8_t *at = memmem(in.data, in.bytes, from, length);
        ok = at != NULL && strlen(to) == length;
        if (ok)
            memcpy(at, to, length);
        ok = ok && save(path, in.data, in.bytes);
    }
    tc_buffer_free(&in);
    tc_buffer_free(&out);
    return ok ? 0 : fail(path);
}

static int craft(const char *name, const char *path)
{
    const craft_picture *p = craft_find(name);
    tc_buffer picture = { 0 };
    bool made = tc_buffer_reserve(&picture, 1) == TC_OK;

    if (p != NULL)
        made = made && p->make(&picture);
    else if (strncmp(name, "oriented_", 9) == 0)
        made = made && craft_oriented(name[strlen(name) - 1] - '0', strstr(name, "png") != NULL,
                                      &picture);
    else
        made = false;
    if (!made)
        return 3;
    bool ok = save(path, picture.data, picture.bytes);
    tc_buffer_free(&picture);
    return ok ? 0 : 1;
}

static int craft_names(void)
{
    for (const craft_picture *p = craft_sound; p->name != NULL; p++)
        printf("sound %s\n", p->name);
    for (const craft_picture *p = craft_bad; p->name != NULL; p++)
        printf("bad %s\n", p->name);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "picture") == 0)
        return picture(argv[2], atoll(argv[3]), atoll(argv[4]), atoi(argv[5]));
    if (argc == 2 && strcmp(argv[1], "craft") == 0)
        return craft_names();
    if (argc == 4 && strcmp(argv[1], "craft") == 0)
        return craft(argv[2], argv[3]);
    if (argc == 3 && strcmp(argv[1], "dri") == 0)
        return edit("dri", argv[2], NULL, NULL);
    if (argc == 4 && strcmp(argv[1], "flip") == 0)
        return edit("flip", argv[2], argv[3], NULL);
    if (argc == 5 && strcmp(argv[1], "rename") == 0)
        return edit("rename", argv[2], argv[3], argv[4]);
    fputs("tool: wrong use\n", stderr);
    return 2;
}
