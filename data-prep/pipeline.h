#ifndef TC_PACK_PIPELINE_H
#define TC_PACK_PIPELINE_H
/**
 * @file pipeline.h
 * Pictures through worker threads and out again in the order they came in.
 *
 * A ring of slots: the caller fills the next one, workers take them in turn, and when the ring is
 * full the oldest is waited for and handed to the sink, by the caller's own thread.  So memory is
 * bounded, and what comes out does not depend on the number of threads.
 * Flow: tc_pipeline_create() -> tc_pipeline_put() … -> tc_pipeline_drain()
 *       -> tc_pipeline_destroy().
 * Used by: create.
 */
#include "data-prep/journal.h"

/** What comes out; valid during the call of the sink. */
typedef struct {
    const char *name, *member; /* as they were put in */
    int32_t label;
    const uint8_t *data; /* NULL: it was known, and the shard has it */
    size_t bytes;
    uint64_t checksum; /* of what was known */
    uint64_t source;   /* hash of the bytes it was made of; 0: not read */
    bool known;
    tc_recoded result;
    tc_status status; /* of reading and recoding */
    const char *why;  /* of a failure */
} tc_packed;

typedef struct {
    int threads;
    tc_recode_options recode;
    tc_status (*sink)(void *context, const tc_packed *packed);
    void *context;
} tc_pipeline_options;

typedef struct tc_pipeline tc_pipeline;

tc_status tc_pipeline_create(const tc_pipeline_options *options, tc_pipeline **pipeline_p);

/**
 * Put one picture in.   Blocks: while the ring is full.
 *
 * @param file   The file to read, or NULL: the bytes are in @p data, which is swapped for another
 *               buffer.
 * @param known  What an earlier run made of it: it is read, but not recoded, and comes out with
 *               TC_STOPPED where it is not of these bytes.  NULL: nothing.  Copied.
 * @retval      what the sink returned for an earlier picture.
 */
tc_status tc_pipeline_put(tc_pipeline *pipeline, const char *name, const char *member,
                          int32_t label, const char *file, tc_buffer *data,
                          const tc_journal_entry *known);

/** Hand everything that is still inside to the sink. */
tc_status tc_pipeline_drain(tc_pipeline *pipeline);

/** End the threads, also with pictures inside.  NULL accepted. */
void tc_pipeline_destroy(tc_pipeline *pipeline);

#endif
