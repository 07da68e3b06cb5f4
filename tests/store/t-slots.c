/* Slots: chains of any length survive each other's coming and going, and nothing is lost. */
#include <config.h>

#include "store/slots.h"

#include "../tap.h"
#include "base/rng.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORDS   200
#define MAX_BYTES 10000

typedef struct {
    tc_slot_chain chain;
    uint64_t bytes;
    uint8_t data[MAX_BYTES];
} record;

static const tc_slot_chain empty = { TC_NO_SLOT, TC_NO_SLOT, 0 };

/* Write a record in pieces of random length. */
static bool put(tc_slots *s, record *r, tc_rng *rng)
{
    tc_slot_chain chain = empty;
    uint64_t done = 0;

    r->bytes = 1 + (uint64_t)tc_rng_below(rng, MAX_BYTES);
    for (uint64_t i = 0; i < r->bytes; i++)
        r->data[i] = (uint8_t)tc_rng_u32(rng);
    while (done < r->bytes) {
        uint64_t n = 1 + (uint64_t)tc_rng_below(rng, 3000);
        n = n < r->bytes - done ? n : r->bytes - done;
        if (tc_slots_append(s, &chain, r->data + done, n) != TC_OK)
            return false;
        done += n;
    }
    r->chain = (tc_slot_chain){ .first = chain.first, .at = chain.first };
    return true;
}

/* Read a record in pieces, freeing it; half of the time only its beginning. */
static bool get(tc_slots *s, record *r, tc_rng *rng)
{
    static uint8_t copy[MAX_BYTES];
    uint64_t done = 0, want = tc_rng_below(rng, 2) ? r->bytes : r->bytes / 2;

    while (done < want) {
        uint64_t n = 1 + (uint64_t)tc_rng_below(rng, 3000);
        n = n < want - done ? n : want - done;
        tc_slots_consume(s, &r->chain, copy + done, n);
        done += n;
    }
    tc_slots_drop(s, &r->chain);
    r->bytes = 0;
    return memcmp(copy, r->data, want) == 0;
}

/* A reservation takes what it is asked for, in whole chunks and the rest. */
static bool takes_what_is_asked(void)
{
    bool ok = true;

    for (uint32_t bytes = TC_SLOT_LEAST; bytes <= TC_SLOT_MOST; bytes *= 2)
        for (uint64_t count = 1; count < 70000; count += count / 3 + 1) {
            tc_slots s = { .bytes = bytes };
            ok = tc_slots_reserve(&s, count) == TC_OK && s.count == count &&
                 tc_slots_memory(&s, count) == count * (bytes + 4) && ok;
            tc_slots_free(&s);
        }
    return ok;
}

/* Slots that overflow the reservation: every number is used once, across chunks of any length. */
static bool every_slot_once(void)
{
    static uint8_t seen[3 << 15];
    tc_slots s = { .bytes = TC_SLOT_MOST };
    tc_slot_chain chain = empty;
    uint8_t byte[TC_SLOT_MOST] = { 0 };
    bool ok = tc_slots_reserve(&s, 100) == TC_OK && tc_slots_reserve(&s, 40000) == TC_OK;

    while (ok && s.count < 42000) {
        ok = tc_slots_append(&s, &chain, byte, sizeof byte) == TC_OK &&
             chain.at >> s.shift < s.n_chunks && chain.at < sizeof seen * 8 &&
             (seen[chain.at / 8] & 1 << chain.at % 8) == 0;
        if (ok)
            seen[chain.at / 8] |= (uint8_t)(1 << chain.at % 8);
    }
    tc_slots_free(&s);
    return ok;
}

