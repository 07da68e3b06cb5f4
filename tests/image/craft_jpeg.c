/* Sound JPEGs of every kind, by libjpeg. */
#include <config.h>

#include "craft_jpeg.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

const unsigned char craft_seen[CRAFT_LOOKS][4][3] = {
    [CRAFT_COLOUR] = { { 200, 40, 40 }, { 40, 180, 60 }, { 50, 60, 200 }, { 220, 210, 60 } },
    [CRAFT_SHADE] = { { 30, 30, 30 }, { 120, 120, 120 }, { 250, 250, 250 }, { 180, 180, 180 } },
    [CRAFT_INK] = { { 0, 255, 255 }, { 255, 0, 255 }, { 127, 127, 0 }, { 51, 102, 153 } },
    [CRAFT_BITS1] = { { 0, 0, 0 }, { 255, 255, 255 }, { 0, 0, 0 }, { 255, 255, 255 } },
    [CRAFT_BITS2] = { { 0, 0, 0 }, { 85, 85, 85 }, { 170, 170, 170 }, { 255, 255, 255 } },
};

const unsigned char craft_inks[4][4] = {
    { 255, 0, 0, 0 }, { 0, 255, 0, 0 }, { 0, 0, 255, 128 }, { 170, 85, 0, 102 }
};

static int quarter(int x, int y, int w, int h)
{
    return (y >= h / 2) * 2 + (x >= w / 2);
}

const unsigned char *craft_at(craft_look look, int x, int y, int w, int h)
{
    return craft_seen[look][quarter(x, y, w, h)];
}

typedef struct {
    struct jpeg_error_mgr base;
    jmp_buf jump;
} errors;

static void on_error(j_common_ptr jpeg)
{
    longjmp(((errors *)jpeg->err)->jump, 1);
}

/* One sample of a file of this kind. */
static void sample(const craft_jpeg *kind, int x, int y, int w, int h, unsigned char *to)
{
    int q = quarter(x, y, w, h);

    if (kind->space == JCS_CMYK || kind->space == JCS_YCCK)
        for (int c = 0; c < 4; c++)
            to[c] = (unsigned char)(kind->inverted ? 255 - craft_inks[q][c] : craft_inks[q][c]);
    else if (kind->space == JCS_GRAYSCALE)
        to[0] = craft_seen[CRAFT_SHADE][q][0];
    else
        memcpy(to, craft_seen[CRAFT_COLOUR][q], 3);
}

/* One scan a component. */
static void separate(struct jpeg_compress_struct *jpeg, jpeg_scan_info scans[4])
{
    for (int c = 0; c < jpeg->num_components; c++)
        scans[c] = (jpeg_scan_info){ .comps_in_scan = 1, .component_index = { c }, .Se = 63 };
    jpeg->scan_info = scans;
    jpeg->num_scans = jpeg->num_components;
}

static void set_up(const craft_jpeg *kind, struct jpeg_compress_struct *jpeg,
                   jpeg_scan_info scans[4])
{
    bool ink = kind->space == JCS_CMYK || kind->space == JCS_YCCK;

    jpeg->input_components = ink ? 4 : kind->space == JCS_GRAYSCALE ? 1 : 3;
    jpeg->in_color_space = ink ? JCS_CMYK : kind->space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
    if (kind->components != 0) {
        jpeg->input_components = kind->components;
        jpeg->in_color_space = JCS_UNKNOWN;
    }
    jpeg_set_defaults(jpeg);
    if (kind->space == JCS_YCCK || kind->space == JCS_RGB)
        jpeg_set_colorspace(jpeg, kind->space);
    jpeg_set_quality(jpeg, 95, TRUE);
    if (kind->across != 0) {
        jpeg->comp_info[0].h_samp_factor = kind->across;
        jpeg->comp_info[0].v_samp_factor = kind->down;
    }
    if (kind->odd) {
        jpeg->comp_info[1].h_samp_factor = 2;
        jpeg->comp_info[2].v_samp_factor = 2;
    }
    if (kind->progressive)
        jpeg_simple_progression(jpeg);
    if (kind->scans)
        separate(jpeg, scans);
    jpeg->arith_code = kind->arithmetic;
    jpeg->restart_interval = (unsigned)kind->restart;
    if (ink)
        jpeg->write_Adobe_marker = kind->inverted;
}

/* Everything that may jump. */
static void encode(const craft_jpeg *kind, struct jpeg_compress_struct *jpeg, unsigned char *row)
{
    jpeg_scan_info scans[4];
    int w = (int)jpeg->image_width, h = (int)jpeg->image_height;

    set_up(kind, jpeg, scans);
    jpeg_start_compress(jpeg, TRUE);
    for (int y = 0; y < h; y++) {
        for (int x = 0; x < w; x++)
            sample(kind, x, y, w, h, row + (size_t)x * (size_t)jpeg->input_components);
        jpeg_write_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_compress(jpeg);
}

bool craft_encode(const craft_jpeg *kind, tc_buffer *out)
{
    int w = kind->w != 0 ? kind->w : 96, h = kind->h != 0 ? kind->h : 64;
    struct jpeg_compress_struct jpeg;
    errors e;
    unsigned char *data = NULL, *row = calloc((size_t)w + 1, 4);
    unsigned long bytes = 0;
    volatile bool ok = false;

    jpeg.err = jpeg_std_error(&e.base);
    e.base.error_exit = on_error;
    jpeg_create_compress(&jpeg);
    jpeg.image_width = (JDIMENSION)w;
    jpeg.image_height = (JDIMENSION)h;
    jpeg_mem_dest(&jpeg, &data, &bytes);
    if (row != NULL && setjmp(e.jump) == 0) {
        encode(kind, &jpeg, row);
        ok = true;
    }
    jpeg_destroy_compress(&jpeg);
    ok = ok && tc_buffer_append(out, data, bytes) == TC_OK;
    free(data);
    free(row);
    return ok;
}
