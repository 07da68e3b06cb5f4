/* Decoding and resizing allocate nothing once the largest picture has been seen; and a picture is
 * decoded alike whatever came before it. */
#include <config.h>

#include "image/image.h"

#include "../tap.h"
#include "pictures.h"
#include <errno.h>
#include <string.h>

/* AddressSanitizer has its own malloc(); elsewhere than in glibc there is no other way to it. */
#if defined __GLIBC__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define COUNTS 1
void *__libc_malloc(size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
static long allocations;

void *malloc(size_t bytes)
{
    allocations++;
    return __libc_malloc(bytes);
}

void *realloc(void *old, size_t bytes)
{
    allocations++;
    return __libc_realloc(old, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    allocations++;
    *out = __libc_memalign(alignment, bytes);
    return *out == NULL ? ENOMEM : 0;
}
#else
#define COUNTS 0
static long allocations;
#endif

enum { PICTURES = 12, SIDE = 64 };

typedef struct {
    tc_decoder *decoder;
    tc_resizer *resizer;
    tc_buffer jpeg[PICTURES];
    int64_t w[PICTURES], h[PICTURES];
} tools;

static tc_status show(tools *t, int i, int64_t left, uint8_t *out)
{
    tc_raster part, target = { .data = out, .w = SIDE, .h = SIDE, .stride = 3 * SIDE };
    tc_image_info info;

    tc_status status = tc_decoder_open(t->decoder, t->jpeg[i].data, t->jpeg[i].bytes, &info);
    if (status == TC_OK)
        status = tc_decoder_crop(
            t->decoder, (tc_rect){ left, left / 2, t->w[i] - left, t->h[i] - left }, &part);
    if (status == TC_OK)
        status = tc_resize(t->resizer, &part, &target, i % 2);
    return status;
}

int main(void)
{
    static uint8_t first[PICTURES][3 * SIDE * SIDE], again[3 * SIDE * SIDE];
    tools t = { 0 };
    bool ok = tc_decoder_create(0, &t.decoder) == TC_OK && tc_resizer_create(&t.resizer) == TC_OK;

    for (int i = 0; ok && i < PICTURES; i++) {
        t.w[i] = 500 - 37 * i;
        t.h[i] = 60 + 33 * i;
        tc_raster picture = picture_draw(t.w[i], t.h[i], (uint64_t)i);
        ok = tc_jpeg_encode(&picture, 90, i % 3 ? TC_CHROMA_420 : TC_CHROMA_444, &t.jpeg[i]) ==
             TC_OK;
        free(picture.data);
    }
    for (int i = 0; ok && i < PICTURES; i++)
        ok = show(&t, i, 0, first[i]) == TC_OK;
    for (int i = 0; ok && i < PICTURES; i++) /* room for the largest of everything */
        ok = show(&t, i, 0, again) == TC_OK;
    long before = allocations;
    int unlike = 0;
    for (int i = 0; ok && i < 20 * PICTURES; i++) {
        int k = i * 7 % PICTURES;
        ok = show(&t, k, i % 16, again) == TC_OK;
        if (i % 16 == 0)
            unlike += memcmp(again, first[k], sizeof again) != 0;
        if (i % 5 == 0) { /* a cut one in between */
            size_t bytes = t.jpeg[k].bytes;
            t.jpeg[k].bytes /= 2;
            ok = ok && show(&t, k, 0, again) == TC_FORMAT;
            t.jpeg[k].bytes = bytes;
        }
    }
    long after = allocations;
    tap_ok(ok && unlike == 0, "a picture is the same after any other, or a damaged one");
    if (COUNTS)
        tap_ok(before > 0 && after == before, "%ld allocations in %d pictures", after - before,
               20 * PICTURES);
    else
        tap_skip("allocations", "malloc() is not glibc's");
    tc_decoder_destroy(t.decoder);
    tc_resizer_destroy(t.resizer);
    for (int i = 0; i < PICTURES; i++)
        tc_buffer_free(&t.jpeg[i]);
    return tap_done();
}
