/* The JPEG part of whole.h. */
#include <config.h>

#include "image/whole.h"

#include "image/cmyk.h"
#include "image/whole_impl.h"

#include <jerror.h>
#include <string.h>

#define MAX_SCANS   100 /* about ten are usual; each costs a pass over the picture */
#define BLOCK_BYTES 128 /* 64 coefficients */

/* Which fault an error of libjpeg is. */
static tc_fault fault_of(const tc_jpeg_errors *errors)
{
    switch (errors->base.msg_code) {
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_COMPONENT_COUNT:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_NOTIMPL:
    case JERR_SOF_UNSUPPORTED:
        return TC_FAULT_UNSUPPORTED;
    case JERR_IMAGE_TOO_BIG:
        return TC_FAULT_LIMIT;
    default:
        return errors->ends > 0 ? TC_FAULT_TRUNCATED : TC_FAULT_DAMAGED;
    }
}

/* The kinds of JPEG that libjpeg names by a number alone. */
static const char *process(int marker)
{
    switch (marker) {
    case 0xc3:
        return "a lossless JPEG";
    case 0xcb:
        return "a lossless arithmetic JPEG";
    case 0xc5:
    case 0xc6:
    case 0xc7:
    case 0xcd:
    case 0xce:
    case 0xcf:
        return "a hierarchical JPEG";
    default:
        return "a JPEG of an unknown process";
    }
}

static tc_status jpeg_failed(tc_whole *whole)
{
    const tc_jpeg_errors *errors = &whole->errors;
    tc_fault fault = fault_of(errors);

    if (errors->base.msg_code == JERR_OUT_OF_MEMORY) {
        whole->fault = TC_FAULT_NONE;
        return tc_fail(TC_NOMEM, "decoding a JPEG: %s", errors->text);
    }
    if (errors->base.msg_code == JERR_BAD_PRECISION)
        return tc_whole_fail(whole, fault, "a JPEG of %d bits a sample; only 8 can be read",
                             whole->jpeg.data_precision);
    if (errors->base.msg_code == JERR_SOF_UNSUPPORTED)
        return tc_whole_fail(whole, fault, "%s, which cannot be read",
                             process(errors->base.msg_parm.i[0]));
    return tc_whole_fail(whole, fault, "%s JPEG: %s", tc_fault_word(fault), errors->text);
}

tc_status tc_whole_jpeg_guarded(tc_whole *whole, void (*step)(tc_whole *whole))
{
    if (setjmp(whole->errors.jump) != 0) {
        tc_status status = jpeg_failed(whole); /* looks into the structure */
        if (whole->created)
            jpeg_abort_decompress(&whole->jpeg);
        return status;
    }
    step(whole);
    return TC_OK;
}

static void limit_scans(j_common_ptr jpeg)
{
    tc_jpeg_errors *errors = (tc_jpeg_errors *)jpeg->err;

    if (((j_decompress_ptr)jpeg)->input_scan_number > MAX_SCANS) {
        errors->base.msg_code = JERR_NOTIMPL;
        snprintf(errors->text, sizeof errors->text, "more than %d scans", MAX_SCANS);
        longjmp(errors->jump, 1);
    }
}

void tc_whole_jpeg_renew(tc_whole *whole)
{
    if (whole->created)
        jpeg_destroy_decompress(&whole->jpeg);
    whole->created = false;
    jpeg_create_decompress(&whole->jpeg);
    whole->created = true;
    whole->jpeg.progress = &whole->progress;
}

tc_status tc_whole_jpeg_start(tc_whole *whole)
{
    whole->jpeg.err = tc_jpeg_errors_init(&whole->errors);
    whole->progress.progress_monitor = limit_scans;
    tc_status status = tc_whole_jpeg_guarded(whole, tc_whole_jpeg_renew);
    return status == TC_OK ? TC_OK
                           : tc_fail(TC_NOMEM, "libjpeg does not start: %s", whole->errors.text);
}

void tc_whole_jpeg_end(tc_whole *whole)
{
    if (whole->created)
        jpeg_destroy_decompress(&whole->jpeg);
}

