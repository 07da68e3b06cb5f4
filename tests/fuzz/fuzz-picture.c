/* The picture path: any bytes are either refused with a fault, or become a JPEG that the trainer's
 * decoder reads with the sides that the index will say; and the trainer's decoder, given the very
 * bytes (as a shard from elsewhere may), refuses or decodes them, in part or whole. */
#include <config.h>

#include "fuzz.h"

#include "data-prep/recode.h"

#include "image/exif.h"

#include "../image/craft.h"

#include <stdio.h>
#include <stdlib.h>

#define PIXELS ((int64_t)1 << 18) /* small limits, so that more inputs are tried */
#define MEMORY ((int64_t)8 << 20)
#define SIZE   32

const char fuzz_name[] = "picture";

bool fuzz_seed(int i, const char **name_p, tc_buffer *out)
{
    const craft_picture *lists[] = { craft_sound, craft_bad };

    for (int l = 0; l < 2; l++)
        for (const craft_picture *p = lists[l]; p->name != NULL; p++)
            if (i-- == 0) {
                *name_p = p->name;
                if (!p->make(out))
                    out->bytes = 0; /* not by this libjpeg: nothing, then */
                return true;
            }
    return false;
}

/* The ways of packing, each with everything that it needs. */
enum { RESIZED, SALVAGED, KEPT, WAYS };
static const tc_recode_options ways[WAYS] = {
    [RESIZED] = { .quality = 80, .shorter = 24, .limits = { PIXELS, MEMORY, false } },
    [SALVAGED] = { .quality = 80, .shorter = 40, .turn = true, .limits = { PIXELS, MEMORY, true } },
    [KEPT] = { .keep = true, .quality = 80, .shorter = 24, .limits = { PIXELS, 0, false } },
};
static tc_recoder *recoders[WAYS];
static tc_decoder *decoder;
static tc_resizer *resizer;
static tc_buffer in, out;
static uint8_t square[SIZE * SIZE * 3];

static void set_up(void)
{
    bool ok = tc_decoder_create(PIXELS, &decoder) == TC_OK && tc_resizer_create(&resizer) == TC_OK;

    for (int w = 0; w < WAYS; w++)
        ok = ok && tc_recoder_create(&ways[w], &recoders[w]) == TC_OK;
    FUZZ_HOLDS(ok, "%s", tc_error_detail());
}

/* A part of the picture, chosen by n, or all of it, as a square.  Returns the decoder's status. */
static tc_status train(const tc_buffer *bytes, uint32_t n, tc_image_info *info)
{
    tc_raster part, to = { square, SIZE, SIZE, SIZE * 3 };

    tc_status status = tc_decoder_open(decoder, bytes->data, bytes->bytes, info);
    if (status != TC_OK)
        return status;
    FUZZ_HOLDS(info->w > 0 && info->h > 0 && info->w <= PIXELS / info->h, "%lld x %lld",
               (long long)info->w, (long long)info->h);
    tc_rect r = { 0, 0, info->w, info->h };
    if (n != 0)
        r = (tc_rect){ n % info->w, n / 7 % info->h, 1 + n / 3 % info->w, 1 + n / 11 % info->h };
    r.w = r.w < info->w - r.x ? r.w : info->w - r.x;
    r.h = r.h < info->h - r.y ? r.h : info->h - r.y;
    status = tc_decoder_crop(decoder, r, &part);
    if (status != TC_OK)
        return status;
    FUZZ_HOLDS(part.w == r.w && part.h == r.h, "not the crop that was asked for");
    tc_box box = { 0.25, 0.25, (double)part.w - 0.5, (double)part.h - 0.5 };
    if (tc_resize(resizer, &part, &to, n % 2 == 1) != TC_OK ||
        tc_resize_box(resizer, &part, box, &to, n % 2 == 0) != TC_OK)
        FUZZ_HOLDS(false, "resize: %s", tc_error_detail());
    return TC_OK;
}

static void pack(int way, uint32_t n)
{
    tc_recoded result;
    tc_image_info info = { 0 };

    tc_status status = tc_recode(recoders[way], &in, &out, &result);
    if (status != TC_OK) {
        FUZZ_HOLDS(status == TC_FORMAT && result.fault != TC_FAULT_NONE, "status %d: %s", status,
                   tc_error_detail());
        return;
    }
    const tc_buffer *stored = out.bytes > 0 ? &out : &in;
    status = train(stored, 0, &info);
    FUZZ_HOLDS(status == TC_OK, "packed, but not to be decoded: %s", tc_error_detail());
    FUZZ_HOLDS(info.w == result.w && info.h == result.h, "the sides are others");
    FUZZ_HOLDS(way == KEPT || tc_jpeg_is_plain(stored->data, stored->bytes), "it is not plain");
    FUZZ_HOLDS(way != SALVAGED || tc_exif_orientation(stored->data, stored->bytes) == 1,
               "it is not upright");
    status = train(stored, n, &info);
    FUZZ_HOLDS(status == TC_OK, "packed, but its parts cannot be decoded: %s", tc_error_detail());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    tc_image_info info;
    uint32_t n = 1;

    if (decoder == NULL)
        set_up();
    in.bytes = 0;
    FUZZ_HOLDS(tc_buffer_reserve(&in, 1) == TC_OK && tc_buffer_append(&in, data, bytes) == TC_OK,
               "no memory");
    for (size_t i = 0; i < bytes; i++)
        n = (n ^ data[i]) * 16777619u;
    for (int way = 0; way < WAYS; way++)
        pack(way, n | 1);
    tc_status status = train(&in, n | 1, &info);
    FUZZ_HOLDS(status == TC_OK || status == TC_FORMAT, "status %d: %s", status, tc_error_detail());
    return 0;
}
