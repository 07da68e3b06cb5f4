#ifndef TC_BASE_RNG_H
#define TC_BASE_RNG_H
/**
 * @file rng.h
 * Counter-based random numbers and keyed permutations: the same on every rank, thread and machine.
 *
 * Source: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC11 (Philox4x32-10); the
 * permutation is a Feistel network of Philox rounds with cycle walking (Black and Rogaway 2002).
 * Used by: nn (weights), loader (augmentation), store (order of an epoch), shard, data-prep.
 */
#include <stdint.h>

/** What a stream is for, so that two uses never share numbers. */
typedef enum {
    TC_STREAM_WEIGHTS = 1, /* id: parameter index */
    TC_STREAM_ORDER,       /* id: epoch */
    TC_STREAM_AUGMENT,     /* id: epoch, sub: sample */
    TC_STREAM_SHARD,       /* id: record */
    TC_STREAM_DRAW,        /* id: picture, in the demo set */
    TC_STREAM_TEST
} tc_stream;

/** One stream of numbers; a value, no allocation.  Not shared between threads. */
typedef struct {
    uint32_t key[2], ctr[4], out[4];
    int left;
} tc_rng;

/** Philox4x32 with 10 rounds: out = f(key, ctr).  Matches Random123's known answers. */
void tc_philox(const uint32_t key[2], const uint32_t ctr[4], uint32_t out[4]);

/** Start the stream (seed, stream, id, sub).  id < 2^40, sub < 2^40. */
tc_rng tc_rng_make(uint64_t seed, tc_stream stream, uint64_t id, uint64_t sub);

uint32_t tc_rng_u32(tc_rng *rng);
double tc_rng_uniform(tc_rng *rng);                /* [0, 1), 53 bits */
double tc_rng_normal(tc_rng *rng);                 /* mean 0, deviation 1 (Box-Muller, double) */
int64_t tc_rng_below(tc_rng *rng, int64_t bound);  /* [0, bound), unbiased; bound >= 1 */

/** A permutation of [0, count), keyed; a value of fixed size, both directions in O(1). */
typedef struct {
    int64_t count;
    uint32_t key[2];
    int half_bits;
} tc_permutation;

/** @param count  0 <= count < 2^48. */
tc_permutation tc_permutation_make(uint64_t seed, tc_stream stream, uint64_t id, int64_t count);
int64_t tc_permutation_at(const tc_permutation *p, int64_t pos);    /* position -> record */
int64_t tc_permutation_find(const tc_permutation *p, int64_t item); /* record -> position */

#endif
