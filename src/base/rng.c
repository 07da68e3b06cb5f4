#include <config.h>

#include "base/rng.h"

#include <math.h>

#define FEISTEL_ROUNDS 8

void tc_philox(const uint32_t key[2], const uint32_t ctr[4], uint32_t out[4])
{
    uint32_t k0 = key[0], k1 = key[1];
    uint32_t c0 = ctr[0], c1 = ctr[1], c2 = ctr[2], c3 = ctr[3];

    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0;
        uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

tc_rng tc_rng_make(uint64_t seed, tc_stream stream, uint64_t id, uint64_t sub)
{
    /* Counter word 0 counts; 40 bits of id, 40 of sub and 16 of stream share the other three. */
    return (tc_rng){
        .key = { (uint32_t)seed, (uint32_t)(seed >> 32) },
        .ctr = { 0, (uint32_t)id, (uint32_t)sub,
                 (uint32_t)stream << 16 | (uint32_t)(id >> 32 & 0xff) << 8 |
                     (uint32_t)(sub >> 32 & 0xff) },
    };
}

uint32_t tc_rng_u32(tc_rng *rng)
{
    if (rng->left == 0) {
        tc_philox(rng->key, rng->ctr, rng->out);
        rng->ctr[0]++;
        rng->left = 4;
    }
    return rng->out[4 - rng->left--];
}

double tc_rng_uniform(tc_rng *rng)
{
    uint64_t high = tc_rng_u32(rng) >> 5, low = tc_rng_u32(rng) >> 6;

    return (double)(high << 26 | low) * 0x1p-53;
}

double tc_rng_normal(tc_rng *rng)
{
    double u = 1.0 - tc_rng_uniform(rng); /* (0, 1]: the logarithm is finite */
    double v = tc_rng_uniform(rng);

    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

int64_t tc_rng_below(tc_rng *rng, int64_t bound)
{
    uint64_t range = (uint64_t)bound, limit = UINT64_MAX - UINT64_MAX % range, x;

    do
        x = (uint64_t)tc_rng_u32(rng) << 32 | tc_rng_u32(rng);
    while (x >= limit);
    return (int64_t)(x % range);
}

tc_permutation tc_permutation_make(uint64_t seed, tc_stream stream, uint64_t id, int64_t count)
{
    tc_rng rng = tc_rng_make(seed, stream, id, UINT64_C(0xffffffffff));
    tc_permutation p = { .count = count, .half_bits = 1 };

    p.key[0] = tc_rng_u32(&rng);
    p.key[1] = tc_rng_u32(&rng);
    while (p.half_bits < 24 && (INT64_C(1) << 2 * p.half_bits) < count)
        p.half_bits++;
    return p;
}

static uint32_t feistel(const tc_permutation *p, int round, uint32_t half)
{
    uint32_t ctr[4] = { half, (uint32_t)round, 0, 0 }, out[4];

    tc_philox(p->key, ctr, out);
    return out[0] & ((UINT32_C(1) << p->half_bits) - 1);
}

int64_t tc_permutation_at(const tc_permutation *p, int64_t pos)
{
    uint32_t mask = (UINT32_C(1) << p->half_bits) - 1;

    do { /* walk the cycle until it re-enters [0, count): at most 4 turns on average */
        uint32_t left = (uint32_t)(pos >> p->half_bits), right = (uint32_t)pos & mask;
        for (int round = 0; round < FEISTEL_ROUNDS; round++) {
            uint32_t next = left ^ feistel(p, round, right);
            left = right;
            right = next;
        }
        pos = (int64_t)left << p->half_bits | right;
    } while (pos >= p->count);
    return pos;
}

int64_t tc_permutation_find(const tc_permutation *p, int64_t item)
{
    uint32_t mask = (UINT32_C(1) << p->half_bits) - 1;

    do {
        uint32_t left = (uint32_t)(item >> p->half_bits), right = (uint32_t)item & mask;
        for (int round = FEISTEL_ROUNDS - 1; round >= 0; round--) {
            uint32_t before = right ^ feistel(p, round, left);
            right = left;
            left = before;
        }
        item = (int64_t)left << p->half_bits | right;
    } while (item >= p->count);
    return item;
}
