#ifndef TC_TESTS_IMAGE_CRAFT_H
#define TC_TESTS_IMAGE_CRAFT_H
/* Pictures of every kind, sound and not, made on the spot: what packing has to cope with.
 *
 * Every sound one shows four quarters of one colour each, so that "decoded" can be held against
 * known colours.  Used by the tests of image/ and data-prep/ and as first inputs of the fuzzers. */
#include "base/mem.h"

#include <stdbool.h>

/* The colours of the quarters: top left, top right, bottom left, bottom right. */
typedef enum {
    CRAFT_COLOUR, /* four colours */
    CRAFT_SHADE,  /* four grays */
    CRAFT_INK,    /* what four mixtures of ink look like */
    CRAFT_BITS1,  /* black, white, black, white */
    CRAFT_BITS2,  /* the four grays of two bits */
    CRAFT_LOOKS
} craft_look;
extern const unsigned char craft_seen[CRAFT_LOOKS][4][3];

typedef struct {
    const char *name;              /* fit for a file name */
    bool (*make)(tc_buffer *out);  /* appends; false: cannot be made by this libjpeg or libpng */
    int w, h;                      /* of a sound one */
    craft_look look;
} craft_picture;

/* Sound pictures, then unsound ones; both lists end with a NULL name. */
extern const craft_picture craft_sound[];
extern const craft_picture craft_bad[];

/* The one of that name, of either list; NULL: there is none. */
const craft_picture *craft_find(const char *name);

/* A JPEG (PNG where `png`) of 96 x 64 with this Exif orientation. */
bool craft_oriented(int orientation, bool png, tc_buffer *out);

#endif