static void header_step(tc_whole *whole)
{
    tc_whole_jpeg_renew(whole);
    jpeg_mem_src(&whole->jpeg, whole->data, whole->bytes);
    jpeg_read_header(&whole->jpeg, TRUE);
}

/* Start anew on whole->data. */
static tc_status read_header(tc_whole *whole)
{
    whole->errors.damage = whole->errors.ends = 0;
    return tc_whole_jpeg_guarded(whole, header_step);
}

int64_t tc_whole_jpeg_coefficients(const tc_whole *whole)
{
    const struct jpeg_decompress_struct *jpeg = &whole->jpeg;
    int64_t blocks = 0;

    for (int c = 0; c < jpeg->num_components; c++) {
        const jpeg_component_info *component = &jpeg->comp_info[c];
        int64_t h = component->h_samp_factor, v = component->v_samp_factor;
        /* whole MCUs are kept */
        blocks += (component->width_in_blocks + h - 1) / h * h *
                  ((component->height_in_blocks + v - 1) / v * v);
    }
    return blocks * BLOCK_BYTES;
}

/* "4:2:0" and the like, by the factors of the three components. */
static void name_sampling(tc_whole_info *info, const jpeg_component_info *c)
{
    static const struct {
        int h, v;
        const char *name;
    } known[] = { { 1, 1, "4:4:4" }, { 2, 1, "4:2:2" }, { 1, 2, "4:4:0" }, { 2, 2, "4:2:0" },
                  { 4, 1, "4:1:1" }, { 1, 4, "4:4:1" }, { 4, 2, "4:1:0" } };
    bool even = c[1].h_samp_factor == c[2].h_samp_factor &&
                c[1].v_samp_factor == c[2].v_samp_factor &&
                c[0].h_samp_factor % c[1].h_samp_factor == 0 &&
                c[0].v_samp_factor % c[1].v_samp_factor == 0;

    snprintf(info->sampling, sizeof info->sampling, "odd");
    for (size_t i = 0; even && i < sizeof known / sizeof *known; i++)
        if (c[0].h_samp_factor / c[1].h_samp_factor == known[i].h &&
            c[0].v_samp_factor / c[1].v_samp_factor == known[i].v)
            snprintf(info->sampling, sizeof info->sampling, "%s", known[i].name);
}

tc_status tc_whole_jpeg_open(tc_whole *whole)
{
    struct jpeg_decompress_struct *jpeg = &whole->jpeg;
    tc_whole_info *info = &whole->info;

    tc_status status = read_header(whole);
    if (status != TC_OK)
        return status;
    bool scans = jpeg_has_multiple_scans(jpeg);
    info->w = jpeg->image_width;
    info->h = jpeg->image_height;
    info->components = jpeg->num_components;
    info->gray = info->components == 1;
    info->adobe = jpeg->saw_Adobe_marker;
    info->ycck = jpeg->jpeg_color_space == JCS_YCCK;
    info->progressive = jpeg->progressive_mode;
    info->arithmetic = jpeg->arith_code;
    info->restart = jpeg->restart_interval != 0;
    info->scans = scans && !info->progressive;
    if (info->components != 1 && info->components != 3 && info->components != 4)
        return tc_whole_fail(whole, TC_FAULT_UNSUPPORTED,
                             "a JPEG of %d components; 1, 3 and 4 are known", info->components);
    if (info->components == 3)
        name_sampling(info, jpeg->comp_info);
    if (whole->errors.damage > 0 && !whole->options.salvage)
        return jpeg_failed(whole);
    return tc_whole_allow(whole, info->w, info->h, scans ? tc_whole_jpeg_coefficients(whole) : 0);
}

/* Whether something of every component came; of a file without its end: all that there can be. */
static bool came(const struct jpeg_decompress_struct *jpeg, bool all)
{
    for (int c = 0; c < jpeg->num_components; c++) {
        if (jpeg->comp_info[c].quant_table == NULL)
            return false;
        for (int k = 0; all && jpeg->coef_bits != NULL && k < DCTSIZE2; k++)
            if (jpeg->coef_bits[c][k] != 0)
                return false;
    }
    return true;
}

