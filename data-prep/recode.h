#ifndef TC_PACK_RECODE_H
#define TC_PACK_RECODE_H
/**
 * @file recode.h
 * One picture from the source's bytes to those of the shard.
 *
 * Every picture is decoded whole, so that a damaged one is found here and not in training.  Then,
 * with `keep`, its bytes stay as they are.  Without, it is resized so that its shorter side is at
 * most `shorter` (never enlarged) and written as a baseline JPEG of `quality`, 4:2:0, without
 * restart markers; a picture that is small enough, baseline and free of restart markers already
 * keeps its bytes, since encoding it a second time would only lose.
 * Used by: pipeline.
 */
#include "base/mem.h"
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    bool keep;
    int quality;     /* 1..100 */
    int64_t shorter; /* pixels, >= 1 */
} tc_recode_options;

typedef struct tc_recoder tc_recoder; /* one a thread */

tc_status tc_recoder_create(const tc_recode_options *options, tc_recoder **recoder_p);
void tc_recoder_destroy(tc_recoder *recoder); /* NULL accepted */

/**
 * Check one picture and encode it again where it has to be.
 *
 * @param[out] out     Replaced: the new bytes; empty where those of @p in stay.
 * @param[out] w_p,h_p Sides of what goes into the shard.
 * @retval TC_FORMAT   not a JPEG, damaged, truncated.
 */
tc_status tc_recode(tc_recoder *recoder, const tc_buffer *in, tc_buffer *out, uint32_t *w_p,
                    uint32_t *h_p);

/** Whether JPEG bytes are baseline (SOF0) and hold neither restart interval nor restart marker. */
bool tc_jpeg_is_plain(const uint8_t *data, size_t bytes);

#endif
