#include <config.h>

#include "timing/timing.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define PERIOD 65521   /* prime */
#define PIECE  1000003 /* floats compared at a time */

struct tc_known {
    tc_comm *comm;
    int size;
    float *mine;            /* (PERIOD) */
    double *sum, *absolute; /* (PERIOD) of all ranks: values, and their sizes */
};

tc_status tc_known_create(tc_comm *comm, tc_known **known_p)
{
    tc_known *known = NULL;
    tc_status status = tc_alloc(1, sizeof *known, "known sums", &known);

    if (status == TC_OK)
        status = tc_alloc(PERIOD, sizeof *known->mine, "known values", &known->mine);
    if (status == TC_OK)
        status = tc_alloc(PERIOD, sizeof *known->sum, "known sums", &known->sum);
    if (status == TC_OK)
        status = tc_alloc(PERIOD, sizeof *known->absolute, "known sums", &known->absolute);
    status = tc_comm_agree(comm, status);
    if (status != TC_OK) {
        tc_known_destroy(known);
        return status;
    }
    known->comm = comm;
    known->size = tc_comm_size(comm);
    for (int rank = 0; rank < known->size; rank++) {
        tc_rng rng = tc_rng_make(1, TC_STREAM_TEST, (uint64_t)rank, 0);
        for (int i = 0; i < PERIOD; i++) {
            float x = (float)(tc_rng_u32(&rng) >> 8) * 0x1p-23f - 1.0f;
            known->sum[i] += x;
            known->absolute[i] += fabs((double)x);
            if (rank == tc_comm_rank(comm))
                known->mine[i] = x;
        }
    }
    *known_p = known;
    return TC_OK;
}

void tc_known_destroy(tc_known *known)
{
    if (known == NULL)
        return;
    tc_free(known->absolute);
    tc_free(known->sum);
    tc_free(known->mine);
    tc_free(known);
}

void tc_known_fill(const tc_known *known, float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i += PERIOD)
        memcpy(x + i, known->mine, (size_t)(count - i < PERIOD ? count - i : PERIOD) * sizeof *x);
}

/* Elements further away than size roundings of the largest partial sum can lead: size-1 additions
 * and, on a narrow wire, one more rounding each. */
static int64_t count_far(const tc_known *known, const float *x, int64_t count, double roundoff)
{
    double factor = 2.0 * known->size * roundoff;
    int64_t wrong = 0;

    for (int64_t i = 0, at = 0; i < count; i++, at = at + 1 < PERIOD ? at + 1 : 0)
        wrong += !(fabs((double)x[i] - known->sum[at]) <= factor * known->absolute[at]);
    return wrong;
}

/* FNV-1a over the words: two vectors that differ in one element never have the same. */
static uint32_t hash_of(const float *x, int64_t count)
{
    uint32_t hash = 2166136261u, word;

    for (int64_t i = 0; i < count; i++) {
        memcpy(&word, x + i, sizeof word);
        hash = (hash ^ word) * 16777619u;
    }
    return hash;
}

/* Elements of this rank that differ from rank 0's. */
static tc_status count_other(const tc_known *known, const float *x, int64_t count, int64_t *other_p)
{
    float *theirs = NULL;
    tc_status status =
        tc_comm_agree(known->comm, tc_alloc(PIECE, sizeof *theirs, "another rank's sum", &theirs));

    for (int64_t at = 0; at < count && status == TC_OK; at += PIECE) {
        int64_t piece = count - at < PIECE ? count - at : PIECE;
        memcpy(theirs, x + at, (size_t)piece * sizeof *x);
        status = tc_comm_bcast(known->comm, theirs, (size_t)piece * sizeof *x, 0);
        for (int64_t i = 0; i < piece; i++)
            *other_p += memcmp(theirs + i, x + at + i, sizeof *x) != 0;
    }
    tc_free(theirs);
    return status;
}

tc_status tc_known_check(const tc_known *known, const float *x, int64_t count, double roundoff,
                         int64_t *wrong_p)
{
    double hash = hash_of(x, count), extremes[2] = { hash, -hash };
    int64_t wrong = count_far(known, x, count, roundoff), other = 0;
    tc_status status = tc_comm_max(known->comm, extremes, 2);

    if (status == TC_OK && extremes[0] != -extremes[1])
        status = count_other(known, x, count, &other);
    double most = (double)(wrong > other ? wrong : other);
    if (status == TC_OK)
        status = tc_comm_max(known->comm, &most, 1);
    if (status == TC_OK)
        *wrong_p = (int64_t)most;
    return status;
}
