/* Sound PNGs of every kind, by libpng. */
#include <config.h>

#include "craft_jpeg.h"

#include <stdlib.h>
#include <string.h>

#if HAVE_PNG

#include <png.h>

#define TEXT_BYTES ((size_t)20 << 20)

static void on_write(png_structp png, png_bytep data, size_t bytes)
{
    if (tc_buffer_append(png_get_io_ptr(png), data, bytes) != TC_OK)
        png_error(png, "no memory");
}

static void on_flush(png_structp png)
{
    (void)png;
}

/* Put a sample of `bits` at position i of a row. */
static void put(unsigned char *row, int i, int bits, unsigned value)
{
    if (bits == 16) {
        row[2 * i] = (unsigned char)value; /* the upper half tells */
        row[2 * i + 1] = 0x7f;
    } else if (bits == 8) {
        row[i] = (unsigned char)value;
    } else {
        int shift = 8 - bits - i * bits % 8;
        row[i * bits / 8] |= (unsigned char)(value << shift);
    }
}

static void fill_row(unsigned char *row, int w, int h, int y, int bits, int type)
{
    bool alpha = (type & PNG_COLOR_MASK_ALPHA) != 0;
    bool colour = (type & PNG_COLOR_MASK_COLOR) != 0;
    int i = 0;

    for (int x = 0; x < w; x++) {
        int q = (y >= h / 2) * 2 + (x >= w / 2);
        if (type == PNG_COLOR_TYPE_PALETTE)
            put(row, i++, bits, (unsigned)q);
        else if (!colour)
            put(row, i++, bits, bits < 8 ? (unsigned)q & ((1u << bits) - 1)
                                         : craft_seen[CRAFT_SHADE][q][0]);
        else
            for (int c = 0; c < 3; c++)
                put(row, i++, bits, craft_seen[CRAFT_COLOUR][q][c]);
        if (alpha) /* one quarter is transparent: its colour counts all the same */
            put(row, i++, bits, q == 1 ? 0 : 255);
    }
}

static void add_palette(png_structp png, png_infop info)
{
    png_color palette[4];
    png_byte opacity[4] = { 255, 0, 128, 255 };

    for (int q = 0; q < 4; q++)
        palette[q] = (png_color){ craft_seen[CRAFT_COLOUR][q][0], craft_seen[CRAFT_COLOUR][q][1],
                                  craft_seen[CRAFT_COLOUR][q][2] };
    png_set_PLTE(png, info, palette, 4);
    png_set_tRNS(png, info, opacity, 4, NULL);
}

/* A text that is small in the file and large outside of it. */
static void add_text(png_structp png, png_infop info, char *text)
{
    png_text entry = { .compression = PNG_TEXT_COMPRESSION_zTXt, .key = (char *)"Comment" };

    memset(text, 'a', TEXT_BYTES);
    entry.text = text;
    entry.text_length = TEXT_BYTES;
    png_set_text(png, info, &entry, 1);
}

bool craft_png(int w, int h, int bits, int type, bool interlaced, bool text, tc_buffer *out)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    unsigned char *row = malloc((size_t)w * 8);
    char *comment = text ? calloc(1, TEXT_BYTES + 1) : NULL;

    if (row == NULL || (text && comment == NULL) || setjmp(png_jmpbuf(png)) != 0) {
        png_destroy_write_struct(&png, &info);
        free(row);
        free(comment);
        return false;
    }
    png_set_write_fn(png, out, on_write, on_flush);
    png_set_IHDR(png, info, (png_uint_32)w, (png_uint_32)h, bits, type,
                 interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, 0, 0);
    png_set_gAMA(png, info, 1.0); /* not applied */
    if (type == PNG_COLOR_TYPE_PALETTE)
        add_palette(png, info);
    if (text)
        add_text(png, info, comment);
    png_write_info(png, info);
    int passes = png_set_interlace_handling(png);
    for (int p = 0; p < passes; p++)
        for (int y = 0; y < h; y++) {
            memset(row, 0, (size_t)w * 8);
            fill_row(row, w, h, y, bits, type);
            png_write_row(png, row);
        }
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    free(row);
    free(comment);
    return true;
}

#else

bool craft_png(int w, int h, int bits, int type, bool interlaced, bool text, tc_buffer *out)
{
    (void)w, (void)h, (void)bits, (void)type, (void)interlaced, (void)text, (void)out;
    return false;
}

#endif
