#ifndef TC_IMAGE_RESIZE_KERNEL_H
#define TC_IMAGE_RESIZE_KERNEL_H
/**
 * @file resize_kernel.h
 * The two passes of a resize in 16-bit integers, one variant an instruction set.  Every variant
 * gives the same bytes: integers are added exactly, in whatever order.  Private to image/ and its
 * tests.
 *
 * Vertical: a pixel times a weight of 15 fractional bits becomes 7 fractional bits, rounded; these
 * are added up.  Horizontal: exact 32-bit sums of products, rounded once to 8 bits.
 */
#include "image/image.h"

enum {
    TC_RESIZE_TAPS = 64,   /* more would add up too many roundings */
    TC_RESIZE_BLOCK = 16,  /* output pixels that a wide kernel makes at once */
    TC_RESIZE_REACH = 64,  /* input pixels that one such block may look at */
    TC_RESIZE_SLACK = 128, /* words that may be read and written behind a row */
    TC_RESIZE_ONE = 32767  /* the largest weight; 1.0 would be one more */
};

/** The taps of every output pixel of one axis: out[i] = sum over k < taps of
 *  weight[i*taps+k] * in[first[i]+k]; taps that fall outside the picture have weight 0 (first is
 *  moved so that none is read there).  Mirrored: out[i] has the taps of out[n-1-i]. */
typedef struct {
    int64_t in, out;   /* pixels this is for; out 0: none yet */
    double from, span; /* the part of `in` that becomes `out` */
    bool mirrored;
    int64_t taps, pairs; /* pairs of taps; the last weight of an odd number is 0 */
    int64_t *first;      /* (out) */
    float *weight;       /* (out,taps) */
    int16_t *fixed;      /* (out,pairs,2) weight with 15 fractional bits, where taps <= TAPS */
    /* The same for blocks of BLOCK output pixels, the last one padded by weights 0; blocks 0
     * where one would look farther than REACH. */
    int64_t blocks;
    int64_t *base;   /* (blocks) leftmost input pixel */
    int16_t *index;  /* (blocks,BLOCK,2) of the first two taps, from base */
    int16_t *block;  /* (blocks,pairs,BLOCK,2) weights */
    int64_t room[6]; /* elements allocated, in the order above */
} tc_resize_axis;

typedef struct {
    const char *name;
    bool by_blocks; /* wants the blocks of axis x */
    /** Resize all of @p in; @p scratch  tc_resize_scratch(in->w) words. */
    void (*resize)(const tc_raster *in, const tc_resize_axis *x, const tc_resize_axis *y,
                   int16_t *scratch, const tc_raster *out);
} tc_resize_kernel;

/* A row (w,3), then its planes (3,w), each with slack. */
static inline int64_t tc_resize_scratch(int64_t w)
{
    return 6 * w + 4 * TC_RESIZE_SLACK;
}

/** The i-th variant that this processor can run, best first, "plain" last; NULL past it. */
const tc_resize_kernel *tc_resize_kernel_at(int i);

#endif
