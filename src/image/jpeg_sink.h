#ifndef TC_IMAGE_JPEG_SINK_H
#define TC_IMAGE_JPEG_SINK_H
/**
 * @file jpeg_sink.h
 * Where libjpeg writes to: the end of a buffer that grows.  Private to image/.
 */
#include "base/mem.h"
#include "image/jpeg_error.h"

typedef struct {
    struct jpeg_destination_mgr base; /* first: libjpeg hands back a pointer to it */
    tc_buffer *out;
    tc_status status; /* of growing `out`; libjpeg's own error then says "out of memory" */
} tc_jpeg_sink;

/** Make @p jpeg append to @p out. */
void tc_jpeg_sink_init(tc_jpeg_sink *sink, struct jpeg_compress_struct *jpeg, tc_buffer *out);

#endif
