#ifndef TC_TRAIN_SAFETENSORS_H
#define TC_TRAIN_SAFETENSORS_H
/**
 * @file safetensors.h
 * Named tensors in one file: 8 bytes of header length (little-endian), a JSON header, the data.
 *
 * Format: https://github.com/huggingface/safetensors (README, "Format").   Used by: checkpoint.
 */
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

#define TC_TENSOR_NAME_MAX 128

typedef enum { TC_TENSOR_F32, TC_TENSOR_F64, TC_TENSOR_I64 } tc_tensor_type;

/** One tensor of a file, with its place in the caller's memory: the same list writes and reads. */
typedef struct {
    char name[TC_TENSOR_NAME_MAX];
    tc_tensor_type type;
    int n_dims; /* 0: a scalar */
    int64_t dims[4];
    void *data;    /* borrowed; write: source, read: destination; NULL: skipped by the reader */
    bool optional; /* the reader accepts its absence */
} tc_tensor;

/**
 * Write path.tmp, sync it and rename it to @p path.
 *
 * @param metadata  JSON object whose values are strings, for `__metadata__`; NULL: none.
 * @retval TC_IO (the temporary file is removed), TC_NOMEM, TC_INVAL (metadata).
 */
tc_status tc_safetensors_write(const char *path, const char *metadata, const tc_tensor *tensor,
                               int64_t n);

/**
 * Read the listed tensors.
 *
 * @retval TC_IO      cannot be opened or read.
 * @retval TC_FORMAT  not such a file, truncated, offsets that overlap or lie outside, a tensor
 *                    missing, of another shape or type, or one that the list does not know; each by
 *                    name.  The destinations are then undefined.
 */
tc_status tc_safetensors_read(const char *path, const tc_tensor *tensor, int64_t n);

/** Receive the shape of one tensor; dims (n_dims) stay as they are where the file has no tensor of
 *  this name with so many dimensions.  @retval TC_IO, TC_FORMAT  as above. */
tc_status tc_safetensors_shape(const char *path, const char *name, int n_dims, int64_t *dims);

/** Receive the JSON text of `__metadata__` ("{}" where there is none); tc_free() it.
 *  @retval TC_IO, TC_FORMAT  as above. */
tc_status tc_safetensors_metadata(const char *path, char **metadata_p);

/** Sync the folder that holds @p path, so that a rename in it lasts.  @retval TC_IO */
tc_status tc_sync_parent(const char *path);

#endif
