/* What training makes of every crafted picture, if it stands in a shard as it is (--keep, or a
 * shard from elsewhere): sound JPEGs give their known colours, all others an error and nothing
 * worse. */
#include <config.h>

#include "loader/picture.h"

#include "../image/craft.h"
#include "../tap.h"

#include <stdlib.h>
#include <string.h>

#define SIZE   64
#define EPOCHS 8

static tc_loader_worker worker;
static tc_buffer data;
static uint8_t out[SIZE * SIZE * 3];

static tc_status picture(tc_augment augment, uint64_t epoch)
{
    tc_loader_options options = { .augment = augment, .size = SIZE, .seed = 3 };
    tc_record record = { .data = data.data, .bytes = data.bytes, .id = 7 };

    return tc_loader_picture(&worker, &options, SIZE, epoch, &record, out);
}

/* The largest difference of the middle of a quarter from its colour. */
static int colours_off(const craft_picture *p)
{
    int worst = 0;

    for (int q = 0; q < 4; q++)
        for (int c = 0; c < 3; c++) {
            int y = SIZE / 4 + q / 2 * SIZE / 2, x = SIZE / 4 + q % 2 * SIZE / 2;
            int d = abs(out[(y * SIZE + x) * 3 + c] - craft_seen[p->look][q][c]);
            worst = d > worst ? d : worst;
        }
    return worst;
}

/* Every augmentation, many draws: how many gave an error, and whether one gave anything else. */
static int errors_of(bool *odd)
{
    static const tc_augment kinds[] = { TC_AUGMENT_RANDOM_RESIZED, TC_AUGMENT_PAD,
                                        TC_AUGMENT_NONE };
    int errors = 0;

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
            tc_status status = picture(kinds[k], epoch);
            errors += status != TC_OK;
            *odd = *odd || (status != TC_OK && status != TC_FORMAT);
        }
    return errors;
}

static bool make(const craft_picture *p)
{
    data.bytes = 0;
    return tc_buffer_reserve(&data, 1) == TC_OK && p->make(&data);
}

static void sound(void)
{
    for (const craft_picture *p = craft_sound; p->name != NULL; p++) {
        bool odd = false;
        if (strstr(p->name, "png_") != NULL)
            continue; /* never stored */
        if (!make(p)) {
            tap_skip(p->name, "this libjpeg cannot make it");
            continue;
        }
        if (strncmp(p->name, "no_end", 6) == 0) { /* packing adds it */
            tap_ok(picture(TC_AUGMENT_NONE, 0) == TC_FORMAT, "%s: %s", p->name, tc_error_detail());
            continue;
        }
        tc_status status = picture(TC_AUGMENT_NONE, 0);
        int off = status == TC_OK ? colours_off(p) : 999, limit = p->w < 8 || p->h < 8 ? 255 : 6;
        tap_ok(off <= limit, "%s: its colours are at most %d off %s", p->name, off,
               status == TC_OK ? "" : tc_error_detail());
        int errors = errors_of(&odd);
        tap_ok(errors == 0, "%s: %d errors in %d draws", p->name, errors, 3 * EPOCHS);
    }
}

static void bad(void)
{
    for (const craft_picture *p = craft_bad; p->name != NULL; p++) {
        bool odd = false;
        if (!make(p)) {
            tap_skip(p->name, "this libjpeg or libpng cannot make it");
            continue;
        }
        /* Whole for libjpeg, which does not look for what is missing; packing does. */
        bool passes = strcmp(p->name, "lost_component") == 0;
        tc_status status = picture(TC_AUGMENT_NONE, 0);
        tap_ok(status == (passes ? TC_OK : TC_FORMAT), "%s: %s", p->name,
               status == TC_OK ? "decoded" : tc_error_detail());
        errors_of(&odd);
        tap_ok(!odd, "%s: parts of it are decoded or refused", p->name);
        const craft_picture *next = craft_find("baseline");
        tap_ok(make(next) && picture(TC_AUGMENT_NONE, 0) == TC_OK && colours_off(next) <= 6,
               "%s: the next picture is right", p->name);
    }
}

int main(void)
{
    size_t bytes = sizeof out;

    if (tc_decoder_create(0, &worker.decoder) != TC_OK ||
        tc_resizer_create(&worker.resizer) != TC_OK ||
        tc_alloc((int64_t)bytes, 1, "square", &worker.square.data) != TC_OK)
        return 99;
    worker.square = (tc_raster){ worker.square.data, SIZE, SIZE, 3 * SIZE };
    sound();
    bad();
    tc_loader_worker_destroy(&worker);
    tc_buffer_free(&data);
    return tap_done();
}
