#ifndef TC_IMAGE_WHOLE_H
#define TC_IMAGE_WHOLE_H
/**
 * @file whole.h
 * Whole pictures as people have them: told by content, judged, decoded to RGB.
 *
 * For packing, where a picture is met once and every oddity has to be found and named; training
 * decodes parts of sound JPEGs (image.h).  Limits are held against the headers, before memory is
 * taken.  Alpha is dropped and colour profiles, gamma and orientation are not applied, as Pillow's
 * convert("RGB") has it; of 16 bits a sample the upper 8 are used.
 * Flow:  tc_whole_create() (one a thread) -> { tc_whole_open() -> tc_whole_decode()
 *        (-> tc_whole_transcode()) } … -> tc_whole_destroy().
 * Used by: data-prep.
 */
#include "image/image.h"
#include "image/kind.h"

/** What is wrong with a picture.  X-macro table: name, the word that stands in lists. */
#define TC_FAULT_TABLE(X)            \
    X(NONE, "sound")                 \
    X(EMPTY, "empty")                \
    X(FOREIGN, "foreign")            \
    X(UNSUPPORTED, "unsupported")    \
    X(LIMIT, "too-large")            \
    X(TRUNCATED, "truncated")        \
    X(DAMAGED, "damaged")

typedef enum {
#define X(name, word) TC_FAULT_##name,
    TC_FAULT_TABLE(X)
#undef X
} tc_fault;

const char *tc_fault_word(tc_fault fault);

typedef struct {
    int64_t max_pixels; /* of one picture; 0: TC_WHOLE_PIXELS */
    int64_t max_memory; /* bytes that decoding one may take; 0: TC_WHOLE_MEMORY */
    bool salvage;       /* keep what can be decoded of a damaged picture; the rest is gray */
} tc_whole_options;

#define TC_WHOLE_PIXELS ((int64_t)1 << 27) /* 134 megapixels: twice the largest of ImageNet */
#define TC_WHOLE_MEMORY ((int64_t)1 << 30)

/** What a picture is.  Complete after tc_whole_open(), but for the last part. */
typedef struct {
    tc_kind kind;      /* JPEG or PNG */
    int64_t w, h;      /* as stored */
    int components;    /* of a JPEG: 1, 3, 4; channels of a PNG, a palette counting as 1 */
    int bits;          /* a sample */
    bool gray;         /* one shade, alpha or not */
    bool adobe;        /* the marker that tells inverted inks */
    bool ycck;         /* 4 components, of which three are YCbCr */
    bool progressive, arithmetic, interlaced, palette, alpha;
    bool restart;      /* a restart interval is declared */
    bool scans;        /* several, though not progressive: one for each component */
    char sampling[8];  /* of a JPEG of three components: "4:2:0", …, "odd"; else "" */
    int orientation;   /* Exif, 1 to 8 */
    /* After tc_whole_decode(): */
    bool salvaged;     /* damaged, and its pixels are what could be had */
    char damage[128];  /* what the matter is with a salvaged one */
    bool unended;      /* whole, but for the end marker, which is missing */
    size_t used;       /* bytes up to the end of the picture; what follows is none of it */
} tc_whole_info;

typedef struct tc_whole tc_whole;

tc_status tc_whole_create(const tc_whole_options *options, tc_whole **whole_p);
void tc_whole_destroy(tc_whole *whole); /* NULL accepted */

/**
 * Read a picture's headers and hold them against the limits.
 *
 * @p data is borrowed until the next open or destroy.
 * @param[out] info_p  A view, valid until the next open; later calls complete it.
 * @retval TC_FORMAT   with a tc_whole_fault(): neither JPEG nor PNG, unsupported, too large,
 *                     truncated or damaged headers.
 * @retval TC_NOMEM    the fault is NONE: the picture is not to blame.
 */
tc_status tc_whole_open(tc_whole *whole, const uint8_t *data, size_t bytes,
                        const tc_whole_info **info_p);

/**
 * Decode the opened picture.  Once per open.
 *
 * A JPEG whose pixels are whole is sound, whatever surrounds them (bytes between segments, a
 * missing end marker, odd versions).  Wrong or missing pixels are damage, also where libjpeg only
 * warns; with `salvage` they are gray or what libjpeg makes of them, and it is a failure only if
 * nothing at all can be seen.
 *
 * @param[out] raster_p  A view, valid until the next open.
 * @retval TC_FORMAT, TC_NOMEM  as for tc_whole_open().
 */
tc_status tc_whole_decode(tc_whole *whole, tc_raster *raster_p);

/** Why the last call failed. */
tc_fault tc_whole_fault(const tc_whole *whole);

/**
 * Write the decoded JPEG anew from its coefficients, so that nothing is lost: baseline Huffman
 * where its tables allow it, without restart markers and without segments that decoding ignores.
 * Only after a tc_whole_decode() that salvaged nothing; the decoded raster stays.
 *
 * @param[out] out     Appended to.
 * @retval TC_FORMAT   libjpeg does not take it, or it would take more memory than allowed; the
 *                     way left is to encode the pixels.
 */
tc_status tc_whole_transcode(tc_whole *whole, tc_buffer *out);

/** Whether JPEG bytes are baseline (SOF0), bring Huffman tables and hold neither restart interval
 *  nor restart marker. */
bool tc_jpeg_is_plain(const uint8_t *data, size_t bytes);

#endif
