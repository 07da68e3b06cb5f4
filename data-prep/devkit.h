#ifndef TC_PACK_DEVKIT_H
#define TC_PACK_DEVKIT_H
/**
 * @file devkit.h
 * The development kit of ILSVRC2012: its classes, and the classes of the validation pictures.
 *
 * Read by libmatio; without it, reading is refused.  Used by: labels.
 */
#include "base/mem.h"
#include "base/status.h"
#include "shard/dataset.h"

/** A class with pictures; the kit's inner nodes of WordNet are not among them. */
typedef struct {
    int64_t id; /* ILSVRC2012_ID: what the ground truth says; not the class number */
    char wnid[TC_CLASS_NAME_MAX];
    char words[TC_CLASS_NAME_MAX];
} tc_synset;

/**
 * @param path          ILSVRC2012_devkit_t12.tar.gz, or the folder made of it.
 * @param[out] synsets  Of tc_synset, in the kit's order.
 * @param[out] truth    One ID a line, line i of ILSVRC2012_val_i (from 1); closed by a NUL.
 * @retval TC_NOSUPPORT  built without libmatio.
 * @retval TC_IO, TC_FORMAT  names what is missing or wrong.
 */
tc_status tc_devkit_read(const char *path, tc_buffer *synsets, tc_buffer *truth);

#endif
