/* What the store says it needs is what it takes, little more than its records, in every epoch. */
#include <config.h>

#include "store/store_impl.h"

#include "../tap-mpi.h"
#include "set.h"

#include <malloc.h>

#define RECORDS 24000
#define EPOCHS  4
#define ROUND   (UINT64_C(2) << 20)

static tc_comm *comm;
static char dir[64];

/* Long and short records, 0.7 to 12.6 kB. */
static void make_record(uint64_t id, tc_shard_entry *entry, tc_buffer *data)
{
    static char name[64];

    snprintf(name, sizeof name, "even/ILSVRC2012_val_%08llu.JPEG", (unsigned long long)id);
    *entry = (tc_shard_entry){ .label = 0, .width = 32, .height = 32, .name = name };
    data->bytes = 0;
    if (tc_buffer_reserve(data, 13000) == TC_OK) {
        data->bytes = 700 + id * 37 % 11900;
        memset(data->data, (int)(id % 251), data->bytes);
    }
}

/* Rank 0 makes a large set and a small one. */
static tc_status make_sets(void)
{
    const uint64_t many[] = { 9000, 1, RECORDS - 9001 }, few[] = { 100 };
    tc_status status = TC_OK;

    snprintf(dir, sizeof dir, "t-memory.XXXXXX");
    if (tc_comm_rank(comm) == 0) {
        if (mkdtemp(dir) == NULL)
            status = tc_fail(TC_IO, "no folder");
        if (status == TC_OK)
            status = set_write(dir, "train", many, 3, make_record);
        if (status == TC_OK)
            status = set_write(dir, "val", few, 1, make_record);
    }
    tc_comm_bcast(comm, dir, sizeof dir, 0);
    return tc_comm_agree(comm, status);
}

/* Bytes behind a word in /proc/self/status; 0: it is not told. */
static double own_memory(const char *word)
{
    FILE *f = fopen("/proc/self/status", "re");
    char line[128];
    double kb = 0.0;

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, word, strlen(word)) == 0)
            kb = strtod(line + strlen(word), NULL);
    if (f != NULL)
        fclose(f);
    return kb * 1024.0;
}

/* Let the peak begin anew at what is resident now. */
static bool reset_peak(void)
{
    FILE *f;

    malloc_trim(0);
    f = fopen("/proc/self/clear_refs", "we");
    bool ok = f != NULL && fputs("5", f) >= 0;
    return f != NULL && fclose(f) == 0 && ok;
}

static tc_status open_store(const char *split, double limit, tc_store **store_p)
{
    tc_store_options o = { .kind = "memory",
                           .dir = dir,
                           .split = split,
                           .groups = 1,
                           .devices = 1,
                           .batch = 4,
                           .shuffle = true,
                           .epochs = EPOCHS,
                           .round_bytes = ROUND,
                           .memory_limit = (uint64_t)limit };

    return tc_store_open(comm, &o, 0, store_p);
}

/* Go through the epochs of a run; *most_p: the largest sum of records held. */
static tc_status run(const char *split, double *most_p, uint64_t *grown_p)
{
    tc_store *store = NULL;

    tc_status status = open_store(split, 0.0, &store);
    uint64_t planned = status == TC_OK ? store->held.slots.count : 0;
    *most_p = 0.0;
    for (uint64_t e = 0; status == TC_OK && e < EPOCHS; e++) {
        status = tc_store_begin_epoch(store, e);
        if (status == TC_OK && (double)store->held.bytes > *most_p)
            *most_p = (double)store->held.bytes;
    }
    *grown_p = status == TC_OK ? store->held.slots.count - planned : 0;
    tc_store_close(store);
    return status;
}

static void limits(double taken)
{
    tc_store *store = NULL;

    tc_status status = open_store("train", taken / 1.1, &store);
    tap_ok_all(status == TC_NOMEM, "1/1.1 of the %.1f MB taken is refused", taken / 1e6);
    status = open_store("train", taken * 1.1, &store);
    tap_ok_all(status == TC_OK, "1.1 of it is enough");
    tc_store_close(store);
}

int main(int argc, char **argv)
{
    double most;
    uint64_t grown;

    if (tc_comm_init(&argc, &argv, &comm) != TC_OK)
        return 1;
    int ranks = tc_comm_size(comm);
    if (tap_ok_all(make_sets() == TC_OK, "sets are written") &&
        tap_ok_all(run("val", &most, &grown) == TC_OK, "a small set, so that MPI is warm")) {
        bool told = reset_peak() && own_memory("VmHWM:") > 0.0;
        double before = own_memory("VmRSS:");
        tc_status status = run("train", &most, &grown);
        double taken = own_memory("VmHWM:") - before;
        double rounds = ranks > 1 ? 2.0 * ROUND : 0.0;
        tap_ok_all(status == TC_OK && grown == 0,
                   "%d epochs of the large one, in the slots that were planned", EPOCHS);
        tap_ok_all(!told || (taken > most && taken <= 1.1 * (most + rounds)),
                   "peak %.1f MB, at most 1.1 of %.1f MB of records and %.1f MB of rounds%s",
                   taken / 1e6, most / 1e6, rounds / 1e6, told ? "" : " (not told here)");
        limits(taken);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (tc_comm_rank(comm) == 0)
        set_remove(dir);
    return tap_done_all();
}
