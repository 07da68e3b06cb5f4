#ifndef TC_LOADER_LOADER_H
#define TC_LOADER_LOADER_H
/**
 * @file loader.h
 * Slices of pictures, ready for a device: decode threads, augmentation, a bounded ring.
 *
 * Flow:  tc_loader_create() -> tc_loader_begin(epoch, steps) -> { tc_loader_get(step, device) ->
 *        tc_loader_release(step, device) } … -> tc_loader_end() -> tc_loader_destroy()
 * Used by: table (get, release), train (the rest).
 *
 * Slice (step, device): positions step*B + D*b … + b - 1 of the epoch, D the global number of the
 * device; positions at or beyond N are padding (label -1, pixels 0).  The augmentation of a picture
 * draws from the stream (seed, AUGMENT, epoch, record), so it depends on neither threads nor ranks.
 * A picture that cannot be decoded is counted and named once, and replaced by the input's mean
 * colour with its label kept.
 */
#include "base/status.h"
#include "store/store.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct tc_loader tc_loader;

typedef enum {
    TC_AUGMENT_NONE,   /* evaluation geometry */
    TC_AUGMENT_PAD,    /* small pictures: resize to size where needed, zero-pad 4, crop, flip */
    TC_AUGMENT_RANDOM_RESIZED /* torchvision's RandomResizedCrop 8-100 %, 3/4-4/3, flip */
} tc_augment;

typedef struct tc_loader_slice tc_loader_slice;

typedef struct {
    tc_store *store;       /* borrowed */
    int rank;              /* of this rank, for the numbers of its devices */
    int ranks;
    int devices;           /* a rank */
    int64_t batch;         /* b */
    int64_t size;          /* height and width of what comes out */
    int64_t resize;        /* evaluation: shorter side before the centre crop; 0: size * 256 / 224
                              for size >= 64, else size */
    tc_augment augment;
    double mean[3];        /* 0..1: the colour of a picture that cannot be decoded */
    uint64_t seed;
    int threads;           /* >= 1 */
    int depth;             /* steps prepared ahead, >= 1 */
    /* NULL, or told of every slice that is handed out, by the thread that gets it. */
    void (*observe)(void *arg, int64_t step, int device, const tc_loader_slice *slice);
    void *observe_arg;
} tc_loader_options;

/** One slice, borrowed. */
struct tc_loader_slice {
    int64_t count;         /* b always; padding has label -1 */
    int64_t valid;         /* pictures that are no padding */
    uint8_t *images;       /* (b,size,size,3) u8 */
    int32_t *labels;       /* (b) */
    float *offset;         /* (b,3) or NULL */
    uint64_t *ids;         /* (b) record numbers; UINT64_MAX for padding */
};

/** Start threads and take all memory.  @retval TC_NOMEM, TC_INVAL */
tc_status tc_loader_create(const tc_loader_options *options, tc_loader **loader_p);
void tc_loader_destroy(tc_loader *loader); /* ends the threads; NULL accepted */

/**
 * Begin to prepare steps [first, steps) of the epoch that the store has begun.
 * @param epoch  Keys the augmentation.   Called by the main thread, between epochs.
 */
tc_status tc_loader_begin(tc_loader *loader, uint64_t epoch, int64_t first, int64_t steps);

/**
 * Wait for slice (step, device) and borrow it.  Steps are asked for in order, once a device.
 *
 * Thread-safe: yes.   Blocks: until a loader thread has filled it.
 * @param device  Local, 0 <= device < devices.
 * @param[out] wait_p  Receives the seconds waited.
 * @retval the status of a borrow that failed (TC_IO, TC_FORMAT); nothing is to be released then,
 *         and the next step may be asked for.
 * @retval TC_STOPPED  the loader was ended or is being destroyed.
 */
tc_status tc_loader_get(tc_loader *loader, int64_t step, int device, tc_loader_slice *slice_p,
                        double *wait_p);
void tc_loader_release(tc_loader *loader, int64_t step, int device);

/** Stop preparing and wait until no thread touches the store, and nobody waits in
 *  tc_loader_get() any more (they get TC_STOPPED).  Also after a failure. */
void tc_loader_end(tc_loader *loader);

/** Pictures replaced since tc_loader_begin(). */
int64_t tc_loader_replaced(const tc_loader *loader);

/** One line for the log: augmentation, resize kernel, threads, depth. */
const char *tc_loader_choices(const tc_loader *loader);

#endif
