#ifndef TC_PACK_RECODE_H
#define TC_PACK_RECODE_H
/**
 * @file recode.h
 * One picture from the source's bytes to those of the shard.
 *
 * Every picture is told by its content and decoded whole, so that a damaged one is found here and
 * not in training.  What goes into the shard is always a JPEG that tc_decoder can read:
 *   - with `keep`, the bytes as they are, of every JPEG;
 *   - without, resized so that its shorter side is at most `shorter` (never enlarged) and written
 *     as a baseline JPEG of `quality`, 4:2:0 (gray ones as gray), without restart markers;
 *   - a JPEG that is small enough is not coded a second time, which would only lose: it keeps its
 *     bytes where it is plain, and where it is progressive, arithmetic or has restart markers its
 *     coefficients are coded anew without loss;
 *   - a PNG, and with `turn` a picture that lies on its side, is always encoded.
 * Used by: pipeline.
 */
#include "image/whole.h"

typedef struct {
    bool keep;
    int quality;             /* 1..100 */
    int64_t shorter;         /* pixels, >= 1 */
    bool turn;               /* by the Exif orientation; else it is ignored, as torchvision does */
    tc_whole_options limits; /* and salvage */
} tc_recode_options;

/** How the bytes of the shard came about. */
#define TC_OUTCOME_TABLE(X)        \
    X(KEPT, "kept")                \
    X(TRANSCODED, "transcoded")    \
    X(ENCODED, "encoded")

typedef enum {
#define X(name, word) TC_OUTCOME_##name,
    TC_OUTCOME_TABLE(X)
#undef X
    TC_OUTCOMES
} tc_outcome;

/** What there is to say of a picture, beside a new size.  X-macro table: name, word in lists. */
#define TC_NOTE_TABLE(X)           \
    X(PNG, "png")                  \
    X(GRAY, "gray")                \
    X(CMYK, "cmyk")                \
    X(PROGRESSIVE, "progressive")  \
    X(ARITHMETIC, "arithmetic")    \
    X(SCANS, "scans")              \
    X(RESTART, "restart")          \
    X(CODING, "coding")            \
    X(SAMPLING, "sampling")        \
    X(ORIENTATION, "orientation")  \
    X(TURNED, "turned")            \
    X(UNENDED, "no-end")           \
    X(TRAILING, "trailing")        \
    X(SALVAGED, "salvaged")

typedef enum {
#define X(name, word) TC_NOTE_##name,
    TC_NOTE_TABLE(X)
#undef X
    TC_NOTES
} tc_note;

/** What became of a picture. */
typedef struct {
    uint32_t w, h; /* sides of what goes into the shard */
    tc_outcome outcome;
    uint32_t notes;   /* bit 1 << tc_note for each that applies */
    char detail[192]; /* of those that have more to say: "4:4:0; orientation 6" */
    tc_fault fault;   /* of a TC_FORMAT */
} tc_recoded;

const char *tc_outcome_word(tc_outcome outcome);
const char *tc_note_word(tc_note note);

typedef struct tc_recoder tc_recoder; /* one a thread */

tc_status tc_recoder_create(const tc_recode_options *options, tc_recoder **recoder_p);
void tc_recoder_destroy(tc_recoder *recoder); /* NULL accepted */

/**
 * Check one picture and make of it what goes into the shard.
 *
 * @param[out] out     Replaced: the new bytes; empty where those of @p in stay.
 * @param[out] result  Complete on success; on failure its fault alone.
 * @retval TC_FORMAT   with a fault: the picture is to blame.
 */
tc_status tc_recode(tc_recoder *recoder, const tc_buffer *in, tc_buffer *out, tc_recoded *result);

#endif