/* Whether the mapping that holds an address has a flag in /proc/self/smaps: 1, 0; -1: not told. */
static int mapping_has(const void *address, const char *flag)
{
    FILE *f = fopen("/proc/self/smaps", "re");
    char line[512];
    bool here = false;
    int found = -1;

    while (f != NULL && found < 0 && fgets(line, sizeof line, f) != NULL) {
        unsigned long long from, to, at = (unsigned long long)(uintptr_t)address;
        if (sscanf(line, "%llx-%llx ", &from, &to) == 2)
            here = from <= at && at < to;
        if (here && strncmp(line, "VmFlags:", 8) == 0)
            found = strstr(line, flag) != NULL;
    }
    if (f != NULL)
        fclose(f);
    return found;
}

static void huge_pages(void)
{
    tc_slots s = { .bytes = TC_SLOT_MOST };
    bool ok = tc_slots_reserve(&s, 3 * ((UINT64_C(64) << 20) / TC_SLOT_MOST) / 2) == TC_OK &&
              s.n_chunks == 2;
    int first = ok ? mapping_has(s.chunks[0].data, " hg") : 0;
    int second = ok ? mapping_has(s.chunks[1].data + (20 << 20), " hg") : 0;

    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0 || first < 0)
        tap_skip("huge pages are advised for slots", "the kernel has none, or does not tell");
    else
        tap_ok(ok && first == 1 && second == 1, "huge pages are advised for slots");
    tc_slots_free(&s);
}

static bool sizes_waste_little(void)
{
    double worst = 0.0;

    for (uint64_t mean = 1900; mean < 200000; mean += mean / 9) {
        double slot = tc_slots_size(mean), waste = slot / 2.0 + 4.0 * (double)mean / slot;
        worst = waste / (double)mean > worst ? waste / (double)mean : worst;
    }
    return worst < 0.07 && tc_slots_size(0) == TC_SLOT_LEAST &&
           tc_slots_size(UINT64_MAX) == TC_SLOT_MOST;
}

int main(void)
{
    tc_slots s = { .bytes = 2048 };
    tc_rng rng = tc_rng_make(1, TC_STREAM_TEST, 0, 0);
    record *records = calloc(RECORDS, sizeof *records);
    uint8_t *copy = malloc(MAX_BYTES);
    uint64_t used = 0, wrong = 0;

    tap_ok(tc_slots_reserve(&s, 100) == TC_OK && s.count >= 100 && s.free_count == s.count,
           "100 slots are reserved, all free");
    uint64_t before = s.count;
    for (int i = 0; i < 20 * RECORDS; i++) {
        record *r = &records[tc_rng_below(&rng, RECORDS)];
        wrong += r->bytes > 0 ? !get(&s, r, &rng) : !put(&s, r, &rng);
    }
    tap_ok(wrong == 0, "records come and go in pieces, unchanged");
    for (int i = 0; i < RECORDS; i++) {
        record *r = &records[i];
        used += tc_slots_for(&s, r->bytes);
        if (r->bytes == 0)
            continue;
        tc_slots_copy(&s, r->chain.first, copy, r->bytes);
        wrong += memcmp(copy, r->data, r->bytes) != 0;
    }
    tap_ok(wrong == 0, "those that are left can be copied");
    tap_ok(s.count > before && used == s.count - s.free_count,
           "it grew from %llu to %llu slots; %llu are in use, as many as the records take",
           (unsigned long long)before, (unsigned long long)s.count, (unsigned long long)used);
    for (int i = 0; i < RECORDS; i++)
        if (records[i].bytes > 0)
            tc_slots_drop(&s, &records[i].chain);
    tap_ok(s.free_count == s.count, "all slots come back");
    tc_slots_free(&s);
    s.bytes = 2048;
    tap_ok(tc_slots_reserve(&s, UINT64_C(1) << 33) == TC_NOMEM, "2^33 slots are refused");
    tc_slots_free(&s);
    tap_ok(takes_what_is_asked(), "a reservation takes what it is asked for");
    tap_ok(every_slot_once(), "every slot is given once, across chunks");
    tap_ok(sizes_waste_little(), "slots and chains waste less than 7 %% of records of 2 to 200 kB");
    huge_pages();
    free(records);
    free(copy);
    return tap_done();
}