static void decode_step(tc_whole *whole)
{
    struct jpeg_decompress_struct *jpeg = &whole->jpeg;
    bool cmyk = jpeg->num_components == 4;

    jpeg->out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    jpeg->dct_method = JDCT_ISLOW;
    jpeg->do_fancy_upsampling = TRUE;
    jpeg_start_decompress(jpeg);
    while (jpeg->output_scanline < jpeg->output_height) {
        uint8_t *to = whole->raster->data + (int64_t)jpeg->output_scanline * whole->raster->stride;
        JSAMPROW row = cmyk ? whole->row.data : to;
        if (jpeg_read_scanlines(jpeg, &row, 1) == 1 && cmyk)
            tc_cmyk_to_rgb(row, whole->info.w, whole->info.adobe, to);
        whole->rows = jpeg->output_scanline;
    }
    whole->complete = came(jpeg, whole->data == whole->padded.data);
    jpeg_finish_decompress(jpeg); /* reads to the end marker */
    whole->info.used = whole->bytes - jpeg->src->bytes_in_buffer;
}

/* Once more with the end marker that is missing: if nothing else is, the pixels are whole. */
static tc_status decode_padded(tc_whole *whole)
{
    whole->padded.bytes = 0;
    tc_status status = tc_buffer_reserve(&whole->padded, whole->bytes + 2);
    if (status == TC_OK)
        status = tc_buffer_append(&whole->padded, whole->data, whole->bytes);
    if (status == TC_OK)
        status = tc_buffer_append(&whole->padded, "\xff\xd9", 2);
    if (status != TC_OK)
        return status;
    const uint8_t *data = whole->data;
    char text[sizeof whole->errors.text];
    memcpy(text, whole->errors.text, sizeof text);
    whole->data = whole->padded.data;
    whole->bytes += 2;
    status = read_header(whole);
    if (status == TC_OK)
        status = tc_whole_jpeg_guarded(whole, decode_step);
    whole->info.unended = status == TC_OK && whole->errors.damage == 0 && whole->complete;
    if (whole->info.unended) {
        whole->info.used = whole->bytes - 2;
        return TC_OK;
    }
    whole->data = data;
    whole->bytes -= 2;
    memcpy(whole->errors.text, text, sizeof text); /* the file's own fault */
    whole->errors.damage = whole->errors.ends = 1;
    whole->errors.base.msg_code = JWRN_JPEG_EOF;
    return status == TC_NOMEM ? status : TC_OK;
}

tc_status tc_whole_jpeg_decode(tc_whole *whole, tc_raster *raster)
{
    const tc_jpeg_errors *errors = &whole->errors;
    tc_whole_info *info = &whole->info;

    tc_status status = tc_whole_make_raster(whole, raster);
    if (status == TC_OK && info->components == 4)
        status = tc_buffer_reserve(&whole->row, (size_t)info->w * 4);
    if (status != TC_OK)
        return status;
    whole->raster = raster;
    whole->rows = 0;
    whole->complete = false;
    status = tc_whole_jpeg_guarded(whole, decode_step);
    if (status == TC_OK && errors->ends > 0 && errors->damage == errors->ends)
        status = decode_padded(whole);
    bool missing = status == TC_OK && errors->damage == 0 && !whole->complete;
    if (missing)
        snprintf(whole->errors.text, sizeof whole->errors.text, "a component has no data");
    if (status == TC_NOMEM || (status == TC_OK && errors->damage == 0 && !missing))
        return status;
    if (whole->options.salvage && whole->rows > 0) {
        info->salvaged = true;
        info->used = whole->bytes;
        snprintf(info->damage, sizeof info->damage, "%.127s", errors->text);
        return TC_OK;
    }
    if (missing)
        return tc_whole_fail(whole, TC_FAULT_DAMAGED, "damaged JPEG: %s", errors->text);
    return status == TC_OK ? jpeg_failed(whole) : status;
}
